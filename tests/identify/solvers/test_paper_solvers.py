"""The paper's solvers on our residual: they walk to where least squares jumps, at the paper's rates."""

from dataclasses import replace

import numpy as np
import pytest
from tests.identify.arm import blank, dataset_of, heavier_hand, played, simulator_of, write_arm

from haloid.engines.analytic import AnalyticEngine
from haloid.identify.problem.priors import payload_prior
from haloid.identify.problem.problem import Problem, StatePrior
from haloid.identify.problem.residuals import JointResidual
from haloid.identify.problem.unknowns import Unknowns, choose_columns
from haloid.identify.solvers import levenberg_marquardt
from haloid.identify.solvers.paper_solvers import LEARNING_RATE, POPULATION, cma_es, gradient_descent
from haloid.robots.inertia import check_physical


def make(tmp_path, *patterns: str, near: bool = False) -> Problem:
    """`near`: the search starts at the true CoM and 0.2 kg off."""
    recording = blank(write_arm(tmp_path))
    simulator = simulator_of(recording)
    recording = played(recording, simulator, heavier_hand(simulator.nominal), noise_rad=2e-4)
    dataset = dataset_of(recording, simulator, rows=8, fragments=4)
    base = simulator.nominal
    if near:
        base = heavier_hand(base)
        base = replace(base, mass=base.mass - 0.2 * (np.array(base.links) == "hand"))
    columns = choose_columns(base, patterns)
    return Problem(
        engine=AnalyticEngine(simulator),
        fragments=dataset.fragments,
        unknowns=Unknowns(base, columns, payload_prior(base, columns)),
        residual=JointResidual(np.full(3, 1e-3)),
        states=StatePrior(dataset.states, np.ones(6)),
    )


def solved(problem: Problem, solver: str, iterations: int, progress=None) -> levenberg_marquardt.Solution:
    if solver == "gd":
        return gradient_descent(problem, problem.states.mean, iterations, progress)
    pytest.importorskip("cma")
    return cma_es(problem, problem.states.mean, 0, iterations, progress)


@pytest.mark.parametrize(
    ("solver", "iterations", "patterns"),
    [("gd", 100, ("hand.mass", "fore.mass")), ("cma", 100, ("hand.mass", "hand.com"))],
    ids=["gd", "cma"],
)
def test_they_approach_the_least_squares_answer(tmp_path, solver, iterations, patterns):
    problem = make(tmp_path, *patterns, near=solver == "gd")
    fixed = replace(problem, estimate_states=False)
    start = problem.unknowns.encode(problem.unknowns.base.values(problem.unknowns.columns))
    best = levenberg_marquardt.solve(fixed, start, problem.states.mean, tolerance=1e-4)
    found = solved(problem, solver, iterations)
    off = problem.unknowns.decode(found.z) - problem.unknowns.decode(best.z)
    close = {"mass": 0.02, "com": 0.002}
    assert np.all(np.abs(off) < [close[column.kind] for column in problem.unknowns.columns])
    assert (1 - 1e-6) * best.cost < found.cost < 1.05 * best.cost
    np.testing.assert_array_equal(found.states, problem.states.mean)


def test_the_first_step_is_the_papers_learning_rate(tmp_path):
    problem = make(tmp_path, "hand.mass", "hand.com")
    seen = []
    gradient_descent(problem, problem.states.mean, 50, lambda k, cost, values: seen.append(values))
    step = np.abs(seen[0] - problem.unknowns.base.values(problem.unknowns.columns))
    np.testing.assert_allclose(step, [LEARNING_RATE["mass"], *[LEARNING_RATE["com"]] * 3], rtol=1e-6)
    assert (LEARNING_RATE, POPULATION) == ({"mass": 0.03, "com": 0.0002}, 10)


def test_a_seed_is_a_search(tmp_path):
    pytest.importorskip("cma")
    problem = make(tmp_path, "hand.mass")
    one, again, other = (cma_es(problem, problem.states.mean, seed, 5) for seed in (1, 1, 2))
    assert one.z == again.z != other.z


@pytest.mark.parametrize("solver", ["gd", "cma"])
def test_links_stay_real(tmp_path, solver):
    """Steps in inertias of a hundredth of a tenth lead out of the real bodies at once; the nearest is taken."""
    problem = make(tmp_path, "hand.*")
    found = solved(problem, solver, 10)
    check_physical("hand", problem.unknowns.physics(found.z).link("hand"))
    assert np.isfinite(found.cost)
