"""Errors against the Cramér–Rao bound, and how often the 95 % intervals hold the truth.

A new robot with HALO's Setting 1, one 10 s recording without velocities, noise drawn anew for every seed. The bound is
the inverse Fisher information of the same fragments at the true parameters and states, every initial state unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from haloid.bench.identification.table2 import PAYLOAD_LINKS
from haloid.bench.outcome import Outcome, Target
from haloid.identify.inspection.bound import cramer_rao_bound
from haloid.identify.results.answer import NORMAL_95
from haloid.identify.stages import Settings, identify
from haloid.lab.loads import halo_setting
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.report import Table
from haloid.robots.inertia import read_links

LEVELS_RAD = (0.0002, 0.0005, 0.001, 0.005)
TARGET_LEVEL_RAD = 0.0005
SETTINGS = Settings(PAYLOAD_LINKS, payload_model="halo", stages="one", fragments=16, held_out=0.0)


@dataclass(frozen=True)
class Noise:
    """Settings of `haloid bench noise`."""

    seeds: int = 50
    """Recordings per noise level."""
    out: Path = Path("out/bench/noise")
    """Directory for result.json."""


def run(config: Noise, say: Callable[[str], None]) -> Outcome:
    robot = LabRobot(loads=halo_setting(1))
    clean, _ = record(robot, Sensors(quantise=False, measure_velocity=True), seed=1)
    blind = replace(clean, dq_rad_s=None)
    rows = []
    for level in LEVELS_RAD:
        best = cramer_rao_bound(clean, read_links(robot.built.model), SETTINGS, level)
        bound, truth, names = best.std, best.truth, list(best.names)
        errors, stds = [], []
        for seed in range(config.seeds):
            say(f"{1e3 * level:g} mrad, seed {seed + 1} of {config.seeds}")
            rng = np.random.default_rng((seed, int(1e7 * level)))
            noisy = replace(blind, q_rad=blind.q_rad + level * rng.standard_normal(blind.q_rad.shape))
            found = identify([], [noisy], SETTINGS)
            errors.append(found.stage2.values - truth)
            stds.append(found.stage2.std)
        error, std = np.array(errors), np.array(stds)
        rows.append(
            {
                "noise_rad": level,
                "seeds": config.seeds,
                "parameters": names,
                "bound": bound.tolist(),
                "rms_error": np.sqrt(np.mean(error**2, axis=0)).tolist(),
                "rms_over_bound": float(np.sqrt(np.mean((error / bound) ** 2))),
                "rms_over_bound_by_parameter": np.sqrt(np.mean((error / bound) ** 2, axis=0)).tolist(),
                "coverage95": float(np.mean(np.abs(error) <= NORMAL_95 * std)),
            }
        )
    main = next(row for row in rows if row["noise_rad"] == TARGET_LEVEL_RAD)
    headline = {"rms_over_bound": main["rms_over_bound"], "coverage95": main["coverage95"]}
    targets = [
        Target("RMS error over the Cramér–Rao bound at 0.5 mrad", headline["rms_over_bound"], 1.2),
        Target("coverage of the 95 % intervals at 0.5 mrad", headline["coverage95"], 0.90, at_least=True),
        Target("coverage of the 95 % intervals at 0.5 mrad", headline["coverage95"], 0.99),
    ]
    torso, left, _ = (names.index(f"{link}.mass") for link in PAYLOAD_LINKS)
    table = Table(
        ["noise mrad", "RMS / bound", "coverage 95 %", "torso g (bound)", "left hand g (bound)"],
        [
            [
                f"{1e3 * row['noise_rad']:g}",
                f"{row['rms_over_bound']:.2f}",
                f"{100 * row['coverage95']:.1f}",
                *(f"{1e3 * row['rms_error'][i]:.1f} ({1e3 * row['bound'][i]:.1f})" for i in (torso, left)),
            ]
            for row in rows
        ],
        f"{config.seeds} seeds per level, twelve parameters, one 10 s recording, velocities not given.",
    )
    return Outcome(headline, rows, [table], targets)
