"""Skills, a policy put to the test: the ONNX file drives many robots at once from the start of a motion to its end.

In: a `DeployedPolicy`, a `TrackedRobot` (any model: the nominal one, a loaded one, an identified one), settings. Out: an
`Evaluation`: what every run did, metrics by run and over runs (metrics.py), use of torques and joint ranges.

The robots are driven as the policy's file says: its servo gains, its default pose, its action scale; masses, friction and
torque limits are the model's. A run that fails goes on falling, but counts no longer.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from haloid.errors import HaloidError
from haloid.skills.deployed import DeployedPolicy
from haloid.skills.environment import EnvironmentConfig, TrackingEnvironment
from haloid.skills.metrics import ERRORS, RunMetrics, Spread, mean_body_distance_m, run_metrics, spread
from haloid.skills.observations import Sensed, actor_observation, observation_terms
from haloid.skills.randomisation import RANDOMISATIONS, RandomisationName
from haloid.skills.reference import Poses, Reference
from haloid.skills.robot import TrackedRobot

LEAST_FRAMES = 10
"""A run from a random frame has at least this many frames ahead."""


@dataclass(frozen=True)
class EvaluationConfig:
    starts: int = 100
    """How many robots."""
    seed: int = 0
    motion: str | None = None
    """Which of the policy's motions; may be left out when it has one."""
    start_from: Literal["beginning", "random"] = "beginning"
    """Where in the motion the robots start."""
    disturbance: float = 0.1
    """At the start, as a part of mjlab's: pose ± (5, 5, 1) cm and ± (0.1, 0.1, 0.2) rad, velocities, joints ± 0.1 rad."""
    noise: float = 1.0
    """Of the observations, as a part of mjlab's."""
    push: float = 0.0
    """Kicks every one to three seconds, as a part of mjlab's: ± 0.5 m/s."""
    delay_s: float = 0.0
    """From the policy's targets to the servos, at most 0.02."""
    randomisation: RandomisationName = "none"
    """Of the robots that are evaluated; none: all are the model."""
    threads: int = 0
    """0: all cores."""


@dataclass(frozen=True)
class Run:
    """What one robot did; row 0 is its start, and the rows end with the motion, whether it fell or not."""

    first_frame: int
    """Of the motion, in which it started."""
    poses: Poses
    """(rows, …)"""
    qpos: np.ndarray
    """(rows, nq)"""
    torque_nm: np.ndarray
    """(rows, n) at the end of each control step; row 0 is zero."""
    diverged_row: int | None


@dataclass(frozen=True)
class Evaluation:
    config: EvaluationConfig
    motion: str
    joint_names: tuple[str, ...]
    reference: Reference
    runs: tuple[Run, ...]
    metrics: tuple[RunMetrics, ...]
    torque_rms_use: np.ndarray
    """(n,) rms over all rows that count, as a part of the joint's effort limit."""
    torque_peak_use: np.ndarray
    """(n,)"""
    range_peak_use: np.ndarray
    """(n,) greatest distance from the middle of the joint's range as a part of its half; 1 is the stop."""

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

    def error(self, name: str, which: Literal["all", "successful"] = "all") -> Spread | None:
        """Of one of `ERRORS`: over all runs, each up to its end, or over the successful ones alone."""
        chosen = [metrics for metrics in self.metrics if which == "all" or metrics.success]
        return spread([getattr(metrics, name) for metrics in chosen])

    def frames(self, run: Run) -> Poses:
        """The frames a run should have been in, row by row."""
        return self.reference.frames.at(np.arange(run.first_frame, run.first_frame + len(run.poses)))

    def body_error_m(self, run: Run) -> np.ndarray:
        """(rows,) mean body distance."""
        return mean_body_distance_m(run.poses, self.frames(run))

    def document(self) -> dict[str, Any]:
        """The numbers, for evaluation.json."""
        errors = {
            name: {which: _plain(self.error(name, which)) for which in ("all", "successful")} for name in ERRORS
        }
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
) -> Evaluation:
    """Drive `config.starts` robots through the motion and measure them; `say` hears how far it is."""
    _check(config)
    robot = driven_by(policy, robot)
    reference = policy.reference(robot, config.motion)
    random = np.random.default_rng(config.seed)
    first = _first_frames(config, len(reference), random)
    environment = _environment(robot, reference, config, policy.facts.state_estimation, first)
    runs = _drive(policy, environment, first, random, config, say)
    metrics = [run_metrics(run.poses, _frames_of(reference, run), run.diverged_row) for run in runs]
    rows = [_counted_rows(run, result) for run, result in zip(runs, metrics, strict=True)]
    torque = np.concatenate([run.torque_nm[1:count] for run, count in zip(runs, rows, strict=True)]) / robot.effort_nm
    angles = np.concatenate([run.poses.joint_pos[1:count] for run, count in zip(runs, rows, strict=True)])
    ranges = np.array([robot.model.joint(name).range for name in robot.joint_names])
    return Evaluation(
        config=config,
        motion=reference.names[0],
        joint_names=robot.joint_names,
        reference=reference,
        runs=tuple(runs),
        metrics=tuple(metrics),
        torque_rms_use=np.sqrt(np.mean(torque**2, axis=0)),
        torque_peak_use=np.abs(torque).max(axis=0),
        range_peak_use=(np.abs(angles - ranges.mean(axis=1)) / (np.ptp(ranges, axis=1) / 2)).max(axis=0),
    )
