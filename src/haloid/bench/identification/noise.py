"""Errors against the Cramér–Rao bound, and how often the 95 % intervals hold the truth.

A new robot with HALO's Setting 1, one 10 s recording without velocities, new noise for every seed. The bound is
the inverse Fisher information of the same fragments at the true parameters and states, every initial state unknown.

`noise` is the clamped robot on one foot, at four levels. `double-support` is HALO's own way to stand, the other foot on
the floor: Settings 1 to 3, without noise and at 0.5 mrad.
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
from haloid.identify.results.answer import NORMAL_95
from haloid.identify.settings import Settings
from haloid.identify.stages import identify
from haloid.lab.loads import halo_setting
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.recordings.recording import Recording
from haloid.report import Table
from haloid.robots.inertia import read_links

LEVELS_RAD = (0.0002, 0.0005, 0.001, 0.005)
TARGET_LEVEL_RAD = 0.0005
SETTINGS = Settings(PAYLOAD_LINKS, payload_model="halo", stages="one", fragments=16, held_out=0.0)
LINK_COLUMNS = 4
"""Of a payload link: its mass and its CoM."""


@dataclass(frozen=True)
class Noise:
    """Settings of `haloid bench noise`."""

    seeds: int = 50
    """Recordings per noise level."""
    out: Path = Path("out/bench/noise")
    """Directory for result.json."""


@dataclass(frozen=True)
class DoubleSupport:
    """Settings of `haloid bench double-support`."""

    seeds: int = 10
    """Noisy recordings per perturbation setting."""
    settings: tuple[int, ...] = (1, 2, 3)
    """HALO's perturbation settings on torso and hands."""
    out: Path = Path("out/bench/double-support")
    """Directory for result.json."""


def run(config: Noise | DoubleSupport, say: Callable[[str], None]) -> Outcome:
    return _one_foot(config, say) if isinstance(config, Noise) else _both_feet(config, say)


def _one_foot(config: Noise, say: Callable[[str], None]) -> Outcome:
    robot = LabRobot(loads=halo_setting(1))
    clean = clean_recording(robot)
    rows = [_row(robot, clean, level, config.seeds, say) for level in LEVELS_RAD]
    main = next(row for row in rows if row["noise_rad"] == TARGET_LEVEL_RAD)
    headline = {"rms_over_bound": main["rms_over_bound"], "coverage95": main["coverage95"]}
    table = Table(
        ["noise mrad", "RMS / bound", "coverage 95 %", "torso g (bound)", "left hand g (bound)"],
        [[f"{1e3 * row['noise_rad']:g}", *_cells(row)] for row in rows],
        f"{config.seeds} seeds per level, twelve parameters, one 10 s recording, velocities not given.",
    )
    return Outcome(headline, rows, [table], _targets(headline, times_bound=1.2))


def _both_feet(config: DoubleSupport, say: Callable[[str], None]) -> Outcome:
    rows = []
    for setting in config.settings:
        robot = LabRobot(support="double", loads=halo_setting(setting))
        clean, which = clean_recording(robot), f"Setting {setting}"
        exact = _row(robot, clean, 0.0, 1, lambda what, which=which: say(f"{which}, {what}"))
        noisy = _row(robot, clean, TARGET_LEVEL_RAD, config.seeds, lambda what, which=which: say(f"{which}, {what}"))
        rows += [{"setting": setting, **row} for row in (exact, noisy)]
    exact, noisy = ([row for row in rows if (row["noise_rad"] > 0) == with_noise] for with_noise in (False, True))
    headline = {
        "noise_free_mass_error_kg": max(row["worst_mass_error_kg"] for row in exact),
        "noise_free_com_error_m": max(row["worst_com_error_m"] for row in exact),
        "rms_over_bound": float(np.sqrt(np.mean([row["rms_over_bound"] ** 2 for row in noisy]))),
        "coverage95": float(np.mean([row["coverage95"] for row in noisy])),
    }
    targets = [
        Target("without noise, worst mass error, kg", headline["noise_free_mass_error_kg"], 0.001),
        Target("without noise, worst CoM error, m", headline["noise_free_com_error_m"], 0.0001),
        *_targets(headline, times_bound=1.5),
    ]
    tables = [
        Table(
            [
                "setting",
                "RMS / bound",
                "coverage 95 %",
                "torso g (bound)",
                "left hand g (bound)",
                "fitted",
                "switching",
            ],
            [[f"{row['setting']}", *_cells(row), *_contact_cells(row)] for row in noisy],
            f"{1e3 * TARGET_LEVEL_RAD:g} mrad, {config.seeds} seeds per setting, twelve parameters, one 10 s recording "
            f"cut into {SETTINGS.fragments} fragments, velocities not given. Fitted: fragments on average, of which "
            "switching: in which a point of the sole comes to the floor or leaves it. The bound is that of all.",
        ),
        Table(
            ["setting", "mass g", "CoM µm", "fitted", "switching"],
            [
                [
                    f"{row['setting']}",
                    f"{1e3 * row['worst_mass_error_kg']:.1e}",
                    f"{1e6 * row['worst_com_error_m']:.1e}",
                    *_contact_cells(row),
                ]
                for row in exact
            ],
            "Without noise: the worst link's errors.",
        ),
    ]
    return Outcome(headline, rows, tables, targets)


