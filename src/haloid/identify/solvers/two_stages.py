"""Two stages as one: what stage 1 knows about the robot, in stage 2's unknowns and error bars.

Comes in: the fit of stage 1 and a payload's unknowns or fit. Goes out: both together, the robot within stage 1's
covariance.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from haloid.identify.problem.unknowns import Prior, Unknowns
from haloid.identify.solvers.fit import Fit, conclude
from haloid.identify.solvers.levenberg_marquardt import Solution


def with_base(payload: Unknowns, stage1: Fit) -> Unknowns:
    """The payload's unknowns, and the rest of the robot within stage 1's covariance."""
    taken = {column.name for column in payload.columns}
    kept = [i for i, column in enumerate(stage1.unknowns.columns) if column.name not in taken]
    together = payload.columns + [stage1.unknowns.columns[i] for i in kept]
    bounded = stage1.unknowns.bounds
    bounds = {len(payload) + place: bounded[i] for place, i in enumerate(kept) if i in bounded}
    return Unknowns(payload.base, together, _joined(payload.prior, _posterior(stage1, kept)), bounds)


def together(found: Fit, stage1: Fit) -> Fit:
    """A payload that was found alone, with the error bars that payload and rest have together."""
    unknowns = with_base(Unknowns(found.physics, found.unknowns.columns, found.unknowns.prior), stage1)
    problem, z = replace(found.problem, unknowns=unknowns), unknowns.encode(found.physics.values(unknowns.columns))
    linearised = problem.linearise(z, found.states)
    solution = Solution(z, found.states, linearised.cost, found.iterations, found.converged, linearised)
    return conclude(problem, solution, found.trace)


def beside(found: Fit, stage1: Fit) -> Fit:
    """A payload found with the rest of the robot as stage 1 left it, with what stage 1 did not know in its error bars.

    With A the information about the payload and C that about payload and rest together, an error δ of the rest shifts
    the payload by −A⁻¹Cδ.
    """
    whole, count = together(found, stage1), len(found.values)
    rest = np.linalg.inv(whole.unknowns.prior.information[count:, count:])
    shift = -found.covariance @ whole.information[:count, count:]
    mixed = shift @ rest
    covariance = np.block([[found.covariance + mixed @ shift.T, mixed], [mixed.T, rest]])
    return replace(whole, covariance=covariance)


def _posterior(stage1: Fit, kept: list[int]) -> Prior:
    """Stage 1's answer about some of its columns, as a prior; columns at a bound stay (almost) there."""
    covariance = stage1.covariance[np.ix_(kept, kept)].copy()
    smallest = 1e-6 * np.maximum(np.abs(stage1.values[kept]), 1e-3)
    covariance[np.diag_indices(len(kept))] += smallest**2
    return Prior(stage1.values[kept], np.linalg.inv(covariance))


def _joined(one: Prior, two: Prior) -> Prior:
    information = np.zeros((len(one.mean) + len(two.mean),) * 2)
    information[: len(one.mean), : len(one.mean)] = one.information
    information[len(one.mean) :, len(one.mean) :] = two.information
    return Prior(np.concatenate([one.mean, two.mean]), information)
