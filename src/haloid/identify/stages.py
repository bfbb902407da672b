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
from fnmatch import fnmatchcase

import numpy as np

from haloid.engines import make_engine
from haloid.engines.contact import contact_changes
from haloid.engines.engine import Engine
from haloid.engines.physics import FLOOR_KINDS, Column, Physics
from haloid.engines.simulate import Simulator
from haloid.engines.workers import Workers
from haloid.identify import checks, doubts
from haloid.identify.data.dataset import Dataset, build_simulator, check_agreement, prepare
from haloid.identify.problem.body import body_prior
from haloid.identify.problem.own_priors import parse_priors, with_own
from haloid.identify.problem.priors import BasePrior, PaperRegulariser, as_wide_as_the_robot, no_prior
from haloid.identify.problem.problem import Problem
from haloid.identify.problem.residuals import parse_residuals
from haloid.identify.problem.unknowns import Unknowns, choose_columns, whole_name
from haloid.identify.settings import BASE_PARAMETERS, Settings, fit_settings, payload_patterns
from haloid.identify.solvers import paper_solvers
from haloid.identify.solvers.dispersion import dispersed
from haloid.identify.solvers.fit import (
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
    released,
)
from haloid.identify.solvers.payload_search import payload_approach
from haloid.identify.solvers.two_stages import beside, together, with_base
from haloid.recordings.recording import Recording

_FIRST_FRICTION_NM = 0.05
_FIRST_DAMPING = 0.05
"""Where the search starts for a robot whose model has no friction or damping."""
_WIDENINGS = 3
"""Fits of stage 1, at most, until the width of its prior is that of the robot."""
_LEAST_ROTOR_SHARE = 0.1
"""Of the model's armature: while friction is far off, a light wrist's rotor would vanish and not come back."""
_TORQUES_EARLY_LATE_S = (-0.03, np.inf)
"""Bounds of the delay from a log's torques to their effect: commands act later, filtered currents are logged later."""


@dataclass(frozen=True)
class FloorContacts:
    """Fragments of a robot that also stands on its other foot."""

    fragments: int
    """Fitted."""
    switching: int
    """Of these, those in which a point of the sole touches down or lifts off."""
    left_out: int
    """Not fitted, because the search did not converge to their readings across such a change."""


@dataclass(frozen=True)
class Identification:
    """Everything that was found, ready to be written or shown."""

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
    doubts: tuple[str, ...] = ()
    """Why the answer should not be trusted, by name."""

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

    @property
    def contact(self) -> FloorContacts | None:
        """What the floor did in the loaded fragments; None in single support."""
        if not self.simulator.contact:
            return None
        fragments, states = self.stage2.problem.fragments, self.stage2.states
        q0, v0 = np.split(states, 2, axis=1)
        trajectories = self.simulator.run(self.physics, fragments, q0, v0)
        changes = contact_changes(self.simulator, self.physics, trajectories)
        given = int(np.sum(~self.loaded.held_out))
        return FloorContacts(fragments.count, int(np.sum(changes > 0)), given - fragments.count)


def identify(
    unloaded: Sequence[Recording],
    loaded: Sequence[Recording],
    settings: Settings,
    report: Callable[[str], Report] | None = None,
) -> Identification:
    """Runs the stages; `report(stage name)` gives the function that is called after every iteration."""
    started = time.monotonic()
    checks.check_inputs(unloaded, loaded, settings.stages, settings.payload_links)
    check_agreement([*unloaded, *loaded])
    simulator = build_simulator(loaded[0], settings.timestep_s, settings.friction_impedance)
    settings = replace(settings, timestep_s=float(simulator.model.opt.timestep))
    engine = make_engine(settings.engine, simulator)
    checks.check_links(simulator, settings.payload_links)
    run = _Run(settings, simulator, engine)
    with Workers(engine, processes=None if engine.forks else 1) as workers:
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
    stage = "stage 2" if stage1 else "the loaded recordings"
    found_doubts = _doubts_about(stage2, loaded_data, loaded, stage)
    if stage1 is not None and unloaded_data is not None:
        drag = doubts.drag_of(stage2, count)
        if drag is not None:
            stage2 = replace(stage2, covariance=drag.factor * stage2.covariance)
        far = [*doubts.beyond_prior(stage1, simulator.model), *doubts.rough_floor(stage1)]
        found_doubts = [
            *_doubts_about(stage1, unloaded_data, unloaded, "stage 1", far),
            *found_doubts,
            *([str(drag)] if drag is not None and drag.beyond_chance else []),
        ]
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
        doubts=tuple(found_doubts),
    )


