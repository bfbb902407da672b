"""The two stages (HALO III-B.4): calibrate the robot without its load, then find what it carries.

Stage 1 fits the full set of base parameters to unloaded recordings, with a prior around nominal. Stage 2 fits mass and
CoM of the payload links to loaded recordings. In it the rest of the robot is not frozen at stage 1's estimate but kept
within stage 1's covariance: that carries stage 1's remaining uncertainty into the error bars, and lets the loaded data
speak where it knows better. One stage (the baseline) fits the payload links alone, from nominal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from haloid.engines.analytic import AnalyticEngine
from haloid.engines.engine import Engine
from haloid.engines.finite_difference import FiniteDifferenceEngine
from haloid.engines.physics import Column, Physics
from haloid.engines.simulate import Simulator
from haloid.engines.workers import Workers
from haloid.identify import checks, paper_solvers
from haloid.identify.data import Dataset, build_simulator, check_agreement, prepare
from haloid.identify.fit import (
    Fit,
    FitSettings,
    Report,
    Trace,
    approach,
    conclude,
    finish,
    first_residual,
    fit,
    make_problem,
    part,
)
from haloid.identify.levenberg_marquardt import Solution
from haloid.identify.priors import BasePrior, PaperRegulariser, no_prior, payload_prior
from haloid.identify.unknowns import Prior, Unknowns, choose_columns
from haloid.recordings.recording import Recording

BASE_PARAMETERS = ("*.mass", "*.com", "*.damping", "*.frictionloss", "*.armature")
"""Stage 1's full set."""
_FIRST_FRICTION_NM = 0.05
_FIRST_DAMPING = 0.05
"""Where the search starts for a robot whose model has no friction or damping."""


@dataclass(frozen=True)
class Settings:
    """All choices of an identification."""

    payload_links: tuple[str, ...]
    payload_parameters: tuple[str, ...] = ("mass", "com")
    """Kinds, for every payload link, or names such as torso_link.com."""
    base_parameters: tuple[str, ...] = BASE_PARAMETERS
    stages: Literal["two", "one"] = "two"
    engine: Literal["analytic", "finite-difference"] = "analytic"
    solver: Literal["lm", "gd", "cma"] = "lm"
    loss: Literal["joints", "cartesian"] = "joints"
    regulariser: Literal["gaussian", "paper"] = "gaussian"
    timestep_s: float = 0.005
    rows: int = 20
    """Control steps of a fragment (HALO's N)."""
    fragments: int = 20
    """Fragments of a recording (HALO's B)."""
    held_out: float = 0.2
    """Share of the fragments kept for validation."""
    noise_rad: float | None = None
    robust: float | None = None
    upper_weight: float = 1.0
    iterations: int | None = None
    """Of the solver; None: its own default."""
    seed: int = 0


@dataclass(frozen=True)
class Identification:
    """All that was found, ready to be written or looked at."""

    settings: Settings
    simulator: Simulator
    stage1: Fit | None
    stage2: Fit
    """Its first columns are the payload links'; the rest is the base within stage 1's covariance."""
    payload_columns: int
    unloaded: Dataset | None
    loaded: Dataset
    seconds: float
    stage_seconds: dict[str, float] = field(default_factory=dict)

    @property
    def fit_settings(self) -> FitSettings:
        return fit_settings(self.settings)

    @property
    def nominal(self) -> Physics:
        return self.simulator.nominal

    @property
    def base(self) -> Physics:
        """The robot without its load, as far as it was calibrated."""
        return self.nominal if self.stage1 is None else self.stage1.physics

    @property
    def physics(self) -> Physics:
        """The robot with its load."""
        return self.stage2.physics


