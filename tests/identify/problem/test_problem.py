"""The sum of squares and its normal equations: against differences, against the dense system, in and out of workers."""

from dataclasses import replace

import numpy as np
import pytest
from tests.identify.arm import blank, dataset_of, heavier_hand, played, simulator_of, write_arm

from haloid.engines.analytic import AnalyticEngine
from haloid.engines.workers import Workers
from haloid.identify.problem.priors import BasePrior
from haloid.identify.problem.problem import Linearised, Problem, StatePrior, _huber
from haloid.identify.problem.residuals import CartesianResidual, JointResidual
from haloid.identify.problem.unknowns import Unknowns, choose_columns

PATTERNS = ("hand.*", "fore.mass", "fore.com", "*.damping", "wrist.kp", "delay")


def make(
    tmp_path, *, robust=None, cartesian=False, fragments=3, rows=4, dispersion=1.0
) -> tuple[Problem, np.ndarray, np.ndarray]:
    """A small problem and a point away from its solution."""
    recording = blank(write_arm(tmp_path))
    simulator = simulator_of(recording)
    recording = played(recording, simulator, heavier_hand(simulator.nominal), noise_rad=2e-3)
    dataset = dataset_of(recording, simulator, rows=rows, fragments=fragments)
    base = replace(simulator.nominal, delay=0.007)
    columns = choose_columns(base, PATTERNS)
    unknowns = Unknowns(base, columns, BasePrior().over(base, columns))
    noise = np.array([1e-3, 2e-3, 3e-3])
    problem = Problem(
        engine=AnalyticEngine(simulator),
        fragments=dataset.fragments,
        unknowns=unknowns,
        residual=CartesianResidual(simulator.model, ["hand"], 1.5, 1e-3) if cartesian else JointResidual(noise),
        states=StatePrior(dataset.states, np.array([1.0, 1.0, 1.0, 0.3, 0.4, 0.5])),
        robust=robust,
        dispersion=dispersion,
    )
    rng = np.random.default_rng(0)
    z = unknowns.encode(base.values(columns)) + 1e-3 * rng.normal(size=len(columns))
    states = dataset.states + rng.normal(size=dataset.states.shape) * [2e-3, 2e-3, 2e-3, 0.1, 0.1, 0.1]
    return problem, z, states


@pytest.mark.parametrize(("robust", "dispersion"), [(None, 1.0), (1.5, 1.0), (1.5, 7.0)])
@pytest.mark.parametrize("cartesian", [False, True])
def test_gradients_equal_differences(tmp_path, robust, dispersion, cartesian):
    problem, z, states = make(tmp_path, robust=robust, dispersion=dispersion, cartesian=cartesian)
    found, step = problem.linearise(z, states), 1e-6
    assert found.cost == pytest.approx(problem.cost(z, states), rel=1e-12)
    by_z = [(problem.cost(z + d, states) - problem.cost(z - d, states)) / (2 * step) for d in step * np.eye(len(z))]
    np.testing.assert_allclose(found.gradient, by_z, rtol=2e-4, atol=1e-4 * np.abs(by_z).max())
    by_state = np.empty_like(states)
    for index in np.ndindex(*states.shape):
        nudge = np.zeros_like(states)
        nudge[index] = step
        by_state[index] = (problem.cost(z, states + nudge) - problem.cost(z, states - nudge)) / (2 * step)
    np.testing.assert_allclose(found.state_gradient, by_state, rtol=2e-4, atol=1e-5 * np.abs(by_state).max())


def dense(found: Linearised, damping: float) -> tuple[np.ndarray, np.ndarray]:
    """The whole normal equations, parameters first."""
    p, (count, x) = len(found.gradient), found.state_gradient.shape
    matrix = np.zeros((p + count * x,) * 2)
    matrix[:p, :p] = found.a
    for b in range(count):
        at = slice(p + b * x, p + (b + 1) * x)
        matrix[:p, at], matrix[at, :p], matrix[at, at] = found.c[b], found.c[b].T, found.e[b]
    matrix[np.diag_indices(len(matrix))] *= 1 + damping
    return matrix, np.concatenate([found.gradient, found.state_gradient.ravel()])


@pytest.mark.parametrize("damping", [0.0, 0.1])
def test_eliminating_the_states_solves_the_whole_system(tmp_path, damping):
    problem, z, states = make(tmp_path)
    found = problem.linearise(z, states)
    matrix, gradient = dense(found, damping)
    step = np.linalg.solve(matrix, -gradient)
    reduced, reduced_gradient = found.reduced(damping)
    own_step = np.linalg.solve(reduced, -reduced_gradient)
    np.testing.assert_allclose(own_step, step[: len(z)], rtol=1e-6, atol=1e-9 * np.abs(step[: len(z)]).max())
    np.testing.assert_allclose(found.state_step(own_step, damping).ravel(), step[len(z) :], rtol=1e-6, atol=1e-9)
    covariance = np.linalg.inv(matrix)[: len(z), : len(z)]
    np.testing.assert_allclose(np.linalg.inv(reduced), covariance, rtol=1e-6, atol=1e-9 * np.abs(covariance).max())


