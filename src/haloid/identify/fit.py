"""Fit: one stage of identification, from a dataset and its unknowns to values with a covariance.

Short horizons are nearly convex and long ones are not, so the horizon grows: 1, then 4, then all control steps, each
started from the last. The encoders' noise is estimated joint by joint from the residuals and the full horizon is then
solved once more with it, which makes the answer the maximum of the likelihood (times the prior).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from haloid.engines.physics import Physics
from haloid.engines.workers import Workers
from haloid.identify import levenberg_marquardt
from haloid.identify.data import Dataset
from haloid.identify.levenberg_marquardt import Solution
from haloid.identify.problem import Engine, Problem, StatePrior
from haloid.identify.residuals import JointResidual
from haloid.identify.unknowns import Prior, Unknowns

_FIRST_NOISE_RAD = 2e-4
"""Early phases weigh readings no more than this, since short horizons need no more."""
_LEAST_NOISE_RAD = 1e-7
_GROWING_ROWS = (1, 4)
_EARLY_TOLERANCE = 1.0
_TOLERANCE = 1e-2
"""A step that gains less log-likelihood than this ends a solve: it moves no parameter by 15 % of its error bar."""
_NEAR_DAMPING = 1e-8

Report = Callable[[str, int, float, dict[str, float]], None]
"""Progress: phase, iteration, cost, and the current masses by link."""


@dataclass(frozen=True)
class FitSettings:
    """How a stage is fitted."""

    iterations: int = 30
    """At most so many a phase."""
    noise_rad: float | None = None
    """Encoder noise; None: estimated from the data, joint by joint."""
    robust: float | None = None
    """Huber's threshold in noise units for outlying samples; None: plain least squares."""


@dataclass(frozen=True)
class Fit:
    """What one stage found."""

    unknowns: Unknowns
    z: np.ndarray
    values: np.ndarray
    """Of the columns."""
    covariance: np.ndarray
    """(P, P) of the columns, prior included."""
    information: np.ndarray
    """(P, P) the data's own information about the columns, initial states eliminated."""
    noise_rad: np.ndarray
    """(n,)"""
    states: np.ndarray
    residuals_rad: np.ndarray
    """(B, N + 1, n) predicted − read on the fitted fragments."""
    held_out_residuals_rad: np.ndarray
    nominal_residuals_rad: np.ndarray
    """On the held-out fragments (on the fitted ones where none are held out), with the model before this stage."""
    iterations: int
    converged: bool
    trace: list[tuple[str, float, np.ndarray]] = field(default_factory=list)
    """Phase, cost and column values after every step."""

    @property
    def physics(self) -> Physics:
        return self.unknowns.physics(self.z)

    @property
    def std(self) -> np.ndarray:
        return np.sqrt(np.diag(self.covariance))


