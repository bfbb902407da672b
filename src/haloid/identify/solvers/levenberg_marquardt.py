"""Levenberg–Marquardt on the reduced normal equations: the default solver.

Comes in: a problem, coordinates z and initial states. Goes out: both at the minimum. Damping follows Nielsen's rule;
coordinates at a lower bound whose gradient pushes further out are held there for the step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from haloid.errors import HaloidError
from haloid.identify.problem.problem import Linearised, Problem

_MOST_DAMPING = 1e12
_SHARES = np.array([1.0, 0.3, 0.1, 0.03, 0.0])
"""Of a step of the states, tried fragment by fragment where the whole step fails."""
_STATE_TOLERANCE = 1.0
"""Where states alone are fitted, the gain of log-likelihood that ends it."""


@dataclass(frozen=True)
class Solution:
    z: np.ndarray
    states: np.ndarray
    cost: float
    iterations: int
    converged: bool
    linearised: Linearised
    """One step before the solution: a converged step changes it too little for another step."""


Progress = Callable[[int, float, np.ndarray], None]
"""Called after every accepted step with the iteration, the cost and the values of the columns."""


def solve(
    problem: Problem,
    z: np.ndarray,
    states: np.ndarray,
    *,
    iterations: int = 50,
    tolerance: float = 0.1,
    damping: float = 1e-3,
    progress: Progress | None = None,
) -> Solution:
    """Minimises the problem; a step that moves parameters by less than `tolerance` of their error bars (rms) ends it.

    So does one that gains no more than twice what such a step would: across stick-slip kinks, and where the model is
    not quite right, steps stay longer than they are worth. The states do not count: their kinks keep gaining a
    little long after the parameters have settled.
    """
    growth = 2.0
    if not np.isfinite(problem.cost(z, states)):
        raise HaloidError(
            "the simulation of the recorded motion breaks down at the parameters it starts from; expected the nominal "
            "robot to move at least roughly as recorded. Check robot, clamp and gains, or use a smaller --timestep"
        )
    current = problem.linearise(z, states)
    for iteration in range(1, iterations + 1):
        while True:
            step, state_step, length = _step(problem, current, z, damping)
            trial_z = np.clip(z + step, problem.unknowns.lower, problem.unknowns.upper)
            trial_states = states + state_step if problem.estimate_states else states
            cost = problem.cost(trial_z, trial_states)
            if problem.estimate_states and not cost <= current.cost:
                trial_states, cost = _as_far_as_each_gains(problem, trial_z, states, state_step)
            decrease, predicted = current.cost - cost, _predicted_decrease(current, step, state_step)
            if np.isfinite(cost) and decrease >= 0:
                break
            damping = max(damping * growth, 1e-6)
            growth *= 2
            if damping > _MOST_DAMPING:
                return Solution(z, states, current.cost, iteration, True, current)
        ratio = decrease / max(predicted, 1e-300)
        damping *= max(1 / 3, 1 - (2 * ratio - 1) ** 3)
        growth = 2.0
        z, states = trial_z, trial_states
        enough = tolerance**2 * len(z) if len(z) else _STATE_TOLERANCE
        converged = decrease <= enough or (len(z) > 0 and length <= tolerance)
        if progress is not None:
            progress(iteration, cost, problem.unknowns.decode(z))
        if converged or iteration == iterations:
            return Solution(z, states, cost, iteration, converged, current)
        current = problem.linearise(z, states)
    return Solution(z, states, current.cost, 0, False, current)


def _step(problem: Problem, current: Linearised, z: np.ndarray, damping: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Step of the parameters, of the states, and the size of the former in error bars (rms)."""
    matrix, gradient = current.reduced(damping)
    low, high = problem.unknowns.lower, problem.unknowns.upper
    free = ~((z <= low) & (gradient > 0)) & ~((z >= high) & (gradient < 0))
    free &= np.diag(matrix) > 0  # a parameter that nothing sees stays put
    step, length = np.zeros(len(z)), 0.0
    if free.any():
        block = matrix[np.ix_(free, free)]
        unit = 1 / np.sqrt(np.diag(block))  # parameters of very different size, brought to one
        inverse = scipy.linalg.inv(block * np.outer(unit, unit))
        step[free] = -unit * (inverse @ (unit * gradient[free]))
        length = float(np.sqrt(np.mean(step[free] ** 2 / (unit**2 * np.diag(inverse)))))
    return step, current.state_step(step, damping), length


def _as_far_as_each_gains(
    problem: Problem, z: np.ndarray, states: np.ndarray, step: np.ndarray
) -> tuple[np.ndarray, float]:
    """States after the share of their step that suits each fragment best, and the objective there.

    A foot that leaves the floor or a joint that sticks within a step bends a fragment's cost; one such fragment must
    not hold back the others.
    """
    alternatives = states + _SHARES[:, None, None] * step
    costs = problem.fragment_costs(z, alternatives)
    if not np.isfinite(costs.min(axis=0)).all():
        return states, np.inf
    best = np.argmin(costs, axis=0)
    which = np.arange(len(states))
    prior = problem.unknowns.prior.cost(problem.unknowns.decode(z))
    return alternatives[best, which], float(np.sum(costs[best, which])) + prior


def _predicted_decrease(current: Linearised, step: np.ndarray, state_step: np.ndarray) -> float:
    linear = current.gradient @ step + np.sum(current.state_gradient * state_step)
    quadratic = step @ current.a @ step + np.einsum("bx,bxy,by->", state_step, current.e, state_step)
    quadratic += 2 * np.einsum("p,bpx,bx->", step, current.c, state_step)
    return float(-linear - 0.5 * quadratic)
