"""Logs of a real arm: every run in turn is held out of the calibration and then replayed on the model as it was
written.

The arm is an SO-101 (six STS3215 servos, 50 Hz, encoders of 1.5 mrad), logged by SAGE. Its model's servos are 70 times
too stiff, and the search is started from other wrong gains, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from haloid.bench.outcome import Outcome, Target
from haloid.errors import HaloidError
from haloid.identify.calibration.calibrate import CalibrationSettings, calibrate
from haloid.identify.calibration.files import write_calibration
from haloid.identify.replay import replay, replay_nominal, rms
from haloid.recordings.logs.convert import LogOptions, read_log
from haloid.recordings.recording import Recording
from haloid.report import Table


@dataclass(frozen=True)
class RealArm:
    """Settings of `haloid bench real-arm`."""

    logs: Path = Path("../shared/data/logs/so101")
    """Folder with one SAGE folder per run."""
    robot: str = "so101"
    start_gains: tuple[float, ...] = (998.0, 200.0, 30.0, 5.0)
    """N·m/rad: gains that the recordings claim."""
    runs: int | None = None
    """Only the first of them."""
    out: Path = Path("out/bench/real-arm")
    """Directory for result.json."""


def run(config: RealArm, say: Callable[[str], None]) -> Outcome:
    recordings = read_runs(config)
    nominal = {one.name: float(rms(one.error_rad)) for one in replay_nominal(recordings)}
    rows = []
    for gain in config.start_gains:
        started = [replace(one, kp=np.full(len(one.joint_names), gain)) for one in recordings]
        for held in started:
            say(f"from {gain:g} N·m/rad, without {held.name}")
            rows.append(_left_out(held, [one for one in started if one is not held], nominal[held.name], gain))
    ratios = {gain: _ratio([row for row in rows if row["start_gain"] == gain]) for gain in config.start_gains}
    covered = float(np.average([row["coverage95"] for row in rows], weights=[row["samples"] for row in rows]))
    slowest = max(row["fit_seconds"] for row in rows)
    headline = {
        "calibrated_over_nominal": max(ratios.values()),
        "coverage95": covered,
        "fit_seconds": float(np.median([row["fit_seconds"] for row in rows])),
    }
    table = Table(
        ["run held out", "nominal mrad", *(f"from kp {gain:g}" for gain in config.start_gains), "in 95 %"],
        [
            [
                one.name,
                f"{1e3 * nominal[one.name]:.1f}",
                *(f"{1e3 * row['rms_rad']:.1f}" for row in rows if row["run"] == one.name),
                f"{100 * np.mean([row['coverage95'] for row in rows if row['run'] == one.name]):.0f} %",
            ]
            for one in recordings
        ],
        "Rms over all joints of a whole run, replayed on calibrated.xml as written by a calibration on the other runs.",
    )
    targets = [
        Target("replay gap over the nominal model's, worst start gain", headline["calibrated_over_nominal"], 0.30),
        Target("share of held-out readings in their 95 % interval", covered, 0.85, at_least=True),
        Target("share of held-out readings in their 95 % interval", covered, 0.99),
    ]
    seconds = sum(len(one.time_s) * one.control_dt_s for one in recordings)
    note = f"{seconds:.0f} s of recordings; the slowest of {len(rows)} fits took {slowest:.0f} s."
    return Outcome(headline, rows, [table], targets, [note])


def read_runs(config: RealArm) -> list[Recording]:
    folders = sorted(path.parent for path in config.logs.glob("*/control.csv"))[: config.runs]
    if len(folders) < 2:
        raise HaloidError(
            f"{config.logs} has {len(folders)} SAGE folders in it; expected at least two runs of a real arm. "
            "Give the folder that holds them with --logs"
        )
    options = LogOptions(robot=config.robot, payload="none", gains="model")
    return [read_log(folder, options, allow_gaps=True) for folder in folders]


def _left_out(held: Recording, others: list[Recording], nominal_rad: float, gain: float) -> dict:
    started = time.monotonic()
    found = calibrate(others, CalibrationSettings(held_out=0))
    fit_seconds = time.monotonic() - started
    with TemporaryDirectory() as folder:
        write_calibration(Path(folder), found)
        (played,) = replay(Path(folder) / "calibrated.xml", [held])
    inside = found.spread.inside(held, played)
    return {
        "run": held.name,
        "start_gain": gain,
        "rms_rad": float(rms(played.error_rad)),
        "nominal_rms_rad": nominal_rad,
        "rms_rad_by_joint": dict(zip(held.joint_names, played.rms_rad.tolist(), strict=True)),
        "kp": dict(zip(found.fit.joint_names, found.fit.servos[:, 0].tolist(), strict=True)),
        "delay_s": dict(zip(found.fit.joint_names, found.fit.delay_s.tolist(), strict=True)),
        "coverage95": float(np.mean(inside)),
        "samples": int(inside.size),
        "fit_seconds": fit_seconds,
    }


def _ratio(rows: list[dict]) -> float:
    """Mean rms over the runs held out, calibrated over nominal."""
    return float(np.mean([row["rms_rad"] for row in rows]) / np.mean([row["nominal_rms_rad"] for row in rows]))
