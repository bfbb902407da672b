"""What the tables of skills share: policies by motion and method, each measured on the true, loaded robot.

Observations are noisy and targets reach the servos late. A method that falls is said to fall: errors are over all runs,
each up to its end, and stand beside the part that succeeded; or over common windows, where methods are compared. A
start's window is as long as the method that fell first there lasted, and all methods' errors are taken over it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from haloid.bench.skills.jobs import DELAY_S, NOISE
from haloid.bench.skills.payload_methods import METHODS, true_robot
from haloid.skills.evaluation.evaluate import Evaluation, evaluate
from haloid.skills.evaluation.metrics import RunMetrics, counted_rows, run_metrics, spread
from haloid.skills.evaluation.runs import EvaluationConfig, frames_of
from haloid.skills.policies.deployed import DeployedPolicy

NAMES = {"wdr": "WDR", "cm": "CM", "halo": "HALO"}
WORN_DELAY_S = 0.01
"""On the worn robot: twice what policies are trained with."""
SHORTEST_WINDOW = 51
"""Rows: a start where a method falls within the first second compares nothing."""


@dataclass(frozen=True)
class Measured:
    motion: str
    method: str
    evaluations: tuple[Evaluation, ...]
    """Of the same starts, one for every seed of training."""

    @property
    def metrics(self) -> tuple[RunMetrics, ...]:
        return tuple(metrics for evaluation in self.evaluations for metrics in evaluation.metrics)

    @property
    def successes(self) -> int:
        return sum(evaluation.successes for evaluation in self.evaluations)

    @property
    def success_rate(self) -> float:
        return self.successes / len(self.metrics)

    @property
    def survival(self) -> float:
        return float(np.mean([metrics.survival for metrics in self.metrics]))

    def mean(self, error: str) -> float:
        """Over all runs, each up to its end; NaN where a run that failed has no such error."""
        found = spread([getattr(metrics, error) for metrics in self.metrics])
        return float("nan") if found is None else found.mean

    def row(self, errors: Sequence[str]) -> dict[str, Any]:
        return {
            "motion": self.motion,
            "method": self.method,
            "runs": len(self.metrics),
            "success": self.success_rate,
            "survival": self.survival,
            **{error: None if math.isnan(self.mean(error)) else self.mean(error) for error in errors},
        }


@dataclass(frozen=True)
class Windows:
    """Errors of methods over common windows, for one motion."""

    errors: dict[str, dict[str, float]]
    """By method and error; empty where no start has a window."""
    starts: int
    """That have a window, over all seeds."""
    seconds: float
    """Mean length of the windows."""


def measure(
    policies: Mapping[str, Mapping[str, Sequence[Path]]],
    starts: int,
    seed: int,
    say: Callable[[str], None],
    *,
    worn: bool = False,
    setting: int = 1,
) -> list[Measured]:
    """Every policy on the true robot; `policies` by motion and method, a file for every seed of training."""
    robot = true_robot(worn=worn, setting=setting)
    delay_s = WORN_DELAY_S if worn else DELAY_S
    found = []
    for motion, by_method in policies.items():
        for method in (name for name in METHODS if name in by_method):
            say(f"running {motion}, {NAMES[method]}")
            config = EvaluationConfig(starts=starts, seed=seed, motion=motion, delay_s=delay_s, noise=NOISE)
            runs = tuple(evaluate(DeployedPolicy(file), robot, config) for file in by_method[method])
            found.append(Measured(motion, method, runs))
    return found


def common_windows(methods: Sequence[Measured], errors: Sequence[str]) -> Windows:
    """Of one motion's methods, which have the same starts and as many seeds."""
    found: dict[str, list[RunMetrics]] = {one.method: [] for one in methods}
    lengths = []
    for seed in range(len(methods[0].evaluations)):
        evaluations = {one.method: one.evaluations[seed] for one in methods}
        for start in range(len(methods[0].evaluations[seed].runs)):
            runs = {method: evaluation.runs[start] for method, evaluation in evaluations.items()}
            rows = min(counted_rows(len(run.poses), run.failed_row) for run in runs.values())
            if rows < SHORTEST_WINDOW:
                continue
            lengths.append(rows - 1)
            window = np.arange(rows)
            for method, run in runs.items():
                frames = frames_of(evaluations[method].reference, run)
                found[method].append(run_metrics(run.poses.at(window), frames.at(window), None))
    means = {
        method: {error: float(np.mean([getattr(metrics, error) for metrics in runs])) for error in errors}
        for method, runs in found.items()
        if runs
    }
    return Windows(means, len(lengths), float(np.mean(lengths)) / 50 if lengths else 0.0)