def test_the_gauss_newton_matrix_is_of_the_weighted_residuals(tmp_path):
    problem, z, states = make(tmp_path)
    step = 1e-6

    def residuals(z):
        return problem.residual.values(problem.readings(z, states), problem.fragments).ravel()

    jacobian = np.array([(residuals(z + d) - residuals(z - d)) / (2 * step) for d in step * np.eye(len(z))]).T
    found = problem.linearise(z, states)
    data = found.a - found.prior_information
    np.testing.assert_allclose(data, jacobian.T @ jacobian, rtol=1e-4, atol=1e-6 * np.abs(data).max())


def test_a_dispersion_divides_the_data_and_not_the_prior(tmp_path):
    problem, z, states = make(tmp_path)
    prior = problem.unknowns.prior.cost(problem.unknowns.decode(z))
    dispersed = replace(problem, dispersion=7.0)
    assert dispersed.cost(z, states) == pytest.approx((problem.cost(z, states) - prior) / 7 + prior, rel=1e-12)
    assert dispersed.fragment_costs(z, states[None]).sum() + prior == pytest.approx(dispersed.cost(z, states))


def test_fragments_add_up_to_the_reduced_equations(tmp_path):
    problem, z, states = make(tmp_path, fragments=10, dispersion=7.0)
    information, scores = problem.by_fragment(z, states)
    assert information.shape == (10, len(z), len(z)) and scores.shape == (10, len(z))
    linearised, (by_prior, _) = (
        problem.linearise(z, states),
        problem.unknowns.prior.linearise(problem.unknowns.decode(z)),
    )
    matrix, gradient = linearised.reduced()
    scale = np.sqrt(np.outer(np.diag(matrix), np.diag(matrix)))
    np.testing.assert_allclose(information.sum(0) / scale, (matrix - linearised.prior_information) / scale, atol=1e-9)
    np.testing.assert_allclose(
        scores.sum(0) + problem.unknowns.slope(z).T @ by_prior, gradient, atol=1e-9 * np.abs(gradient).max()
    )


def test_huber_by_hand():
    loss, weight = _huber(np.array([0.5, -2.0, 6.0]), 2.0)
    np.testing.assert_allclose(loss, [0.25, 4.0, 2 * 2 * 6 - 4])
    np.testing.assert_allclose(weight, [1.0, 1.0, 1 / 3])
    loss, weight = _huber(np.array([0.5, -9.0]), None)
    assert (loss.tolist(), weight.tolist()) == ([0.25, 81.0], [1.0, 1.0])


@pytest.mark.parametrize("cartesian", [False, True])
def test_workers_find_the_same(tmp_path, cartesian):
    problem, z, states = make(tmp_path, fragments=11, cartesian=cartesian)  # two pieces of work
    here = problem.linearise(z, states)
    with Workers(problem.engine, 2) as workers:
        there = replace(problem, workers=workers).linearise(z, states)
    for name in ("cost", "gradient", "a", "c", "e", "state_gradient"):
        np.testing.assert_array_equal(getattr(here, name), getattr(there, name))


def test_states_as_measured_leave_the_parameters_alone(tmp_path):
    problem, z, _ = make(tmp_path)
    found = replace(problem, estimate_states=False).linearise(z, problem.states.mean)
    free = problem.linearise(z, problem.states.mean)
    np.testing.assert_array_equal(found.reduced()[0], found.a)
    np.testing.assert_array_equal(found.gradient, free.gradient)
    assert not found.state_gradient.any() and not found.c.any()


def test_many_costs_are_the_costs_one_by_one(tmp_path):
    problem, z, states = make(tmp_path)
    points = [z, z + 0.01, np.maximum(z - 0.02, problem.unknowns.lower)]
    assert problem.costs(points, states) == pytest.approx([problem.cost(point, states) for point in points], rel=1e-12)


def test_a_rollout_that_blows_up_costs_infinity(tmp_path):
    problem, z, states = make(tmp_path)
    wild = states.copy()
    wild[:, 3:] = 1e150
    assert problem.cost(z, wild) == np.inf


def test_parameters_beyond_any_robot_cost_infinity(tmp_path):
    problem, z, states = make(tmp_path)
    wild = z.copy()
    wild[0] = 900.0  # the mass overflows
    assert problem.costs([wild, z], states) == [np.inf, problem.cost(z, states)]


def test_a_shorter_horizon_sees_fewer_readings(tmp_path):
    problem, z, states = make(tmp_path)
    short = problem.shortened(2)
    np.testing.assert_array_equal(short.readings(z, states), problem.readings(z, states)[:, :3])
