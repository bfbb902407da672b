"""Fit: one stage of identification, from a dataset and its unknowns to values with a covariance.

Short horizons are nearly convex and long ones are not, so the horizon grows: 1, then 4, then all control steps, each
started from the last. The encoders' noise is then estimated joint by joint from the residuals and the full horizon is
solved with it, until both agree, which makes the answer the maximum of the likelihood (times the prior).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from haloid.engines.engine import Engine
from haloid.engines.physics import Physics
from haloid.engines.workers import Workers
from haloid.identify.data.dataset import Dataset, evenly_spaced
from haloid.identify.problem.problem import Problem, StatePrior
from haloid.identify.problem.residuals import LEAST_NOISE_RAD, CartesianResidual, JointResidual, Residual
from haloid.identify.problem.unknowns import Prior, Unknowns
from haloid.identify.solvers import levenberg_marquardt
from haloid.identify.solvers.levenberg_marquardt import Solution
from haloid.identify.solvers.sandwich import discount, inverse_root, scatter, score_covariance

_FIRST_NOISE_RAD = 2e-4
"""Early phases trust readings no more than this."""
_FIRST_NOISE_M = 2e-4
_GROWING_ROWS = (1, 4)
_GROWING_FRAGMENTS = 16
"""This many fragments are enough while the horizon grows."""
_ITERATIONS_BEFORE_NOISE = 2
_ITERATIONS_WHEN_RELEASED = 6
_EARLY_TOLERANCE = 0.2
TOLERANCE = 0.05
"""A step that moves the parameters by this share of their error bars ends the fit."""
_FINEST_NOISE = 2e-6
"""No encoder is finer (rad; m for the Cartesian loss): the fit of cleaner data ends as if it were this noisy."""
_NOISE_PASSES, _NOISE_TOLERANCE = 4, 0.05
"""The noise is estimated and the fit repeated, at most this often, until no encoder's changes by more than this
share."""
_STUCK = 1.4
"""A fragment's mean square over the median one's from which it is left out: six standard deviations for 20 steps of the
G1."""
_LEAST_INFORMATION = 1e-12
"""What neither data nor prior sees has an error bar of a million of its units."""
_FAR_DAMPING, NEAR_DAMPING = 1e-3, 1e-8

Trace = list[tuple[str, float, np.ndarray]]
"""Phase, cost and column values after every step."""
Report = Callable[[str, int, float, dict[str, float]], None]
"""Progress: phase, iteration, cost, and the current masses by link."""


@dataclass(frozen=True)
class FitSettings:
    """How a stage is fitted."""

    loss: Literal["joints", "cartesian"] = "joints"
    upper_links: tuple[str, ...] = ()
    """Links that the Cartesian loss counts more."""
    upper_weight: float = 1.0
    """αᵘ of HALO's Eq. 5."""
    iterations: int = 30
    """At most this many per phase."""
    noise_rad: float | None = None
    """Encoder noise; None: estimated from the data, joint by joint."""
    robust: float | None = None
    """Huber's threshold in noise units for outlying samples; None: plain least squares."""
    sensors_known: bool = True
    """Whether the noise of all further sensors is told."""

    @property
    def noise_known(self) -> bool:
        return self.noise_rad is not None and self.sensors_known


@dataclass(frozen=True)
class ByRows:
    """What a stage finds if every row counts, however much fragments disagree."""

    values: np.ndarray
    """Of the columns."""
    information: np.ndarray
    """(P, P) the data's own."""


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
    noise_rad: np.ndarray | None
    """(n,) of the encoders, where the loss is in joint space."""
    problem: Problem
    states: np.ndarray
    cost: float
    iterations: int
    converged: bool
    trace: Trace = field(default_factory=list)
    before_dispersion: ByRows | None = None
    """None where every row counts in the fit itself."""

    @property
    def physics(self) -> Physics:
        return self.unknowns.physics(self.z)

    @property
    def by_rows(self) -> ByRows:
        """For checks, which a dispersion would dull: it takes a wrong model for a noisy one."""
        return self.before_dispersion or ByRows(self.values, self.information)

    @property
    def std(self) -> np.ndarray:
        return np.sqrt(np.diag(self.covariance))


def fit(
    engine: Engine,
    dataset: Dataset,
    unknowns: Unknowns,
    settings: FitSettings,
    *,
    report: Report | None = None,
    workers: Workers | None = None,
) -> Fit:
    """Fits the unknowns to the fragments that are not held out."""
    trace: Trace = []
    problem, z, states, iterations = approach(engine, dataset, unknowns, settings, trace, report, workers)
    return finish(problem, z, states, settings, iterations, trace, report)