def _doubts_about(
    fit: Fit, dataset: Dataset, recordings: Sequence[Recording], stage: str, further: Sequence[str] = ()
) -> list[str]:
    found = [*doubts.misfit(fit, dataset, stage), *doubts.unusual_stretches(fit, recordings, stage), *further]
    return found or doubts.disagreement(fit, stage)


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
            recordings,
            self.simulator,
            rows=s.rows,
            fragments_per_recording=s.fragments,
            held_out_share=s.held_out,
            residuals=parse_residuals(s.residuals),
        )

    def calibrate(self, dataset: Dataset, report: Report | None) -> Fit:
        """Stage 1."""
        nominal = self.simulator.nominal
        measured = dataset.fragments.torque_mode
        late = ("delay",) if measured and self.settings.base_parameters == BASE_PARAMETERS else ()
        columns = self._moving(choose_columns(nominal, (*self.settings.base_parameters, *late)))
        prior = (BasePrior() if self.settings.regulariser == "gaussian" else PaperRegulariser()).over(nominal, columns)
        own = parse_priors(self.settings.priors)
        prior, bounds = with_own(prior, columns, own)
        if measured:
            bounds = {i: _TORQUES_EARLY_LATE_S for i, column in enumerate(columns) if column.kind == "delay"} | bounds
        rotors = [i for i, column in enumerate(columns) if column.kind == "armature"]
        least = _LEAST_ROTOR_SHARE * nominal.values(columns)
        bounds = {i: (float(least[i]), np.inf) for i in rotors} | bounds
        unknowns = Unknowns(_first_guess(nominal, columns), columns, prior, bounds)
        if self.settings.solver != "lm" or self.settings.regulariser != "gaussian":
            return self._solve(dataset, unknowns, report)
        trace: Trace = []
        rounds = 0
        problem, z, states, iterations = self._approach_base(dataset, unknowns, trace, report)
        settled = {
            column.name for column in columns if any(fnmatchcase(whole_name(column), one.pattern) for one in own)
        }
        while True:
            wider = as_wide_as_the_robot(prior, columns, unknowns.decode(z), settled)
            problem = replace(problem, unknowns=Unknowns(unknowns.base, columns, wider, bounds))
            found = finish(problem, z, states, self.fit_settings, iterations, trace, report)
            again = as_wide_as_the_robot(prior, columns, found.values, settled)
            rounds += 1
            if rounds == _WIDENINGS or np.allclose(again.information, wider.information, rtol=0.5, atol=0.0):
                return dispersed(found, self.fit_settings, report)
            problem, z, states, iterations = found.problem, found.z, found.states, found.iterations

    def _approach_base(
        self, dataset: Dataset, unknowns: Unknowns, trace: Trace, report: Report | None
    ) -> tuple[Problem, np.ndarray, np.ndarray, int]:
        """Near stage 1's solution. The floor is free last: before the feet are where they stood, it would be bent to
        explain that they are not."""
        columns, settings = unknowns.columns, self.fit_settings
        firm = unknowns.without(FLOOR_KINDS)
        if len(firm) == len(unknowns):
            return approach(self.engine, dataset, unknowns, settings, trace, report, self.workers)
        problem, z, states, before = approach(self.engine, dataset, firm, settings, trace, report, self.workers)
        near = Unknowns(firm.physics(z), columns, unknowns.prior, unknowns.bounds)
        problem, z, states, more = released(problem, near, states, settings, trace, report, "floor free")
        return problem, z, states, before + more

    def find_payload(self, dataset: Dataset, stage1: Fit | None, report: Report | None) -> tuple[Fit, int]:
        """Stage 2, and how many of its columns are the payload's."""
        base = self.simulator.nominal if stage1 is None else stage1.physics
        columns = choose_columns(base, payload_patterns(self.settings))
        if self.settings.solver != "lm":
            found = self._solve(dataset, Unknowns(base, columns, no_prior(base, columns)), report)
            return found if stage1 is None else together(found, stage1), len(columns)
        trace: Trace = []
        settings = self.fit_settings
        problem, near, states, iterations = payload_approach(
            self.engine, dataset, base, columns, self.settings.payload_size_m, settings, trace, report, self.workers
        )
        unknowns = Unknowns(near, columns, body_prior(base, near, columns, self.settings.payload_size_m))
        if stage1 is not None and self.settings.base == "free":
            unknowns = with_base(unknowns, stage1)
        problem, z = replace(problem, unknowns=unknowns), unknowns.encode(near.values(unknowns.columns))
        found = dispersed(finish(problem, z, states, settings, iterations, trace, report), settings, report)
        if stage1 is not None and self.settings.base == "frozen":
            found = beside(found, stage1)
        return found, len(columns)

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
    readings = problem.predicted(solution.z, solution.states)
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
