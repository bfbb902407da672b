"""A policy while it runs: one robot that follows its motion again and again, and can be pushed.

In: a policy's file and a robot. Out: `LivePolicy`, which a viewer steps at the control rate, and `show_policy`, one
undisturbed run as a show.
"""

from collections import deque

import numpy as np

from haloid.skills.evaluation.runs import Driver, EvaluationConfig, driven_by, roll_out, tracking_environment
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.task.reference import CONTROL_HZ
from haloid.skills.task.robot import TrackedRobot
from haloid.skills.task.starts import starts_of
from haloid.trajectories.rotations import apply, heading
from haloid.view.show import Show

FALLEN_M = 0.5
"""Mean distance of the bodies from the reference over which a robot restarts."""
HISTORY_S = 4.0
DIRECTIONS = {"from behind": (1.0, 0.0), "from the front": (-1.0, 0.0), "from its right": (0.0, 1.0)}
DIRECTIONS |= {"from its left": (0.0, -1.0)}
"""In the robot's heading: forward, left."""


class LivePolicy:
    """One robot under its policy. It restarts at the end of the motion, and when it has fallen."""

    def __init__(self, policy: DeployedPolicy, robot: TrackedRobot, motion: str | None = None) -> None:
        self.robot = driven_by(policy, robot)
        self.reference = policy.reference(robot, motion)
        self.motion = policy.facts.motions[policy.motion_row(motion)]
        self._policy, self._config = (
            policy,
            EvaluationConfig(starts=1, motion=motion, disturbance=0.0, noise=0.0, threads=1),
        )
        self._random = np.random.default_rng(0)
        self._environment = tracking_environment(self.robot, self.reference, self._config, np.zeros(1, dtype=int))
        self._reference_qpos = starts_of(self.reference).qpos
        self.falls, self.rounds = 0, 0
        self.error_m = 0.0
        self.history: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=round(HISTORY_S * CONTROL_HZ))
        """Joint angles of the robot and of the reference, the latest last."""
        self.restart()

    @property
    def qpos(self) -> np.ndarray:
        return self._environment.simulation.qpos[0].copy()

    @property
    def frame(self) -> int:
        """Of the reference, where the robot should be now."""
        return int(self._environment.time_step[0]) - 1

    @property
    def reference_qpos(self) -> np.ndarray:
        return self._reference_qpos[self.frame]

    @property
    def motion_s(self) -> float:
        return self.frame / CONTROL_HZ

    def step(self) -> None:
        """20 ms."""
        over = self._environment.time_step[0] >= len(self.reference) - 1
        if over or self.error_m > FALLEN_M:
            self.falls += int(self.error_m > FALLEN_M)
            self.rounds += int(not self.error_m > FALLEN_M)
            self.restart()
            return
        poses = self._driver.act(self._driver.decide()).poses
        wanted = self.reference.frames.at(np.array([self.frame]))
        self.error_m = float(np.linalg.norm(poses.body_pos_w - wanted.body_pos_w, axis=-1).mean())
        self.history.append((self.qpos[7:], self.reference_qpos[7:]))

    def restart(self) -> None:
        """From the motion's first frame, with nothing remembered."""
        self._environment.reset(np.zeros(1, dtype=int), np.zeros(1, dtype=int))
        self._driver = Driver(self._policy, self._environment, self._config, self._random)
        self.error_m = 0.0

    def push(self, direction: str, speed_m_s: float) -> None:
        """A kick at the root, seen from the robot."""
        forward, left = DIRECTIONS[direction]
        velocity_w = apply(heading(self.qpos[None, 3:7]), speed_m_s * np.array([[forward, left, 0.0]]))
        self._environment.kick(np.zeros(1, dtype=int), np.concatenate([velocity_w, np.zeros((1, 3))], axis=1))


def show_policy(policy: DeployedPolicy, robot: TrackedRobot, motion: str | None = None) -> Show:
    """One run from the motion's beginning."""
    driven, reference = driven_by(policy, robot), policy.reference(robot, motion)
    (run,) = roll_out(
        policy, driven, reference, EvaluationConfig(starts=1, motion=motion, disturbance=0.0, noise=0.0, threads=1)
    )
    ghost = starts_of(reference).qpos[: len(run.qpos)]
    ended = "to the end" if run.failed_row is None else f"and fails after {run.failed_row / CONTROL_HZ:.1f} s"
    name = policy.facts.motions[policy.motion_row(motion)]
    return Show(
        title=f"{policy.path.parent.name}: {name}",
        about=(f"the policy follows {name} {ended}",),
        model=robot.model,
        time_s=np.arange(len(run.qpos)) / CONTROL_HZ,
        robots={"policy": run.qpos},
        joint_names=robot.joint_names,
        curves_rad={"reference": ghost[:, 7:], "policy": run.qpos[:, 7:]},
        ghost=("reference", ghost),
    )
