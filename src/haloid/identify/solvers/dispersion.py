"""Dispersion: a fit in which rows count as much as its fragments agree.

Comes in: a stage's fit in which every row counts. Goes out: the same where fragments scatter as independent residuals
do; elsewhere the fit with all squares divided by the dispersion φ (`sandwich`), so that rows that err together do not
outvote the prior: the data sheet in stage 1, stage 1's answer in stage 2.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from haloid.identify.problem.problem import Problem
from haloid.identify.problem.residuals import JointResidual
from haloid.identify.solvers import levenberg_marquardt
from haloid.identify.solvers.fit import (
    NEAR_DAMPING,
    TOLERANCE,
    ByRows,
    Fit,
    FitSettings,
    Report,
    at_its_end,
    conclude,
    progress_of,
)
from haloid.identify.solvers.sandwich import Scatter, scatter

_PASSES, _SETTLED = 3, 0.15
"""The fit is repeated, at most this often, until φ changes by no more than this share."""


def dispersed(found: Fit, settings: FitSettings, report: Report | None) -> Fit:
    """`found` itself where its residuals may be independent."""
    problem, z, states, iterations = found.problem, found.z, found.states, found.iterations
    if not isinstance(problem.residual, JointResidual) or len(states) < 2 or len(z) == 0:
        return found
    scattered = scatter_at(problem, z, states)
    if not scattered.beyond_chance:
        return found
    phase = f"all {problem.fragments.rows} steps, dispersed"
    for number in range(1, _PASSES + 1):
        problem = replace(problem, dispersion=max(problem.dispersion * scattered.dispersion, 1.0))
        solution = levenberg_marquardt.solve(
            problem,
            z,
            states,
            iterations=settings.iterations,
            tolerance=TOLERANCE,
            damping=NEAR_DAMPING,
            progress=progress_of(phase, problem.unknowns, found.trace, report),
        )
        z, states, iterations = solution.z, solution.states, iterations + solution.iterations
        if number == _PASSES:
            break
        scattered = scatter_at(problem, z, states)
        if abs(np.log(scattered.dispersion)) < _SETTLED:
            break
    again = conclude(problem, at_its_end(problem, replace(solution, iterations=iterations)), found.trace)
    return replace(again, before_dispersion=ByRows(found.values, found.information))


def scatter_at(problem: Problem, z: np.ndarray, states: np.ndarray) -> Scatter:
    """Of the fragments at a solution; a parameter at its bound is held there."""
    unknowns = problem.unknowns
    information, scores = problem.by_fragment(z, states)
    slope, (_, prior) = unknowns.slope(z), unknowns.prior.linearise(unknowns.decode(z))
    h = information.sum(axis=0) + slope.T @ prior @ slope
    free = np.flatnonzero((z > unknowns.lower) & (z < unknowns.upper) & (np.diag(h) > 0))
    return scatter(information[:, free[:, None], free], scores[:, free], h[np.ix_(free, free)])
