"""What the tables of skills share: policies by motion and method, each measured on the true, loaded robot.

The true robot carries HALO's Setting 1; observations are noisy, targets reach the servos 5 ms late. A method that
falls is said to fall: errors are over all runs, each up to its end, and stand beside the part that succeeded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from haloid.bench.skills.jobs import DELAY_S, NOISE
from haloid.bench.skills.payload_methods import METHODS, ROBOT, true_spec
from haloid.robots.description import describe
from haloid.skills.evaluation.evaluate import Evaluation, evaluate
from haloid.skills.evaluation.runs import EvaluationConfig
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.task.robot import tracked_robot_of

NAMES = {"wdr": "WDR", "cm": "CM", "halo": "HALO"}


@dataclass(frozen=True)
class Measured:
    motion: str
    method: str
    evaluation: Evaluation

    def mean(self, error: str) -> float:
        """Over all runs, each up to its end; NaN where a run that failed has no such error."""
        spread = self.evaluation.error(error)
        return float("nan") if spread is None else spread.mean

    def row(self, errors: Sequence[str]) -> dict[str, Any]:
        found = self.evaluation
        return {
            "motion": self.motion,
            "method": self.method,
            "runs": len(found.metrics),
            "success": found.success_rate,
            "survival": found.survival,
            **{error: None if math.isnan(self.mean(error)) else self.mean(error) for error in errors},
        }


def measure(
    policies: dict[str, dict[str, Path]], starts: int, seed: int, say: Callable[[str], None], delay_s: float = DELAY_S
) -> list[Measured]:
    """Every policy on the true robot."""
    robot = tracked_robot_of(true_spec(), describe(ROBOT))
    config = EvaluationConfig(starts=starts, seed=seed, delay_s=delay_s, noise=NOISE)
    found = []
    for motion, by_method in policies.items():
        for method in (name for name in METHODS if name in by_method):
            say(f"running {motion}, {NAMES[method]}")
            found.append(Measured(motion, method, evaluate(DeployedPolicy(by_method[method]), robot, config)))
    return found
