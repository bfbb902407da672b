"""The engines beside each other: steps per second forward, seconds of a linearisation, and the gradient, on one set of
fragments of the loaded G1 in single and in double support; and what each identifies (engine_answers.py).

A linearisation is the data's part of the normal equations with every initial state among the unknowns, on all cores, as
the solver asks for it; engines without a reverse mode read the gradient off it. MJX comes last, since a process that
runs JAX is not forked any more (engines/workers.py), and compiles first; that time is reported separately.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from haloid.bench.engines.answers import Question, answers_table, furthest_apart
from haloid.bench.engines.scaling import FEW, MANY, PARAMETERS, moving_columns
from haloid.bench.outcome import Outcome, Target
from haloid.engines import ENGINES, make_engine
from haloid.engines.engine import Engine
from haloid.engines.simulate import Simulator
from haloid.engines.workers import Workers
from haloid.identify.data.dataset import Dataset, build_simulator, prepare
from haloid.identify.problem.priors import no_prior
from haloid.identify.problem.unknowns import Unknowns
from haloid.identify.solvers.fit import FitSettings, first_residual, make_problem
from haloid.lab.loads import halo_setting
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.report import Table

SUPPORTS: tuple[Literal["single", "double"], ...] = ("single", "double")


@dataclass(frozen=True)
class Engines:
    """Settings of `haloid bench engines`."""

    fragments: int = 16
    """Fragments of the recording."""
    rows: int = 20
    """Control steps of each."""
    repeats: int = 3
    """Times that everything is measured; the fastest counts."""
    mjx: bool = True
    """Whether the MJX engine takes part; it compiles for minutes."""
    out: Path = Path("out/bench/engines")
    """Directory for result.json."""


def run(config: Engines, say: Callable[[str], None]) -> Outcome:
    with_mjx = config.mjx and find_spec("jax") is not None and find_spec("mujoco.mjx") is not None
    if with_mjx:
        os.environ["JAX_ENABLE_X64"] = "1"
    data = {support: _data(config, support) for support in SUPPORTS}
    question = Question.of(config.fragments, config.rows)
    rows, answers, gradients = [], [], {}
    for name in [name for name in ENGINES if name != "mjx"] + ["mjx"] * with_mjx:
        for support, (simulator, dataset) in data.items():
            say(f"{support} support, {name}")
            row, gradients[support, name] = _measured(config, make_engine(name, simulator), dataset)
            rows.append({"support": support, "engine": name, **row})
            if name == "mjx":
                expected = gradients[support, "analytic"]
                error = np.abs(gradients[support, name] - expected).max() / np.abs(expected).max()
                rows[-1]["gradient_error"] = float(error)
        say(f"Setting 1 in double support, identified by {name}")
        answers.append(question.answer(name))
    rows.sort(key=lambda row: SUPPORTS.index(row["support"]))
    return _outcome(config, rows, answers, with_mjx)


def _data(config: Engines, support: Literal["single", "double"]) -> tuple[Simulator, Dataset]:
    recording, _ = record(LabRobot(support=support, loads=halo_setting(1)), Sensors(noise_rad=0.0005), seed=1)
    simulator = build_simulator(recording, 0.005)
    dataset = prepare(
        [recording], simulator, rows=config.rows, fragments_per_recording=config.fragments, held_out_share=0.0
    )
    return simulator, dataset


def _measured(config: Engines, engine: Engine, dataset: Dataset) -> tuple[dict[str, Any], np.ndarray]:
    """Seconds of each piece of work, and the gradient that it gives."""
    nominal, settings = engine.simulator.nominal, FitSettings(noise_rad=0.0005)
    q0, v0 = np.split(dataset.states, 2, axis=1)
    row: dict[str, Any] = {}
    first, again = _seconds(lambda: engine.predict(nominal, dataset.fragments, q0, v0), config.repeats)
    steps = dataset.fragments.count * dataset.fragments.rows * dataset.fragments.substeps
    row |= {"steps_per_second": steps / again, "compile_forward_s": max(0.0, first - again)}
    gradient = np.zeros(0)
    with Workers(engine, processes=None if engine.forks else 1) as workers:
        for parameters in (FEW, MANY):
            columns = moving_columns(engine.simulator, PARAMETERS[parameters])
            unknowns = Unknowns(nominal, columns, no_prior(nominal, columns))
            residual = first_residual(engine, dataset, settings)
            problem = make_problem(engine, dataset, unknowns, residual, settings, workers)
            z = unknowns.encode(nominal.values(columns))
            if parameters == FEW:
                first, again = _seconds(
                    lambda problem=problem, z=z: problem.gradient(z, dataset.states), config.repeats
                )
                row |= {"gradient_s": again, "compile_gradient_s": max(0.0, first - again)}
                gradient = problem.gradient(z, dataset.states)[1]
            if engine.reverse and parameters == MANY:  # compiles for minutes, and is not what the engine is for
                continue
            linearise = _seconds(lambda problem=problem, z=z: problem.linearise(z, dataset.states), config.repeats)
            row[f"linearise_{len(columns)}_s"] = min(linearise)
    return row, gradient


def _seconds(work: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Of the first time, and of the fastest of the others."""
    spent = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        work()
        spent.append(time.perf_counter() - started)
    return spent[0], min(spent[1:])


