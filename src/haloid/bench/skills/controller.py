"""The model-based controller by itself: what each method's model is worth to it, on the true, loaded robot.

Nothing is learned. The motions, the methods and the true robot are those of HALO's Tables III, V and VI, whose policies
are trained; the two are never mixed up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from haloid.bench.outcome import Outcome
from haloid.bench.skills.jobs import SkillBench, sweep_of, trained_policies
from haloid.bench.skills.payload_methods import METHODS
from haloid.bench.skills.table import NAMES, Measured, measure
from haloid.report import Table

ERRORS = ("e_g_mpjpe_mm", "e_mpjpe_mm", "e_vel_m_s")


@dataclass(frozen=True)
class ControllerBench(SkillBench):
    """Settings of `haloid bench controller`."""

    motions: tuple[str, ...] = ("squat", "wave", "swallow", "walk", "side-kick", "roundhouse-kick", "yaw-jump")
    """Own motions or files."""
    out: Path = Path("out/bench/controller")
    """Directory for result.json."""


def run(config: ControllerBench, say: Callable[[str], None]) -> Outcome:
    started = time.monotonic()
    policies = trained_policies(
        config.motions, replace(sweep_of(config), actions="controller", iterations=0, seeds=1), say
    )
    seconds = time.monotonic() - started
    complete = {motion: found for motion, found in policies.items() if len(found) == len(METHODS)}
    if not complete:
        return Outcome({}, [], [], [], ["No motion has all its controllers yet; run the command again to go on."])
    measured = measure(complete, config.starts, config.seed, say, setting=config.setting)
    headline = {f"{method}_success": _success(measured, method) for method in METHODS}
    headline["seconds_per_controller"] = seconds / (len(complete) * len(METHODS))
    note = "Errors are means over all runs, each up to its end or fall, and so only comparable where all succeed."
    return Outcome(headline, [one.row(ERRORS) for one in measured], [_table(measured, note)])


def _success(measured: Sequence[Measured], method: str) -> float:
    return float(np.mean([one.success_rate for one in measured if one.method == method]))


def _table(measured: Sequence[Measured], note: str) -> Table:
    rows = []
    for one in measured:
        means = [one.mean(error) for error in ERRORS]
        count = f"{one.successes} of {len(one.metrics)}"
        rows.append([one.motion, NAMES[one.method], count, f"{means[0]:.1f}", f"{means[1]:.1f}", f"{means[2]:.3f}"])
    return Table(["motion", "method", "success", "E_g-mpjpe mm", "E_mpjpe mm", "E_vel m/s"], rows, note)