def identify(
    unloaded: Sequence[Recording],
    loaded: Sequence[Recording],
    settings: Settings,
    report: Callable[[str], Report] | None = None,
) -> Identification:
    """Runs the stages; `report(stage name)` gives the function that is told about every iteration."""
    started = time.monotonic()
    checks.check_inputs(unloaded, loaded, settings.stages, settings.payload_links)
    check_agreement([*unloaded, *loaded])
    checks.check_engine(loaded[0], settings.engine)
    contact = settings.engine == "finite-difference" and loaded[0].support == "double"
    simulator = build_simulator(loaded[0], settings.timestep_s, contact=contact)
    engine: Engine = {"analytic": AnalyticEngine, "finite-difference": FiniteDifferenceEngine}[settings.engine](
        simulator
    )
    checks.check_links(simulator, settings.payload_links)
    run = _Run(settings, simulator, engine)
    parallel = settings.engine == "analytic"
    with Workers(engine, processes=None if parallel else 1) as workers:
        run.workers = workers
        stage1, unloaded_data, seconds1 = None, None, 0.0
        if settings.stages == "two":
            unloaded_data = run.dataset(unloaded)
            stage1 = run.calibrate(unloaded_data, report("stage 1") if report else None)
            checks.check_unloaded(stage1, unloaded_data.noise_rad)
            seconds1 = time.monotonic() - started
        loaded_data = run.dataset(loaded)
        stage2, count = run.find_payload(loaded_data, stage1, report("stage 2") if report else None)
        stage2 = replace(stage2, problem=replace(stage2.problem, workers=None))
    checks.check_informative(stage2, count)
    seconds = time.monotonic() - started
    return Identification(
        settings=settings,
        simulator=simulator,
        stage1=None if stage1 is None else replace(stage1, problem=replace(stage1.problem, workers=None)),
        stage2=stage2,
        payload_columns=count,
        unloaded=unloaded_data,
        loaded=loaded_data,
        seconds=seconds,
        stage_seconds={"stage 1": seconds1, "stage 2": seconds - seconds1},
    )


def payload_patterns(settings: Settings) -> list[str]:
    """Stage 2's parameters: kinds are meant for every payload link, names with a dot for themselves."""
    kinds = [name for name in settings.payload_parameters if "." not in name]
    named = [name for name in settings.payload_parameters if "." in name]
    return [f"{link}.{kind}" for link in settings.payload_links for kind in kinds] + named


def fit_settings(settings: Settings) -> FitSettings:
    return FitSettings(
        loss=settings.loss,
        upper_links=settings.payload_links,
        upper_weight=settings.upper_weight,
        iterations=settings.iterations or 30,
        noise_rad=settings.noise_rad,
        robust=settings.robust,
    )


