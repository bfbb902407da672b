"""HALO's Table III: three ways to prepare for a load, tracking errors on the true, loaded robot.

Steady and agile motions of this package; policies of `skill_jobs`, trained on what each method knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from haloid.bench.outcome import Outcome, Target
from haloid.bench.skills.jobs import SkillBench, name_of, sweep_of, trained_policies
from haloid.bench.skills.payload_methods import METHODS
from haloid.bench.skills.table import NAMES, Measured, measure
from haloid.errors import HaloidError
from haloid.motions.own import OWN_MOTIONS
from haloid.report import Table

ERRORS = ("e_g_mpjpe_mm", "e_mpjpe_mm", "e_vel_m_s")
PAPER = {
    "steady": {"wdr": (94.91, 70.54, 0.157), "cm": (85.87, 56.33, 0.130), "halo": (52.47, 44.87, 0.098)},
    "agile": {"wdr": (132.89, 81.54, 0.136), "cm": (92.82, 67.06, 0.125), "halo": (78.83, 59.54, 0.106)},
}


@dataclass(frozen=True)
class Table3(SkillBench):
    """Settings of `haloid bench table3`."""

    motions: tuple[str, ...] = ("squat", "wave", "swallow", "walk", "side-kick", "roundhouse-kick", "yaw-jump")
    """Own motions or files; the paper has 20."""
    agile: tuple[str, ...] = ()
    """Which of the files are agile; own motions are known to be or not."""
    out: Path = Path("out/bench/table3")
    """Directory for result.json."""


def run(config: Table3, say: Callable[[str], None]) -> Outcome:
    kinds = _kinds(config.motions, config.agile)
    policies = trained_policies(config.motions, sweep_of(config), say)
    complete = {motion: found for motion, found in policies.items() if len(found) == len(METHODS)}
    measured = measure(complete, config.starts, config.seed, say)
    rows = [{"kind": kinds[one.motion], **one.row(ERRORS)} for one in measured]
    missing = [motion for motion in kinds if motion not in complete]
    notes = []
    if missing:
        notes.append(f"Not trained yet, run the command again to go on: {', '.join(missing)}.")
    if not rows:
        return Outcome({}, [], [], [], notes)
    steady = [motion for motion in complete if kinds[motion] == "steady"]
    agile = [motion for motion in complete if kinds[motion] == "agile"]
    over_cm, over_wdr = (_ratio(measured, complete, method) for method in ("cm", "wdr"))
    halo = [one for one in measured if one.method == "halo"]
    headline = {
        "halo_over_wdr": over_wdr,
        "halo_over_cm": over_cm,
        "halo_g_mpjpe_mm": float(np.mean([one.mean("e_g_mpjpe_mm") for one in halo])),
        "halo_success": float(np.mean([one.evaluation.success_rate for one in halo])),
        "cm_success": _success(measured, "cm"),
        "wdr_success": _success(measured, "wdr"),
        "steady_motions": float(len(steady)),
        "agile_motions": float(len(agile)),
    }
    targets = [
        Target("E_g-mpjpe of HALO over CM, mean of motions", over_cm, 0.61),
        Target("E_g-mpjpe of HALO over WDR, mean of motions", over_wdr, 0.55),
        Target("success of HALO", headline["halo_success"], 0.95, at_least=True),
        Target("steady motions", len(steady), 4, at_least=True),
        Target("agile motions", len(agile), 2, at_least=True),
    ]
    return Outcome(headline, rows, [_means(measured, kinds), _by_motion(measured)], targets, notes)


def _kinds(motions: Sequence[str], agile: Sequence[str]) -> dict[str, str]:
    """Of the motions by name."""
    told = {name_of(motion): motion for motion in agile}
    unknown = [motion for name, motion in told.items() if name not in map(name_of, motions)]
    if unknown:
        raise HaloidError(f"agile are {', '.join(unknown)}; expected some of the motions: {', '.join(motions)}")
    return {name_of(motion): _kind(motion, name_of(motion) in told) for motion in motions}


def _kind(motion: str, told_agile: bool) -> str:
    if motion in OWN_MOTIONS:
        return OWN_MOTIONS[motion].kind
    return "agile" if told_agile else "steady"


def _ratio(measured: Sequence[Measured], motions: Iterable[str], method: str) -> float:
    """Geometric mean over motions of HALO's error over the method's."""
    error = {(one.motion, one.method): one.mean("e_g_mpjpe_mm") for one in measured}
    return float(np.exp(np.mean([np.log(error[m, "halo"] / error[m, method]) for m in motions])))


def _success(measured: Sequence[Measured], method: str) -> float:
    return float(np.mean([one.evaluation.success_rate for one in measured if one.method == method]))


def _means(measured: Sequence[Measured], kinds: dict[str, str]) -> Table:
    """As the paper prints it, the paper's own numbers beside ours."""
    rows = []
    for kind in ("steady", "agile"):
        for method in METHODS:
            chosen = [one for one in measured if one.method == method and kinds[one.motion] == kind]
            if not chosen:
                continue
            means = [float(np.mean([one.mean(error) for one in chosen])) for error in ERRORS]
            paper = PAPER[kind][method]
            cells = [f"{means[0]:.1f}", f"{means[1]:.1f}", f"{means[2]:.3f}"]
            success = f"{100 * np.mean([one.evaluation.success_rate for one in chosen]):.0f} %"
            rows.append([kind, NAMES[method], *cells, success, f"{paper[0]:.1f}, {paper[1]:.1f}, {paper[2]:.3f}"])
    columns = ["tasks", "method", "E_g-mpjpe mm", "E_mpjpe mm", "E_vel m/s", "success", "paper: the three errors"]
    note = "Errors are over all runs, each up to its end or its failure. The paper's motions are others."
    return Table(columns, rows, note)


def _by_motion(measured: Sequence[Measured]) -> Table:
    rows = [
        [
            one.motion,
            NAMES[one.method],
            f"{one.mean('e_g_mpjpe_mm'):.1f}",
            f"{one.mean('e_mpjpe_mm'):.1f}",
            f"{one.mean('e_vel_m_s'):.3f}",
            f"{one.evaluation.successes} of {len(one.evaluation.metrics)}",
            f"{100 * one.evaluation.survival:.0f} %",
        ]
        for one in measured
    ]
    columns = ["motion", "method", "E_g-mpjpe mm", "E_mpjpe mm", "E_vel m/s", "success", "survival"]
    return Table(columns, rows, "Survival: part of the motion before the fall.")
