"""The paper's own solvers on our residual: gradient descent (HALO Eq. 4) and CMA-ES, its baseline.

Both work on mass and CoM themselves and take the initial states as measured, as the paper does. The paper gives the
learning rates (0.03 for mass, 0.0002 for CoM) and 2,000 iterations but not the descent variant: rates of that size are
steps in kilograms and metres, so it must normalise its gradient, and Adam is used here (β₁ 0.9, β₂ 0.99: with the usual
0.999 the huge first gradients are remembered for too long).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from haloid.errors import HaloidError
from haloid.extras import install_command
from haloid.identify.problem.problem import Problem
from haloid.identify.solvers.levenberg_marquardt import Progress, Solution

LEARNING_RATE = {"mass": 0.03, "com": 0.0002}
"""HALO IV-B; other kinds move at a hundredth of their value."""
ITERATIONS = 2000
POPULATION = 10
_SETTLING = 0.3
"""Over this last share of the iterations the rates fall to a hundredth along a half cosine."""


def _rates(problem: Problem) -> np.ndarray:
    values = problem.unknowns.base.values(problem.unknowns.columns)
    return np.array(
        [
            LEARNING_RATE.get(column.kind, 0.01 * max(abs(value), 0.1))
            for column, value in zip(problem.unknowns.columns, values, strict=True)
        ]
    )


def gradient_descent(
    problem: Problem, states: np.ndarray, iterations: int = ITERATIONS, progress: Progress | None = None
) -> Solution:
    """Adam on the columns with the paper's learning rates."""
    problem = replace(problem, estimate_states=False)
    unknowns = problem.unknowns
    lower = _lower(problem)
    values, rates = unknowns.base.values(unknowns.columns), _rates(problem)
    mean, square = np.zeros((2, len(values)))
    for k in range(1, iterations + 1):
        z = unknowns.encode(values)
        cost, gradient = problem.gradient(z, states)
        gradient = np.linalg.solve(unknowns.slope(z).T, gradient)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient**2
        step = mean / (1 - 0.9**k) / (np.sqrt(square / (1 - 0.99**k)) + 1e-12)
        settled = max(0.0, (k / iterations - 1 + _SETTLING) / _SETTLING)
        decay = 0.01 + 0.99 * 0.5 * (1 + np.cos(np.pi * settled))
        values = np.maximum(values - decay * rates * step, lower)
        if progress is not None:
            progress(k, cost, values)
    z = unknowns.encode(values)
    linearised = problem.linearise(z, states)
    return Solution(z, states, linearised.cost, iterations, True, linearised)


def cma_es(
    problem: Problem, states: np.ndarray, seed: int, iterations: int = ITERATIONS, progress: Progress | None = None
) -> Solution:
    """CMA-ES with the paper's population of 10, from the nominal values; it ends early once it has converged."""
    try:
        import cma
    except ImportError as error:
        raise HaloidError(f"the solver cma needs the package cma: {install_command('search')}") from error
    problem = replace(problem, estimate_states=False)
    unknowns, lower = problem.unknowns, _lower(problem)
    start, scale = unknowns.base.values(unknowns.columns), _first_spread(problem)
    options = {"popsize": POPULATION, "maxiter": iterations, "seed": seed + 1, "verbose": -9}
    search = cma.CMAEvolutionStrategy(np.zeros(len(start)), 1.0, options)
    best, best_cost, iteration = start, np.inf, 0
    while not search.stop():
        iteration += 1
        points = search.ask()
        candidates = [np.maximum(start + scale * point, lower) for point in points]
        costs = problem.costs([unknowns.encode(values) for values in candidates], states)
        search.tell(points, [cost if np.isfinite(cost) else 1e30 for cost in costs])
        if min(costs) < best_cost:
            best, best_cost = candidates[int(np.argmin(costs))], min(costs)
        if progress is not None:
            progress(iteration, best_cost, best)
    z = unknowns.encode(best)
    linearised = problem.linearise(z, states)
    return Solution(z, states, linearised.cost, iteration, True, linearised)


def _first_spread(problem: Problem) -> np.ndarray:
    """The search's first standard deviations: 1 kg and 2 cm, a fifth of other values."""
    values = problem.unknowns.base.values(problem.unknowns.columns)
    spread = {"mass": 1.0, "com": 0.02}
    return np.array(
        [
            spread.get(column.kind, 0.2 * max(abs(value), 0.1))
            for column, value in zip(problem.unknowns.columns, values, strict=True)
        ]
    )


def _lower(problem: Problem) -> np.ndarray:
    masses = np.array([column.kind == "mass" for column in problem.unknowns.columns])
    return np.where(masses, 1e-3, problem.unknowns.lower)
