"""HALO's Table V: walking forward and back, and a jump with a quarter turn, on the true, loaded robot.

E_fpos: greatest error of the forward displacement; E_epos: error of the place where the walk ends; E_ang: error of the
heading after the jump. A method that falls has no end to measure: N/A, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from haloid.bench.outcome import Outcome, Target
from haloid.bench.skills.jobs import SkillBench, sweep_of, trained_policies
from haloid.bench.skills.payload_methods import METHODS
from haloid.bench.skills.table import NAMES, Measured, measure
from haloid.report import Table

PAPER = {
    "walk": {"wdr": "0.45, 0.89", "cm": "0.22, 0.45", "halo": "0.12, 0.26"},
    "yaw-jump": {"wdr": "N/A", "cm": "41.8", "halo": "11.3"},
}
ERRORS = {"walk": ("e_fpos_m", "e_epos_m"), "yaw-jump": ("e_ang_deg",)}


@dataclass(frozen=True)
class Walk(SkillBench):
    """Settings of `haloid bench walk`."""

    motions: tuple[str, ...] = ("walk",)
    """That the policy learns; with those of `haloid bench table3` its policies are used."""
    out: Path = Path("out/bench/walk")
    """Directory for result.json."""


@dataclass(frozen=True)
class YawJump(SkillBench):
    """Settings of `haloid bench yaw-jump`."""

    motions: tuple[str, ...] = ("yaw-jump",)
    """That the policy learns."""
    out: Path = Path("out/bench/yaw-jump")
    """Directory for result.json."""


def run(config: Walk | YawJump, say: Callable[[str], None]) -> Outcome:
    motion = "walk" if isinstance(config, Walk) else "yaw-jump"
    policies = trained_policies(config.motions, sweep_of(config), say)
    if len(policies[motion]) < len(METHODS):
        return Outcome({}, [], [], [], ["Not all methods are trained yet; run the command again to go on."])
    measured = measure({motion: policies[motion]}, config.starts, config.seed, say, worn=True, setting=config.setting)
    errors = ERRORS[motion]
    headline = {f"{one.method}_success": one.success_rate for one in measured}
    for one in measured:
        for error in errors:
            value = survivors_mean(one, error)
            if value is not None:
                headline[f"{one.method}_{error.removeprefix('e_')}"] = value
    by_method = {one.method: one for one in measured}
    targets = [Target("success of HALO", headline["halo_success"], 0.95, at_least=True)]
    targets += [
        Target(f"{error} and success: HALO before {NAMES[other]} (1: yes)", _before(by_method, other, error), 1, True)
        for other in ("cm", "wdr")
        for error in errors
    ]
    return Outcome(headline, [one.row(errors) for one in measured], [_table(motion, measured)], targets)


def survivors_mean(one: Measured, error: str) -> float | None:
    """Over the runs that reached the end; None when none did. Always shown beside the number of those runs."""
    values = [getattr(metrics, error) for metrics in one.metrics if metrics.success]
    return float(np.mean(values)) if values else None


def _before(by_method: dict[str, Measured], other: str, error: str) -> float:
    """1 if HALO succeeds at least as often and, where both reach the end, ends nearer."""
    halo, rival = by_method["halo"], by_method[other]
    if halo.success_rate < rival.success_rate:
        return 0.0
    found, other_found = survivors_mean(halo, error), survivors_mean(rival, error)
    return float(found is not None and (other_found is None or found < other_found))


def _table(motion: str, measured: Sequence[Measured]) -> Table:
    rows = []
    for one in measured:
        values = [survivors_mean(one, error) for error in ERRORS[motion]]
        cells = ["N/A" if value is None else f"{value:.3g}" for value in values]
        count = f"{one.successes} of {len(one.metrics)}"
        rows.append([NAMES[one.method], *cells, count, PAPER[motion][one.method]])
    titles = {"e_fpos_m": "E_fpos m", "e_epos_m": "E_epos m", "e_ang_deg": "E_ang °"}
    columns = ["method", *(titles[error] for error in ERRORS[motion]), "reached the end", "paper"]
    return Table(columns, rows, "Errors are of the runs that reached the end; the others fell, as the count says.")
