"""haloid against mujoco.sysid on the same fragments in one run, and against CMA-ES at the paper's budget.

A new G1 with HALO's Setting 1, left foot clamped, one 10 s recording per seed, velocities not logged; mass and CoM of
three links. mujoco.sysid takes initial states as given, so it gets the smoothed ones that haloid starts from, which is
what its users have; further rows give it the true ones, which nobody has, and what its hooks allow an expert.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from haloid.bench.identification import mujoco_sysid
from haloid.bench.identification.table2 import PAYLOAD_LINKS
from haloid.bench.outcome import Outcome, Target
from haloid.errors import HaloidError
from haloid.extras import install_command
from haloid.identify.results.answer import NORMAL_95
from haloid.identify.settings import Settings
from haloid.identify.solvers import paper_solvers
from haloid.identify.stages import Identification, identify
from haloid.lab.loads import halo_setting
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.lab.truth import Truth
from haloid.recordings.recording import Recording
from haloid.report import Table

HALOID = "haloid"
SHIPPED = "mujoco.sysid"
SHIPPED_TRUE = "mujoco.sysid, true states"
EXPERT = "mujoco.sysid, expert"
EXPERT_TRUE = "mujoco.sysid, expert, true states"
_EXPERT_HOOKS = {"write_arrays": True, "in_radians": True}
_PAPER_EVALUATIONS = paper_solvers.POPULATION * paper_solvers.ITERATIONS
_TIMED_GENERATIONS = 20


@dataclass(frozen=True)
class Sysid:
    """Settings of `haloid bench sysid`."""

    fragments: int = 16
    """Fragments of the recording."""
    rows: int = 20
    """Control steps of a fragment."""
    noise: float = 0.0005
    """Encoder noise, rad."""
    seeds: int = 3
    """Recordings, each identified in every way."""
    sysid_iterations: int = 200
    """At most this many iterations of mujoco.sysid (its own default)."""
    out: Path = Path("out/bench/sysid")
    """Directory for result.json."""


@dataclass(frozen=True)
class _Found:
    error: np.ndarray
    """(4·links,) mass in kg and CoM in m, link by link."""
    interval95: np.ndarray
    iterations: int
    seconds: float
    finished: bool


def run(config: Sysid, say: Callable[[str], None]) -> Outcome:
    mujoco_sysid.load_sysid()
    _check_cma()
    robot = LabRobot(loads=halo_setting(1))
    found: dict[str, list[_Found]] = {}
    identification = None
    for seed in range(1, config.seeds + 1):
        recording, truth = record(robot, Sensors(noise_rad=config.noise), seed=seed)
        true = _true_values(truth)
        say(f"recording {seed} of {config.seeds}: {HALOID}")
        identification, ours = _haloid(recording, true, config)
        found.setdefault(HALOID, []).append(ours)
        smoothed, exact = identification.loaded.states, _true_states(identification, recording, truth)
        for name, states, hooks in (
            (SHIPPED, smoothed, {}),
            (SHIPPED_TRUE, exact, {}),
            (EXPERT, smoothed, _EXPERT_HOOKS),
            (EXPERT_TRUE, exact, _EXPERT_HOOKS),
        ):
            what = f"recording {seed} of {config.seeds}: {name}"
            say(what)
            peer = mujoco_sysid.fit(
                recording,
                identification.loaded.fragments,
                states,
                PAYLOAD_LINKS,
                iterations=config.sysid_iterations,
                progress=lambda i, what=what: say(f"{what}, iteration {i}"),
                **hooks,
            )
            error = peer.values - true
            found.setdefault(name, []).append(
                _Found(error, peer.interval95, peer.iterations, peer.seconds, peer.finished)
            )
    assert identification is not None
    say("CMA-ES")
    return _outcome(config, found, _cma_seconds(identification))


def _outcome(config: Sysid, found: dict[str, list[_Found]], cma_seconds: float) -> Outcome:
    rows = [_row(name, results, found[HALOID]) for name, results in found.items()]
    shipped = next(row for row in rows if row["method"] == SHIPPED)
    ours = rows[0]
    headline = {
        "times_faster": shipped["seconds_over_haloid"],
        "error_over_sysid": max(ours[key] / shipped[key] for key in ("rms_mass_kg", "rms_com_m")),
        "times_faster_than_cma": cma_seconds / ours["seconds"],
    }
    rows.append(
        {
            "method": f"CMA-ES, {_PAPER_EVALUATIONS:,} evaluations, extrapolated",
            "seconds": cma_seconds,
            "seconds_over_haloid": headline["times_faster_than_cma"],
        }
    )
    targets = [
        Target("times faster than mujoco.sysid as shipped", headline["times_faster"], 20, at_least=True),
        Target(
            "error over that of mujoco.sysid as shipped (the worse of mass and CoM)", headline["error_over_sysid"], 1
        ),
        Target("times faster than CMA-ES at the paper's budget", headline["times_faster_than_cma"], 100, at_least=True),
    ]
    notes = [
        f"CMA-ES: {_TIMED_GENERATIONS} generations of {paper_solvers.POPULATION} were timed and scaled to the paper's "
        f"{paper_solvers.ITERATIONS:,}; it was not run to the end.",
        "The robot has no meshes: with meshes, mujoco.sysid as shipped recompiles for longer.",
    ]
    notes += [
        f"{row['method']} was stopped at {config.sysid_iterations} iterations."
        for row in rows
        if not row.get("finished", True)
    ]
    return Outcome(headline, rows, [_methods_table(config, rows), _parameters_table(found)], targets, notes)


def _row(name: str, results: list[_Found], ours: list[_Found]) -> dict[str, Any]:
    error = np.array([result.error for result in results]).reshape(len(results), -1, 4)
    covered = [np.abs(result.error) <= result.interval95 for result in results]
    return {
        "method": name,
        "seconds": median(result.seconds for result in results),
        "seconds_over_haloid": median(result.seconds / our.seconds for result, our in zip(results, ours, strict=True)),
        "iterations": median(result.iterations for result in results),
        "rms_mass_kg": float(np.sqrt(np.mean(error[..., 0] ** 2))),
        "rms_com_m": float(np.sqrt(np.mean(error[..., 1:] ** 2))),
        "coverage95": float(np.mean(covered)),
        "finished": all(result.finished for result in results),
        "parameters": _parameter_names(),
        "errors": [result.error.tolist() for result in results],
        "interval95": [result.interval95.tolist() for result in results],
    }


def _methods_table(config: Sysid, rows: list[dict[str, Any]]) -> Table:
    def cells(row: dict[str, Any]) -> list[str]:
        start = [row["method"], f"{row['seconds']:.3g}", f"{row['seconds_over_haloid']:.3g}"]
        if "errors" not in row:
            return [*start, "", "", "", ""]
        return [
            *start,
            f"{row['iterations']:g}",
            f"{1e3 * row['rms_mass_kg']:.1f}",
            f"{1e3 * row['rms_com_m']:.2f}",
            f"{100 * row['coverage95']:.0f}",
        ]

    return Table(
        ["method", "seconds", "over haloid", "iterations", "mass g rms", "CoM mm rms", "in 95 % interval"],
        [cells(row) for row in rows],
        f"{config.seeds} recordings, {config.fragments} fragments of {config.rows} control steps, "
        f"{1e3 * config.noise:g} mrad. Expert: arrays written instead of recompiling, residuals in radians.",
    )


def _parameters_table(found: dict[str, list[_Found]]) -> Table:
    """Errors and half intervals of the first recording, in g and mm."""
    shown = (HALOID, SHIPPED, SHIPPED_TRUE)
    return Table(
        ["parameter", *shown],
        [
            [name, *(f"{1e3 * found[m][0].error[i]:.2f} ± {1e3 * found[m][0].interval95[i]:.2f}" for m in shown)]
            for i, name in enumerate(_parameter_names())
        ],
        "First recording: error ± half the 95 % interval, g and mm.",
    )


def _haloid(recording: Recording, true: np.ndarray, config: Sysid) -> tuple[Identification, _Found]:
    settings = Settings(
        PAYLOAD_LINKS, payload_model="halo", stages="one", fragments=config.fragments, rows=config.rows, held_out=0.0
    )
    started = time.monotonic()
    identification = identify([], [recording], settings)
    seconds = time.monotonic() - started
    stage = identification.stage2
    assert [column.name for column in stage.unknowns.columns] == _parameter_names()
    error = stage.values - true
    return identification, _Found(error, NORMAL_95 * stage.std, stage.iterations, seconds, stage.converged)


def _cma_seconds(identification: Identification) -> float:
    """Seconds of the paper's 20,000 evaluations, from those of a few generations after the first."""
    times = []
    paper_solvers.cma_es(
        identification.stage2.problem,
        identification.loaded.states,
        seed=0,
        iterations=_TIMED_GENERATIONS + 1,
        progress=lambda *_: times.append(time.monotonic()),
    )
    return (times[-1] - times[0]) / (len(times) - 1) * paper_solvers.ITERATIONS


def _true_values(truth: Truth) -> np.ndarray:
    links = [truth.links[link] for link in PAYLOAD_LINKS]
    return np.concatenate([[link.mass_kg, *link.com_in_link_m] for link in links])


def _true_states(found: Identification, recording: Recording, truth: Truth) -> np.ndarray:
    order = [recording.joint_names.index(joint) for joint in found.simulator.dof_joints]
    rows, playback = found.loaded.fragments.start_row, truth.playback
    return np.concatenate([playback.q_rad[rows][:, order], playback.dq_rad_s[rows][:, order]], axis=1)


def _parameter_names() -> list[str]:
    return [f"{link}.{name}" for link in PAYLOAD_LINKS for name in ("mass", "com.x", "com.y", "com.z")]


def _check_cma() -> None:
    try:
        import cma  # noqa: F401
    except ImportError as error:
        raise HaloidError(f"the comparison with CMA-ES needs the package cma: {install_command('search')}") from error