@dataclass
class _Run:
    settings: Settings
    simulator: Simulator
    engine: Engine
    workers: Workers | None = None

    @property
    def fit_settings(self) -> FitSettings:
        return fit_settings(self.settings)

    def dataset(self, recordings: Sequence[Recording]) -> Dataset:
        s = self.settings
        return prepare(
            recordings, self.simulator, rows=s.rows, fragments_per_recording=s.fragments, held_out_share=s.held_out
        )

    def calibrate(self, dataset: Dataset, report: Report | None) -> Fit:
        """Stage 1."""
        nominal = self.simulator.nominal
        columns = self._moving(choose_columns(nominal, self.settings.base_parameters))
        prior = (BasePrior() if self.settings.regulariser == "gaussian" else PaperRegulariser()).over(nominal, columns)
        return self._solve(dataset, Unknowns(_first_guess(nominal, columns), columns, prior), report)

    def find_payload(self, dataset: Dataset, stage1: Fit | None, report: Report | None) -> tuple[Fit, int]:
        """Stage 2, and how many of its columns are the payload's."""
        base = self.simulator.nominal if stage1 is None else stage1.physics
        columns = choose_columns(base, payload_patterns(self.settings))
        prior = payload_prior(base, columns) if self.settings.solver == "lm" else no_prior(base, columns)
        alone = Unknowns(base, columns, prior)
        if stage1 is None:
            return self._solve(dataset, alone, report), len(columns)
        taken = {column.name for column in columns}
        kept = [i for i, column in enumerate(stage1.unknowns.columns) if column.name not in taken]
        together = columns + [stage1.unknowns.columns[i] for i in kept]
        joined = _joined(prior, _posterior(stage1, kept))
        if self.settings.solver == "lm":
            trace: Trace = []
            settings = self.fit_settings
            problem, z, states, iterations = approach(
                self.engine, dataset, alone, settings, trace, report, self.workers
            )
            unknowns = Unknowns(alone.physics(z), together, joined)
            problem, z = replace(problem, unknowns=unknowns), unknowns.encode(unknowns.base.values(together))
            return finish(problem, z, states, settings, iterations, trace, report), len(columns)
        found = self._solve(dataset, alone, report)
        unknowns = Unknowns(found.physics, together, joined)
        problem, z = replace(found.problem, unknowns=unknowns), unknowns.encode(unknowns.base.values(together))
        linearised = problem.linearise(z, found.states)
        solution = Solution(z, found.states, linearised.cost, found.iterations, True, linearised)
        return conclude(problem, solution, found.trace), len(columns)

    def _solve(self, dataset: Dataset, unknowns: Unknowns, report: Report | None) -> Fit:
        settings = self.fit_settings
        if self.settings.solver == "lm":
            return fit(self.engine, dataset, unknowns, settings, report=report, workers=self.workers)
        return solve_as_paper(self.engine, dataset, unknowns, self.settings, report, self.workers)

    def _moving(self, columns: list[Column]) -> list[Column]:
        """Without the links that are fixed to the world, whose parameters have no effect."""
        model = self.simulator.model
        fixed = {name for name in self.simulator.nominal.links if model.body_weldid[model.body(name).id] == 0}
        return [column for column in columns if column.owner not in fixed]


def solve_as_paper(
    engine: Engine,
    dataset: Dataset,
    unknowns: Unknowns,
    settings: Settings,
    report: Report | None,
    workers: Workers | None,
) -> Fit:
    """A stage by gradient descent or CMA-ES: initial states as measured, one horizon."""
    train = part(dataset, ~dataset.held_out)
    residual = first_residual(engine, dataset, fit_settings(settings))
    problem = make_problem(engine, train, unknowns, residual, fit_settings(settings), workers)
    trace: Trace = []
    masses = [(i, column.owner) for i, column in enumerate(unknowns.columns) if column.kind == "mass"]

    def progress(iteration: int, cost: float, values: np.ndarray) -> None:
        trace.append((settings.solver, cost, values))
        if report is not None:
            report(settings.solver, iteration, cost, {owner: float(values[i]) for i, owner in masses})

    count = settings.iterations or paper_solvers.ITERATIONS
    velocities = train.states[:, train.states.shape[1] // 2 :]
    states = np.concatenate([train.fragments.readings[:, 0], velocities], axis=1)
    if settings.solver == "gd":
        solution = paper_solvers.gradient_descent(problem, states, count, progress)
    else:
        solution = paper_solvers.cma_es(problem, states, settings.seed, count, progress)
    readings = problem.readings(solution.z, solution.states)
    weighted = replace(
        problem,
        residual=residual.reweighted(readings, train.fragments, len(unknowns), settings.robust is not None),
    )
    final = replace(solution, linearised=weighted.linearise(solution.z, solution.states))
    return conclude(weighted, final, trace)


def _first_guess(nominal: Physics, columns: list[Column]) -> Physics:
    """Nominal, but with a little friction and damping where they are sought: from zero they have no slope."""
    values = nominal.values(columns)
    for i, column in enumerate(columns):
        if column.kind == "frictionloss":
            values[i] = max(values[i], _FIRST_FRICTION_NM)
        elif column.kind == "damping":
            values[i] = max(values[i], _FIRST_DAMPING)
    return nominal.with_values(columns, values)


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