def clean_recording(robot: LabRobot) -> Recording:
    return record(robot, Sensors(quantise=False, measure_velocity=True), seed=1)[0]


def _row(robot: LabRobot, clean: Recording, level: float, seeds: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Errors of one recording with noise drawn anew for every seed; without noise there is no bound to compare with."""
    best = cramer_rao_bound(clean, read_links(robot.built.model), SETTINGS, level or TARGET_LEVEL_RAD)
    blind = replace(clean, dq_rad_s=None)
    errors, stds, contacts = [], [], []
    for seed in range(seeds):
        say(f"{1e3 * level:g} mrad, seed {seed + 1} of {seeds}")
        rng = np.random.default_rng((seed, int(1e7 * level)))
        noisy = replace(blind, q_rad=blind.q_rad + level * rng.standard_normal(blind.q_rad.shape))
        found = identify([], [noisy], SETTINGS)
        errors.append(found.stage2.values - best.truth)
        stds.append(found.stage2.std)
        contacts.append(found.contact)
    error, std = np.array(errors), np.array(stds)
    by_link = error.reshape(len(error), -1, LINK_COLUMNS)
    row: dict[str, Any] = {
        "noise_rad": level,
        "seeds": seeds,
        "parameters": list(best.names),
        "rms_error": np.sqrt(np.mean(error**2, axis=0)).tolist(),
        "worst_mass_error_kg": float(np.abs(by_link[..., 0]).max()),
        "worst_com_error_m": float(np.linalg.norm(by_link[..., 1:], axis=2).max()),
    }
    if level:
        row |= {
            "bound": best.std.tolist(),
            "rms_over_bound": float(np.sqrt(np.mean((error / best.std) ** 2))),
            "rms_over_bound_by_parameter": np.sqrt(np.mean((error / best.std) ** 2, axis=0)).tolist(),
            "coverage95": float(np.mean(np.abs(error) <= NORMAL_95 * std)),
        }
    if robot.support == "double":
        row |= {
            "fragments_fitted": float(np.mean([contact.fragments for contact in contacts])),
            "fragments_switching": float(np.mean([contact.switching for contact in contacts])),
        }
    return row


def _targets(headline: dict[str, float], times_bound: float) -> list[Target]:
    return [
        Target("RMS error over the Cramér–Rao bound at 0.5 mrad", headline["rms_over_bound"], times_bound),
        Target("coverage of the 95 % intervals at 0.5 mrad", headline["coverage95"], 0.90, at_least=True),
        Target("coverage of the 95 % intervals at 0.5 mrad", headline["coverage95"], 0.99),
    ]


def _cells(row: dict[str, Any]) -> list[str]:
    torso, left, _ = (row["parameters"].index(f"{link}.mass") for link in PAYLOAD_LINKS)
    return [
        f"{row['rms_over_bound']:.2f}",
        f"{100 * row['coverage95']:.1f}",
        *(f"{1e3 * row['rms_error'][i]:.1f} ({1e3 * row['bound'][i]:.1f})" for i in (torso, left)),
    ]


def _contact_cells(row: dict[str, Any]) -> list[str]:
    return [f"{row['fragments_fitted']:.1f}", f"{row['fragments_switching']:.1f}"]
