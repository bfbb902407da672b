"""Skills, a policy put to the test: the ONNX file drives many robots at once from the start of a motion to its end.

In: a `DeployedPolicy`, a `TrackedRobot` (of any model: nominal, loaded, identified), settings. Out: an `Evaluation`:
what every run did, metrics by run and over runs (metrics.py), use of torques and joint ranges.

The robots are driven as the policy's file says: its servo gains, its default pose, its action scale; masses, friction
and torque limits are the model's. A run that fails keeps falling, but no longer counts.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from haloid.robots.description import Robot
from haloid.skills.evaluation.metrics import (
    ERRORS,
    RunMetrics,
    Spread,
    counted_rows,
    mean_body_distance_m,
    run_metrics,
    spread,
)
from haloid.skills.evaluation.runs import EvaluationConfig as EvaluationConfig
from haloid.skills.evaluation.runs import Run, driven_by, frames_of, roll_out
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.task.reference import Reference
from haloid.skills.task.robot import TrackedRobot
from haloid.skills.task.simulation import Simulate, Simulation
from haloid.skills.task.transforms import Transform

Which = Literal["all", "successful"]
"""All runs, each up to its end, or those that succeeded alone."""


@dataclass(frozen=True, repr=False)
class Evaluation:
    config: EvaluationConfig
    motion: str
    joint_names: tuple[str, ...]
    description: Robot
    reference: Reference
    runs: tuple[Run, ...]
    metrics: tuple[RunMetrics, ...]
    torque_rms_use: np.ndarray
    """(n,) rms over all rows that count, as a fraction of the joint's effort limit."""
    torque_peak_use: np.ndarray
    """(n,)"""
    range_peak_use: np.ndarray
    """(n,) greatest distance from the middle of the joint's range as a fraction of its half; 1 is the stop."""

    def __repr__(self) -> str:
        return f"Evaluation({self.motion!r}, {self.successes} of {len(self.metrics)} runs succeed)"

    @property
    def successes(self) -> int:
        return sum(metrics.success for metrics in self.metrics)

    @property
    def success_rate(self) -> float:
        return self.successes / len(self.metrics)

    @property
    def survival(self) -> float:
        """Mean over runs."""
        return float(np.mean([metrics.survival for metrics in self.metrics]))

    def error(self, name: str, which: Which = "all") -> Spread | None:
        """Of one of `ERRORS`: over all runs, each up to its end, or over the successful ones alone."""
        chosen = [metrics for metrics in self.metrics if which == "all" or metrics.success]
        return spread([getattr(metrics, name) for metrics in chosen])

    def body_error_m(self, run: Run) -> np.ndarray:
        """(rows,) mean body distance."""
        return mean_body_distance_m(run.poses, frames_of(self.reference, run))

    def document(self) -> dict[str, Any]:
        """The numbers, for evaluation.json."""
        errors = {name: {which: _plain(self.error(name, which)) for which in ("all", "successful")} for name in ERRORS}
        torque = {"rms": self.torque_rms_use, "peak": self.torque_peak_use, "range_peak": self.range_peak_use}
        use = {
            name: {part: float(values[column]) for part, values in torque.items()}
            for column, name in enumerate(self.joint_names)
        }
        return {
            "motion": self.motion,
            "settings": asdict(self.config),
            "runs": len(self.metrics),
            "successes": self.successes,
            "survival": self.survival,
            "errors": errors,
            "use_by_joint": use,
            "by_run": [
                {name: None if value != value else value for name, value in asdict(metrics).items()}
                for metrics in self.metrics
            ],
        }


def evaluate(
    policy: DeployedPolicy,
    robot: TrackedRobot,
    config: EvaluationConfig,
    say: Callable[[str], None] = lambda detail: None,
    simulate: Simulate = Simulation,
    transforms: tuple[Transform, ...] = (),
) -> Evaluation:
    """Drive `config.starts` robots through the motion and measure them; `say` is told the progress.

    `transforms` act between the policy and the servos.
    """
    robot = driven_by(policy, robot)
    reference = policy.reference(robot, config.motion)
    runs = roll_out(policy, robot, reference, config, say, simulate, transforms)
    torque = np.concatenate([run.torque_nm[1 : _rows(run)] for run in runs]) / robot.effort_nm
    angles = np.concatenate([run.poses.joint_pos[1 : _rows(run)] for run in runs])
    ranges = np.array([robot.model.joint(name).range for name in robot.joint_names])
    return Evaluation(
        config=config,
        motion=reference.names[0],
        joint_names=robot.joint_names,
        description=robot.description,
        reference=reference,
        runs=runs,
        metrics=tuple(run_metrics(run.poses, frames_of(reference, run), run.failed_row) for run in runs),
        torque_rms_use=np.sqrt(np.mean(torque**2, axis=0)),
        torque_peak_use=np.abs(torque).max(axis=0),
        range_peak_use=(np.abs(angles - ranges.mean(axis=1)) / (np.ptp(ranges, axis=1) / 2)).max(axis=0),
    )


def _rows(run: Run) -> int:
    return counted_rows(len(run.poses), run.failed_row)


def _plain(error: Spread | None) -> dict[str, float] | None:
    return None if error is None else asdict(error)
