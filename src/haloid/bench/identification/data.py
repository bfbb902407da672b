"""How much data is enough: error against seconds of recording, beside the Cramér–Rao bound.

A new robot with HALO's Setting 1, 0.5 mrad of encoder noise, no velocities. Pieces of 1 to 60 s are cut from a long
multi-sine after its ramp; one fragment of 0.4 s for every 0.4 s, so that all of a piece is used once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from haloid.bench.identification.table2 import PAYLOAD_LINKS
from haloid.bench.outcome import Outcome, Target
from haloid.identify.inspection.bound import cramer_rao_bound
from haloid.identify.settings import Settings
from haloid.identify.stages import identify
from haloid.lab.excitation import Excitation
from haloid.lab.loads import halo_setting
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.recordings.recording import Recording
from haloid.report import Table
from haloid.robots.inertia import read_links

LENGTHS_S = (1, 2, 5, 10, 20, 40, 60)
NOISE_RAD = 0.0005
ENOUGH_KG = 0.010
_RAMP_S = 1.0


@dataclass(frozen=True)
class Data:
    """Settings of `haloid bench data`."""

    seeds: int = 4
    """Recordings of every length."""
    out: Path = Path("out/bench/data")
    """Directory for result.json."""


def run(config: Data, say: Callable[[str], None]) -> Outcome:
    robot = LabRobot(loads=halo_setting(1))
    links = read_links(robot.built.model)
    longest = Excitation(duration_s=max(LENGTHS_S) + 2 * _RAMP_S, ramp_s=_RAMP_S)
    errors: dict[int, list[np.ndarray]] = {length_s: [] for length_s in LENGTHS_S}
    bounds: dict[int, list[np.ndarray]] = {length_s: [] for length_s in LENGTHS_S}
    names: tuple[str, ...] = ()
    for seed in range(config.seeds):
        clean, _ = record(robot, Sensors(quantise=False, measure_velocity=True), longest, seed=seed)
        for length_s in LENGTHS_S:
            say(f"seed {seed + 1} of {config.seeds}, {length_s} s")
            piece = _piece(clean, length_s)
            settings = _settings(piece)
            bound = cramer_rao_bound(piece, links, settings, NOISE_RAD)
            rng = np.random.default_rng((seed, length_s))
            noise_rad = NOISE_RAD * rng.standard_normal(piece.q_rad.shape)
            found = identify([], [replace(piece, q_rad=piece.q_rad + noise_rad, dq_rad_s=None)], settings)
            errors[length_s].append(found.stage2.values - bound.truth)
            bounds[length_s].append(bound.std)
            names = bound.names
    rows = [_row(length_s, np.array(errors[length_s]), np.array(bounds[length_s]), names) for length_s in LENGTHS_S]
    headline = {
        "seconds_to_10_g_hand": _first_enough(rows),
        "rms_over_bound": float(np.sqrt(np.mean([row["rms_over_bound"] ** 2 for row in rows]))),
    }
    targets = [Target("RMS error over the Cramér–Rao bound, all lengths", headline["rms_over_bound"], 1.2)]
    return Outcome(headline, rows, [_table(rows, config.seeds)], targets)


def _piece(recording: Recording, length_s: int) -> Recording:
    """The first seconds after the ramp."""
    dt_s = recording.control_dt_s
    rows = slice(round(_RAMP_S / dt_s), round((_RAMP_S + length_s) / dt_s))
    assert recording.target_rad is not None and recording.dq_rad_s is not None
    return replace(
        recording,
        time_s=recording.time_s[rows],
        q_rad=recording.q_rad[rows],
        target_rad=recording.target_rad[rows],
        dq_rad_s=recording.dq_rad_s[rows],
    )


def _settings(piece: Recording) -> Settings:
    settings = Settings(PAYLOAD_LINKS, payload_model="halo", stages="one", held_out=0.0)
    return replace(settings, fragments=max(1, len(piece.time_s) // settings.rows))


def _row(length_s: int, error: np.ndarray, bound: np.ndarray, names: tuple[str, ...]) -> dict[str, Any]:
    hands = [names.index(f"{link}.mass") for link in PAYLOAD_LINKS[1:]]
    return {
        "seconds": length_s,
        "seeds": len(error),
        "parameters": list(names),
        "bound": np.sqrt(np.mean(bound**2, axis=0)).tolist(),
        "rms_error": np.sqrt(np.mean(error**2, axis=0)).tolist(),
        "rms_over_bound": float(np.sqrt(np.mean((error / bound) ** 2))),
        "hands_rms_error_kg": float(np.sqrt(np.mean(error[:, hands] ** 2))),
        "hands_bound_kg": float(np.sqrt(np.mean(bound[:, hands] ** 2))),
    }


def _first_enough(rows: list[dict[str, Any]]) -> float:
    """The shortest length from which on the hands' masses are within 10 g; twice the longest if none is."""
    enough = 2.0 * rows[-1]["seconds"]
    for row in reversed(rows):
        if row["hands_rms_error_kg"] > ENOUGH_KG:
            break
        enough = float(row["seconds"])
    return enough


def _table(rows: list[dict[str, Any]], seeds: int) -> Table:
    torso_mass, torso_x = (f"{PAYLOAD_LINKS[0]}.{what}" for what in ("mass", "com.x"))

    def with_bound(row: dict[str, Any], name: str) -> str:
        i = row["parameters"].index(name)
        return f"{1e3 * row['rms_error'][i]:.3g} ({1e3 * row['bound'][i]:.3g})"

    return Table(
        ["seconds", "torso g (bound)", "torso x mm (bound)", "hands g (bound)", "RMS / bound"],
        [
            [
                row["seconds"],
                with_bound(row, torso_mass),
                with_bound(row, torso_x),
                f"{1e3 * row['hands_rms_error_kg']:.2g} ({1e3 * row['hands_bound_kg']:.2g})",
                f"{row['rms_over_bound']:.2f}",
            ]
            for row in rows
        ],
        f"Root-mean-square errors over {seeds} seeds, twelve parameters, {1e3 * NOISE_RAD:g} mrad.",
    )