def approach(
    engine: Engine,
    dataset: Dataset,
    unknowns: Unknowns,
    settings: FitSettings,
    trace: Trace,
    report: Report | None,
    workers: Workers | None,
) -> tuple[Problem, np.ndarray, np.ndarray, int]:
    """Grows the horizon and estimates the noise: the full problem, and a point near its solution."""
    train = part(dataset, ~dataset.held_out)
    z, states = unknowns.encode(unknowns.base.values(unknowns.columns)), train.states
    residual = first_residual(engine, dataset, settings)
    few = _few(train)
    few_problem = make_problem(engine, few, unknowns, residual, settings, workers)
    few_states, damping, iterations, rows = few.states, _FAR_DAMPING, 0, train.fragments.rows
    for horizon in (h for h in _GROWING_ROWS if h < rows):
        solution = levenberg_marquardt.solve(
            few_problem.shortened(horizon),
            z,
            few_states,
            iterations=settings.iterations,
            tolerance=_EARLY_TOLERANCE,
            damping=damping,
            progress=progress_of(f"{horizon} of {rows} steps", unknowns, trace, report),
        )
        z, few_states, damping = solution.z, solution.states, NEAR_DAMPING
        iterations += solution.iterations
    problem = make_problem(engine, train, unknowns, residual, settings, workers)
    solution = levenberg_marquardt.solve(
        problem,
        z,
        states,
        iterations=_ITERATIONS_BEFORE_NOISE,
        tolerance=_EARLY_TOLERANCE,
        damping=damping,
        progress=progress_of(f"all {rows} steps", unknowns, trace, report),
    )
    if not settings.noise_known:
        problem = _with_its_noise(problem, solution)
    return problem, solution.z, solution.states, iterations + solution.iterations


def released(
    problem: Problem,
    unknowns: Unknowns,
    states: np.ndarray,
    settings: FitSettings,
    trace: Trace,
    report: Report | None,
    what: str,
) -> tuple[Problem, np.ndarray, np.ndarray, int]:
    """A few steps in more unknowns, from their base's values, and a new noise estimate: a point near the larger
    solution."""
    problem = replace(problem, unknowns=unknowns)
    solution = levenberg_marquardt.solve(
        problem,
        unknowns.encode(unknowns.base.values(unknowns.columns)),
        states,
        iterations=_ITERATIONS_WHEN_RELEASED,
        tolerance=_EARLY_TOLERANCE,
        progress=progress_of(f"all {problem.fragments.rows} steps, {what}", unknowns, trace, report),
    )
    if not settings.noise_known:
        problem = _with_its_noise(problem, solution)
    return problem, solution.z, solution.states, solution.iterations


def finish(
    problem: Problem,
    z: np.ndarray,
    states: np.ndarray,
    settings: FitSettings,
    iterations: int,
    trace: Trace,
    report: Report | None,
) -> Fit:
    """Solves the full problem from a point near its solution, and concludes."""
    phase = f"all {problem.fragments.rows} steps, noise known"
    for number in range(_NOISE_PASSES):
        solution = levenberg_marquardt.solve(
            problem,
            z,
            states,
            iterations=settings.iterations,
            tolerance=TOLERANCE * max(1.0, _FINEST_NOISE / float(np.median(problem.residual.unit))),
            damping=NEAR_DAMPING,
            progress=progress_of(phase, problem.unknowns, trace, report),
        )
        z, states, iterations = solution.z, solution.states, iterations + solution.iterations
        if number == _NOISE_PASSES - 1:
            break
        if (stuck := _stuck(problem, solution)).any():
            problem, states = problem.chosen(~stuck), states[~stuck]
            solution = replace(solution, states=states)
        elif settings.noise_known:
            break
        reweighted = problem if settings.noise_known else _with_its_noise(problem, solution)
        before, after = problem.residual.unit, reweighted.residual.unit
        if not stuck.any() and np.allclose(after, before, rtol=_NOISE_TOLERANCE, atol=0.0):
            break
        problem = reweighted
    return conclude(problem, at_its_end(problem, replace(solution, iterations=iterations)), trace)


def at_its_end(problem: Problem, solution: Solution) -> Solution:
    """Linearised where it ended: in the coordinates of a body as thin as a bar, the last step is not small."""
    return replace(solution, linearised=problem.linearise(solution.z, solution.states))


def _stuck(problem: Problem, solution: Solution) -> np.ndarray:
    """(B,) fragments in contact whose states did not converge to the readings, by far more than noise explains.

    A contact that appears or ends makes a fragment's cost jump, and a search can end before the jump. What stays there
    says nothing about the parameters.
    """
    if not problem.engine.simulator.contact or not isinstance(problem.residual, JointResidual):
        return np.zeros(len(solution.states), bool)
    missed_rad = problem.readings(solution.z, solution.states) - problem.fragments.readings
    unit = np.maximum(np.sqrt(np.median(np.mean(missed_rad**2, axis=1), axis=0)), LEAST_NOISE_RAD)
    size = np.mean((missed_rad / unit) ** 2, axis=(1, 2))
    return size > _STUCK * np.median(size)


def _with_its_noise(problem: Problem, solution: Solution) -> Problem:
    """The problem in units of the noise that a solution leaves."""
    readings, robust = problem.predicted(solution.z, solution.states), problem.robust is not None
    return replace(
        problem,
        residual=problem.residual.reweighted(readings, problem.fragments, len(problem.unknowns), robust),
    )


