"""What a Jacobian costs: seconds against the number of parameters, fragments and control steps.

The clamped G1 without friction, one process. All sizes are measured in turns, several times over, and the fastest of
each counts, so that other work on the machine does not decide a ratio.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from haloid.bench.identification.table2 import PAYLOAD_LINKS
from haloid.bench.outcome import Outcome, Target
from haloid.engines.analytic import AnalyticEngine
from haloid.engines.engine import Engine
from haloid.engines.finite_difference import FiniteDifferenceEngine
from haloid.engines.physics import Column
from haloid.engines.simulate import Simulator
from haloid.identify.data.dataset import Dataset, build_simulator, prepare
from haloid.identify.problem.unknowns import choose_columns
from haloid.lab.excitation import Excitation
from haloid.lab.loads import halo_setting
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.report import Table

PARAMETERS = {
    "three links' mass and CoM": tuple(f"{link}.{kind}" for link in PAYLOAD_LINKS for kind in ("mass", "com")),
    "every mass, every damping": ("*.mass", "*.damping"),
    "every mass, CoM and damping": ("*.mass", "*.com", "*.damping"),
    "and every armature, kp": ("*.mass", "*.com", "*.damping", "*.armature", "*.kp"),
    "every mass, CoM and inertia": ("*.mass", "*.com", "*.inertia"),
}
FEW, MANY = "three links' mass and CoM", "every mass, CoM and damping"
FRAGMENTS = (1, 2, 4, 8, 16, 32)
ROWS = (1, 4, 10, 20, 40)
_SPARE_S = 2.0
"""A recording's edges start no fragment."""


@dataclass(frozen=True)
class Scaling:
    """Settings of `haloid bench scaling`."""

    fragments: int = 8
    """Fragments of the rows that vary something else."""
    rows: int = 20
    """Control steps of the rows that vary something else."""
    repeats: int = 7
    """Times that everything is measured, in turns; the fastest counts."""
    out: Path = Path("out/bench/scaling")
    """Directory for result.json."""


@dataclass(frozen=True)
class _Case:
    varied: str
    what: str
    engine: Engine
    columns: list[Column]
    fragments: int
    rows: int


def run(config: Scaling, say: Callable[[str], None]) -> Outcome:
    robot = LabRobot(loads=halo_setting(1))
    most_rows, most_fragments = max(*ROWS, config.rows), max(*FRAGMENTS, config.fragments)
    long = Excitation(duration_s=most_fragments * (most_rows + 1) * robot.control_dt_s + _SPARE_S)
    recording, _ = record(robot, Sensors(noise_rad=0.0005), long, seed=1)
    simulator = build_simulator(recording, robot.timestep_s)
    simulator.use_one_thread()
    dataset = prepare(
        [recording], simulator, rows=most_rows, fragments_per_recording=most_fragments, held_out_share=0.0
    )
    cases = _cases(config, simulator)
    fastest = [np.inf] * len(cases)
    with threadpool_limits(1):
        for repeat in range(config.repeats):
            for i, case in enumerate(cases):
                say(f"round {repeat + 1} of {config.repeats}, {case.engine.name}, {case.varied}: {case.what}")
                if repeat > 0 and case.engine.name == FiniteDifferenceEngine.name and len(case.columns) > 100:
                    continue  # slow, and there only for its order of magnitude
                fastest[i] = min(fastest[i], _seconds(case, dataset, simulator))
    rows = [_row(case, seconds) for case, seconds in zip(cases, fastest, strict=True)]
    return _outcome(config, rows)


def _cases(config: Scaling, simulator: Simulator) -> list[_Case]:
    analytic, differences = AnalyticEngine(simulator), FiniteDifferenceEngine(simulator)
    columns = {name: moving_columns(simulator, patterns) for name, patterns in PARAMETERS.items()}
    cases = [
        _Case("parameters", name, analytic, chosen, config.fragments, config.rows) for name, chosen in columns.items()
    ]
    cases += [
        _Case("parameters", name, differences, columns[name], config.fragments, config.rows) for name in (FEW, MANY)
    ]
    cases += [
        _Case("fragments", f"{count} fragments", analytic, columns[FEW], count, config.rows) for count in FRAGMENTS
    ]
    cases += [_Case("rows", f"{rows} control steps", analytic, columns[FEW], config.fragments, rows) for rows in ROWS]
    return cases


def moving_columns(simulator: Simulator, patterns: tuple[str, ...]) -> list[Column]:
    """The columns of links that are not clamped."""
    model = simulator.model
    fixed = {name for name in simulator.nominal.links if model.body_weldid[model.body(name).id] == 0}
    return [column for column in choose_columns(simulator.nominal, patterns) if column.owner not in fixed]


def _seconds(case: _Case, dataset: Dataset, simulator: Simulator) -> float:
    fragments = dataset.fragments.chosen(np.arange(case.fragments)).shortened(case.rows)
    states, n = dataset.states[: case.fragments], len(simulator.dof_joints)
    started = time.perf_counter()
    case.engine.jacobian(simulator.nominal, case.columns, fragments, states[:, :n], states[:, n:])
    return time.perf_counter() - started


def _row(case: _Case, seconds: float) -> dict[str, Any]:
    return {
        "varied": case.varied,
        "what": case.what,
        "engine": case.engine.name,
        "parameters": len(case.columns),
        "fragments": case.fragments,
        "rows": case.rows,
        "seconds": seconds,
    }


def _outcome(config: Scaling, rows: list[dict[str, Any]]) -> Outcome:
    def seconds(what: str, engine: str) -> float:
        return next(row["seconds"] for row in rows if (row["what"], row["engine"]) == (what, engine))

    few, many = (seconds(what, AnalyticEngine.name) for what in (FEW, MANY))
    headline = {
        "jacobian_145_over_12": many / few,
        "times_faster_than_differences_12": seconds(FEW, FiniteDifferenceEngine.name) / few,
        "times_faster_than_differences_145": seconds(MANY, FiniteDifferenceEngine.name) / many,
    }
    table = Table(
        ["by", "engine", "columns", "fragments", "steps", "ms", "ratio"],
        [
            [
                row["what"],
                row["engine"].replace("finite-", ""),
                row["parameters"],
                row["fragments"],
                row["rows"],
                f"{1e3 * row['seconds']:.1f}",
                f"{row['seconds'] / few:.2f}",
            ]
            for row in rows
        ],
        f"One Jacobian by all parameters and the initial states, one process, fastest of {config.repeats}. "
        "Ratio: to the first row. Columns: parameters; steps: control steps.",
    )
    targets = [Target("Jacobian by 145 parameters over 12", headline["jacobian_145_over_12"], 2)]
    return Outcome(headline, rows, [table], targets)