def fit(
    engine: Engine,
    dataset: Dataset,
    unknowns: Unknowns,
    settings: FitSettings,
    report: Report | None = None,
    workers: Workers | None = None,
) -> Fit:
    """Maximum-likelihood fit of the unknowns to the fragments that are not held out."""
    start = unknowns.base.values(unknowns.columns)
    train = _part(dataset, ~dataset.held_out)
    trace: list[tuple[str, float, np.ndarray]] = []
    z, states = unknowns.encode(start), train.states
    first_noise = max(settings.noise_rad or dataset.noise_rad, _FIRST_NOISE_RAD)
    rows, n = train.fragments.rows, len(unknowns.base.joints)
    problem = _problem(engine, train, unknowns, np.full(n, first_noise), settings, workers)
    iterations = 0

    def solve(problem: Problem, name: str, tolerance: float) -> Solution:
        nonlocal iterations

        def progress(iteration: int, cost: float, values: np.ndarray) -> None:
            trace.append((name, cost, values))
            if report is not None:
                masses = {
                    column.owner: float(value)
                    for column, value in zip(unknowns.columns, values, strict=True)
                    if column.kind == "mass"
                }
                report(name, iteration, cost, masses)

        solution = levenberg_marquardt.solve(
            problem, z, states, iterations=settings.iterations, tolerance=tolerance, damping=damping, progress=progress
        )
        iterations += solution.iterations
        return solution

    damping = 1e-3
    for horizon in [*(h for h in _GROWING_ROWS if h < rows), rows]:
        name = "1 step" if horizon == 1 else f"{horizon} steps"
        solution = solve(problem.shortened(horizon), name, _EARLY_TOLERANCE)
        damping = _NEAR_DAMPING
        z, states = solution.z, solution.states
    noise = np.full(n, settings.noise_rad or 0.0)
    if settings.noise_rad is None:
        noise = estimate_noise(problem.residuals(z, states), len(unknowns), settings.robust is not None)
    problem = replace(problem, residual=JointResidual(noise))
    solution = solve(problem, "final", _TOLERANCE)
    z, states = solution.z, solution.states

    slope = unknowns.slope(z)
    reduced, _ = solution.linearised.reduced()
    held = unknowns.lower >= z  # at its bound: not free, so no uncertainty of its own
    covariance = np.zeros_like(reduced)
    covariance[np.ix_(~held, ~held)] = np.linalg.inv(reduced[np.ix_(~held, ~held)])
    inverse_slope = np.linalg.inv(slope)
    data_only = inverse_slope.T @ (reduced - solution.linearised.prior_information) @ inverse_slope
    nominal_z = unknowns.encode(start)
    check = _part(dataset, dataset.held_out) if dataset.held_out.any() else train
    return Fit(
        unknowns=unknowns,
        z=z,
        values=unknowns.decode(z),
        covariance=slope @ covariance @ slope.T,
        information=data_only,
        noise_rad=noise,
        states=states,
        residuals_rad=problem.residuals(z, states),
        held_out_residuals_rad=_with_fixed_physics(engine, check, unknowns, z, noise, settings, workers),
        nominal_residuals_rad=_with_fixed_physics(engine, check, unknowns, nominal_z, noise, settings, workers),
        iterations=iterations,
        converged=solution.converged,
        trace=trace,
    )


def estimate_noise(residuals_rad: np.ndarray, parameters: int, robust: bool) -> np.ndarray:
    """(n,) noise of each encoder from residuals (B, N + 1, n), less the freedom that states and parameters took."""
    count, rows, n = residuals_rad.shape
    freedom = count * (rows - 2) - parameters / n
    if robust:
        scale = np.median(np.abs(residuals_rad), axis=(0, 1)) / 0.6745 * np.sqrt(count * rows / max(freedom, 1))
    else:
        scale = np.sqrt(np.sum(residuals_rad**2, axis=(0, 1)) / max(freedom, 1))
    return np.maximum(scale, _LEAST_NOISE_RAD)


def _part(dataset: Dataset, which: np.ndarray) -> Dataset:
    return replace(
        dataset,
        fragments=dataset.fragments.chosen(which),
        states=dataset.states[which],
        held_out=np.zeros(int(which.sum()), bool),
    )


def _problem(
    engine: Engine,
    dataset: Dataset,
    unknowns: Unknowns,
    noise: np.ndarray,
    settings: FitSettings,
    workers: Workers | None,
) -> Problem:
    flat = np.full(len(noise), 1.0)  # the first reading is a measurement; its prior adds nothing
    std = np.concatenate([flat, dataset.velocity_std_rad_s])
    return Problem(
        engine=engine,
        fragments=dataset.fragments,
        unknowns=unknowns,
        residual=JointResidual(noise),
        states=StatePrior(dataset.states, std),
        robust=settings.robust,
        workers=workers,
    )


def _with_fixed_physics(
    engine: Engine,
    dataset: Dataset,
    unknowns: Unknowns,
    z: np.ndarray,
    noise: np.ndarray,
    settings: FitSettings,
    workers: Workers | None,
) -> np.ndarray:
    """Residuals when only the initial states are fitted."""
    nothing = Unknowns(unknowns.physics(z), [], Prior(np.zeros(0), np.zeros((0, 0))))
    problem = _problem(engine, dataset, nothing, noise, settings, workers)
    solution = levenberg_marquardt.solve(problem, np.zeros(0), dataset.states, iterations=15, tolerance=1e-2)
    return problem.residuals(solution.z, solution.states)
