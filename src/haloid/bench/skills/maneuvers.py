"""HALO's Table VI: swallow balance, side kick and roundhouse kick on the true, loaded robot, successes of ten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from haloid.bench.outcome import Outcome, Target
from haloid.bench.skills.jobs import SkillBench, sweep_of, trained_policies
from haloid.bench.skills.payload_methods import METHODS
from haloid.bench.skills.table import NAMES, measure
from haloid.report import Table

MOTIONS = ("swallow", "side-kick", "roundhouse-kick")
PAPER = {"wdr": "0, 0, 0", "cm": "5, 7, 5", "halo": "10, 10, 10"}


@dataclass(frozen=True)
class Maneuvers(SkillBench):
    """Settings of `haloid bench maneuvers`."""

    starts: int = 10
    """Runs of each policy on the true robot."""
    seeds: int = 1
    """Trainings of each method; successes are counted over all of them."""
    out: Path = Path("out/bench/maneuvers")
    """Directory for result.json."""


def run(config: Maneuvers, say: Callable[[str], None]) -> Outcome:
    policies = trained_policies(MOTIONS, sweep_of(config), say)
    if any(len(found) < len(METHODS) for found in policies.values()):
        return Outcome({}, [], [], [], ["Not all methods are trained yet; run the command again to go on."])
    measured = measure(policies, config.starts, config.seed, say, worn=True, setting=config.setting)
    successes = {(one.motion, one.method): one.successes for one in measured}
    runs = len(measured[0].metrics)
    headline = {
        f"{method}_{motion.replace('-', '_')}": float(successes[motion, method]) for motion, method in successes
    }
    targets = [
        Target(f"successes of HALO, {motion}", successes[motion, "halo"], runs, at_least=True) for motion in MOTIONS[:2]
    ]
    targets += [
        Target(
            f"successes of HALO minus {NAMES[other]}'s, all three",
            sum(successes[motion, "halo"] - successes[motion, other] for motion in MOTIONS),
            1,
            at_least=True,
        )
        for other in ("cm", "wdr")
    ]
    rows = [
        [NAMES[method], *(f"{successes[motion, method]} of {runs}" for motion in MOTIONS), PAPER[method]]
        for method in METHODS
    ]
    table = Table(["method", *MOTIONS, "paper, of 10"], rows)
    return Outcome(headline, [one.row(("e_g_mpjpe_mm",)) for one in measured], [table], targets)