def conclude(problem: Problem, solution: Solution, trace: Trace, *, white: bool = False) -> Fit:
    """Error bars at a solution: the inverse of the reduced normal equations, carried to the columns.

    That is the covariance where residuals are independent, as encoders' are. Where they last, error bars are widened
    by how much the fragments disagree, and the data's information is what is left after that; the Cartesian loss takes
    the sandwich (`sandwich`). Where the squares are divided by a dispersion already, a parameter keeps that unless the
    fragments disagree more about it. `white` takes residuals for independent, whatever they are. A parameter at its
    lower bound has the error bar it would have without the bound.
    """
    z, linearised = solution.z, solution.linearised
    unknowns, residual = problem.unknowns, problem.residual
    slope = unknowns.slope(z)
    reduced, _ = linearised.reduced()
    reduced[np.diag_indices(len(z))] = np.maximum(np.diag(reduced), _LEAST_INFORMATION)
    information = reduced - linearised.prior_information
    covariance = _inverse(reduced)
    if isinstance(residual, JointResidual) and not white:
        if problem.dispersion > 1:
            ratio = np.maximum(scatter(*problem.by_fragment(z, solution.states), reduced).by_parameter, 1.0)
        else:
            ratio = discount(linearised, reduced, information)
        share = 1 / np.sqrt(ratio)
        information = information * np.outer(share, share)
        covariance = _inverse(information + linearised.prior_information)
    elif not white:
        covariance = covariance @ score_covariance(problem, z, solution.states, linearised) @ covariance
    inverse_slope = np.linalg.inv(slope)
    return Fit(
        unknowns=unknowns,
        z=z,
        values=unknowns.decode(z),
        covariance=slope @ covariance @ slope.T,
        information=inverse_slope.T @ information @ inverse_slope,
        noise_rad=residual.noise_rad if isinstance(residual, JointResidual) else None,
        problem=problem,
        states=solution.states,
        cost=solution.cost,
        iterations=solution.iterations,
        converged=solution.converged,
        trace=trace,
    )


def _inverse(matrix: np.ndarray) -> np.ndarray:
    root = inverse_root(matrix)
    return root @ root.T


def make_problem(
    engine: Engine,
    dataset: Dataset,
    unknowns: Unknowns,
    residual: Residual,
    settings: FitSettings,
    workers: Workers | None,
) -> Problem:
    n = len(unknowns.base.joints)
    loose = np.ones(n)  # the first reading is itself a measurement, so its prior adds nothing
    return Problem(
        engine=engine,
        fragments=dataset.fragments,
        unknowns=unknowns,
        residual=residual,
        states=StatePrior(dataset.states, np.concatenate([loose, dataset.velocity_std_rad_s])),
        robust=settings.robust,
        workers=workers,
    )


def residuals_with(physics: Physics, dataset: Dataset, fitted: Fit, settings: FitSettings) -> np.ndarray:
    """(B, N + 1, n) predicted − read, rad, of a model whose fragments' initial states alone are fitted."""
    nothing = Unknowns(physics, [], Prior(np.zeros(0), np.zeros((0, 0))))
    problem = make_problem(
        fitted.problem.engine, dataset, nothing, fitted.problem.residual, settings, fitted.problem.workers
    )
    solution = levenberg_marquardt.solve(problem, np.zeros(0), dataset.states, iterations=10)
    return problem.readings(solution.z, solution.states) - dataset.fragments.readings


def part(dataset: Dataset, which: np.ndarray) -> Dataset:
    """The fragments where the mask is true."""
    return replace(
        dataset,
        fragments=dataset.fragments.chosen(which),
        states=dataset.states[which],
        held_out=np.zeros(int(which.sum()), bool),
    )


def _few(dataset: Dataset) -> Dataset:
    count = dataset.fragments.count
    return part(dataset, np.isin(np.arange(count), evenly_spaced(count, _GROWING_FRAGMENTS)))


def first_residual(engine: Engine, dataset: Dataset, settings: FitSettings) -> Residual:
    if settings.loss == "cartesian":
        return CartesianResidual(
            engine.simulator.model, list(settings.upper_links), settings.upper_weight, _FIRST_NOISE_M
        )
    noise = settings.noise_rad or max(dataset.noise_rad, _FIRST_NOISE_RAD)
    least_noise_rad = np.maximum(dataset.least_noise_rad, LEAST_NOISE_RAD)
    n = dataset.fragments.readings.shape[2]
    told = np.concatenate([np.full(n, settings.noise_rad is not None), dataset.sensor_noise_told])
    return JointResidual(np.full(n, noise), least_noise_rad, dataset.sensor_noise, told)


def progress_of(phase: str, unknowns: Unknowns, trace: Trace, report: Report | None) -> levenberg_marquardt.Progress:
    masses = [(i, column.owner) for i, column in enumerate(unknowns.columns) if column.kind == "mass"]

    def progress(iteration: int, cost: float, values: np.ndarray) -> None:
        trace.append((phase, cost, values))
        if report is not None:
            report(phase, iteration, cost, {owner: float(values[i]) for i, owner in masses})

    return progress
