"""The solver: known answers to rounding, bounds that hold, steps that are refused, and nothing to solve for."""

from dataclasses import replace

import numpy as np
import pytest
from tests.identify.arm import blank, dataset_of, heavier_hand, played, simulator_of, write_arm

from haloid.engines.analytic import AnalyticEngine
from haloid.engines.physics import Physics
from haloid.errors import HaloidError
from haloid.identify.problem.priors import payload_prior
from haloid.identify.problem.problem import Problem, StatePrior
from haloid.identify.problem.residuals import JointResidual
from haloid.identify.problem.unknowns import Prior, Unknowns, choose_columns
from haloid.identify.solvers.levenberg_marquardt import solve


def make(tmp_path, patterns: tuple[str, ...], truth=lambda nominal: nominal, noise_rad=0.0) -> tuple[Problem, Physics]:
    recording = blank(write_arm(tmp_path))
    simulator = simulator_of(recording)
    true = truth(simulator.nominal)
    recording = played(recording, simulator, true, noise_rad)
    dataset = dataset_of(recording, simulator, rows=8, fragments=8)
    columns = choose_columns(simulator.nominal, patterns)
    unknowns = Unknowns(simulator.nominal, columns, payload_prior(simulator.nominal, columns))
    problem = Problem(
        engine=AnalyticEngine(simulator),
        fragments=dataset.fragments,
        unknowns=unknowns,
        residual=JointResidual(np.full(3, 1e-6)),
        states=StatePrior(dataset.states, np.array([1.0] * 3 + [0.5] * 3)),
    )
    return problem, true


def start(problem: Problem) -> np.ndarray:
    return problem.unknowns.encode(problem.unknowns.base.values(problem.unknowns.columns))


def test_noise_free_data_gives_the_truth(tmp_path):
    problem, true = make(tmp_path, ("hand.mass", "hand.com"), heavier_hand)
    found = solve(problem, start(problem), problem.states.mean, iterations=60, tolerance=1e-6)
    assert found.converged
    # the prior of the states, a thousandth of a millionth of the data's weight, is all that is left
    values = problem.unknowns.decode(found.z)
    np.testing.assert_allclose(values, true.values(problem.unknowns.columns), rtol=0, atol=1e-9)


def test_every_step_goes_down_and_is_reported(tmp_path):
    problem, _ = make(tmp_path, ("hand.mass", "hand.com"), heavier_hand)
    seen = []
    found = solve(problem, start(problem), problem.states.mean, progress=lambda *step: seen.append(step))
    costs = [cost for _, cost, _ in seen]
    assert [iteration for iteration, _, _ in seen] == list(range(1, found.iterations + 1))
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == found.cost == pytest.approx(problem.cost(found.z, found.states))
    # the last step is not linearised again; the two sums differ by rounding, the steps by 4e-5
    assert found.linearised.cost == pytest.approx(costs[-2], rel=1e-9)
    np.testing.assert_array_equal(seen[-1][2], problem.unknowns.decode(found.z))


def test_a_parameter_stops_at_its_bound(tmp_path):
    """Readings from a robot with less than no damping: zero is the nearest, and the others still find their best."""

    def pushed(nominal: Physics) -> Physics:
        return replace(nominal, damping=np.array([0.1, 0.1, -0.05]))

    problem, _ = make(tmp_path, ("*.damping",), pushed)
    found = solve(problem, start(problem), problem.states.mean, iterations=60, tolerance=1e-6)
    assert found.converged
    assert found.z[2] == 0.0
    assert found.linearised.reduced()[1][2] > 0  # the gradient still pushes outwards
    np.testing.assert_allclose(found.linearised.reduced()[1][:2], 0.0, atol=1e-3 * found.linearised.reduced()[1][2])


def test_a_step_that_makes_it_worse_is_refused(tmp_path):
    """From ten times the mass the first full step overshoots; damping must grow until a step is worth taking."""
    problem, true = make(tmp_path, ("hand.mass", "hand.com"), heavier_hand)
    tried = []

    class Watched(Problem):
        def cost(self, z, states):
            tried.append(super().cost(z, states))
            return tried[-1]

    watched = Watched(**{name: getattr(problem, name) for name in Problem.__dataclass_fields__})
    values = problem.unknowns.base.values(problem.unknowns.columns) * [40.0, 1.0, 1.0, 1.0] + [0.0, 0.3, -0.3, 0.5]
    found = solve(watched, problem.unknowns.encode(values), problem.states.mean, iterations=100, damping=1e-12)
    assert len(tried) > found.iterations
    np.testing.assert_allclose(problem.unknowns.decode(found.z), true.values(problem.unknowns.columns), atol=1e-4)


def test_states_alone_can_be_fitted(tmp_path):
    problem, _ = make(tmp_path, (), heavier_hand)
    true = replace(
        problem, unknowns=Unknowns(heavier_hand(problem.unknowns.base), [], Prior(np.zeros(0), np.zeros((0, 0))))
    )
    off = problem.states.mean + 0.01
    found = solve(true, np.zeros(0), off, iterations=30)
    assert found.converged and found.z.shape == (0,)
    assert found.cost < 1e-6 * true.cost(np.zeros(0), off)
    errors = true.readings(found.z, found.states) - problem.fragments.readings
    assert np.abs(errors).max() < 1e-7


def test_the_last_iteration_ends_it_unconverged(tmp_path):
    problem, _ = make(tmp_path, ("hand.mass", "hand.com"), heavier_hand)
    found = solve(problem, start(problem), problem.states.mean, iterations=1)
    assert (found.iterations, found.converged) == (1, False)


def test_a_start_that_breaks_down_is_refused_in_words(tmp_path):
    problem, _ = make(tmp_path, ("hand.mass",))
    wild = np.where(np.arange(6) < 3, problem.states.mean, 1e150)
    with pytest.raises(HaloidError, match=r"^the simulation of the recorded motion breaks down at the parameters it "):
        solve(problem, start(problem), wild)