def _outcome(config: Engines, rows: list[dict[str, Any]], answers: list[dict[str, Any]], with_mjx: bool) -> Outcome:
    by = {(row["support"], row["engine"]): row for row in rows}

    def ratio(support: str, key: str) -> float:
        return by[support, "finite-difference"][key] / by[support, "analytic"][key]

    few, many = (next(k for k in rows[0] if k.startswith(f"linearise_{n}")) for n in ("12", "145"))
    headline = {
        "analytic_over_fd_12": ratio("double", few),
        "analytic_over_fd_145": ratio("double", many),
        "analytic_over_fd_12_single": ratio("single", few),
        "analytic_over_fd_145_single": ratio("single", many),
        "engines_apart_in_bounds": furthest_apart(answers),
    }
    targets = [
        Target(
            "double support, 12 parameters: times faster than differences", headline["analytic_over_fd_12"], 3, True
        ),
        Target("double support, 145 parameters: times faster", headline["analytic_over_fd_145"], 8, True),
    ]
    if with_mjx:
        headline["mjx_gradient_error"] = max(by[support, "mjx"]["gradient_error"] for support in SUPPORTS)
        times = min(by[s, "mjx"]["gradient_s"] / by[s, "analytic"]["gradient_s"] for s in SUPPORTS)
        headline["mjx_gradient_over_analytic_s"] = times
        targets += [
            Target("MJX gradient against analytic, relative", headline["mjx_gradient_error"], 1e-6),
            Target("times that the analytic gradient is faster than MJX's", times, 100, True),
        ]
    cells = [
        [
            row["support"],
            row["engine"],
            f"{row['steps_per_second']:,.0f}",
            *(f"{1e3 * row[key]:.0f}" if key in row else "–" for key in (few, many, "gradient_s")),
            f"{row['compile_forward_s'] + row['compile_gradient_s']:.0f}" if row["engine"] == "mjx" else "–",
        ]
        for row in rows
    ]
    table = Table(
        ["support", "engine", "steps/s", "12, ms", "145, ms", "gradient, ms", "compile, s"],
        cells,
        f"{config.fragments} fragments of {config.rows} control steps, all cores, fastest of {config.repeats}. "
        "12 and 145: a linearisation with this many parameters and all initial states; gradient: by 12 parameters "
        "at fixed states.",
    )
    notes = [] if with_mjx else ["without the MJX engine"]
    tables = [table, answers_table(answers, config.fragments, config.rows)]
    return Outcome(headline, rows + answers, tables, targets, notes)
