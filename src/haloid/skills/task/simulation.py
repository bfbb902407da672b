"""Skills, the physics: many robots in MuJoCo's C code, on all cores.

In: a robot, how many of it, commands to their servos. Out: their states and what their sensors show. Arrays are live
views of the batch: (N, …), one row for each robot.
"""

import time
from collections.abc import Callable
from typing import Protocol

import mujoco
import numpy as np

from haloid.skills.task.reference import Poses
from haloid.skills.task.robot import TrackedRobot
from haloid.skills.task.transforms import Command

FASTEST = 1e3
"""m/s and rad/s; a simulation beyond it has diverged, and a step or two later MuJoCo refuses to factor its matrices."""


class Servos(Protocol):
    """Servos other than the model's own, such as those of a stand-in for a real robot."""

    def reset(self, robots: np.ndarray, held_rad: np.ndarray) -> None:
        """These robots restart, at rest under (k, n) targets."""
        ...

    def __call__(self, target_rad: np.ndarray, qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
        """(N, n) targets of the model's servos for the next physics step, given the targets that were sent."""
        ...


class Simulation:
    def __init__(self, robot: TrackedRobot, robots: int, threads: int) -> None:
        from mjbatch import Batch

        model = robot.model
        self.robot, self._robots = robot, robots
        self.name = f"mujoco {mujoco.__version__}, step {model.opt.timestep:g} s"
        self.batch = Batch(model, robots, threads)
        self._flags = self.batch.expand("disableflags")
        self._flags_with_sensors = int(model.opt.disableflags) | int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
        self._flags_in_steps = self._flags_with_sensors | int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
        self.state = self.batch.bind("state")
        """All that MuJoCo integrates, its clock first."""
        self.qpos, self.qvel = self.batch.bind("qpos"), self.batch.bind("qvel")
        self.ctrl, self.warmstart = self.batch.bind("ctrl"), self.batch.bind("qacc_warmstart")
        self._sensors = self.batch.bind("sensordata", np.float32)
        self.held_rad = self.ctrl.copy()
        """(N, n) the targets that were sent last; `ctrl` is what the model's servos make of them."""
        self._servos = None if robot.servos is None else robot.servos(robot, robots)
        self.seconds = 0.0
        """Time spent in MuJoCo."""

    def drive(self, command: Command) -> np.ndarray:
        """The physics of a control step; (N,) whether a simulation diverged, or MuJoCo refused to go on with it."""
        started = time.perf_counter()
        self._flags[:] = self._flags_in_steps
        refused = np.zeros(self._robots, dtype=bool)
        for target_rad, steps in command:
            self.held_rad[:] = self.ctrl[:] = target_rad
            if steps:
                refused |= self._advance(steps)
        self.seconds += time.perf_counter() - started
        return refused | self.diverged()

    def diverged(self) -> np.ndarray:
        """(N,) bool"""
        return np.logical_not(np.isfinite(self.qpos).all(axis=1) & (np.abs(self.qvel) < FASTEST).all(axis=1))

    def _advance(self, steps: int) -> np.ndarray:
        """A simulation that MuJoCo refuses stays as it was, its clock too, while the others go on."""
        clock = self.state[:, 0].copy()
        try:
            if self._servos is None:
                self.batch.step(nstep=steps)
            else:
                self.batch.step(nstep=steps, callback=self._serve)
        except RuntimeError:
            refused = np.asarray(self.state[:, 0] == clock)
            if not refused.any():
                raise
            return refused
        return np.zeros(self._robots, dtype=bool)

    def _serve(self, step: int, state: np.ndarray, ctrl: np.ndarray) -> None:
        """Before a physics step; `state` is MuJoCo's clock, qpos and qvel."""
        assert self._servos is not None
        end = 1 + self.robot.model.nq
        ctrl[:] = self._servos(self.held_rad, state[:, 1:end], state[:, end : end + self.robot.model.nv])

    def put(self, robots: np.ndarray, qpos: np.ndarray, qvel: np.ndarray) -> None:
        """Put these robots into states; their servos hold the joints where they are."""
        self.qpos[robots], self.qvel[robots] = qpos, qvel
        self.warmstart[robots] = 0.0
        self.hold(robots, qpos[:, 7:])

    def hold(self, robots: np.ndarray, held_rad: np.ndarray) -> None:
        """The targets that these robots' servos have held for a long time."""
        self.held_rad[robots] = self.ctrl[robots] = held_rad
        if self._servos is not None:
            self._servos.reset(robots, held_rad)

    def sense(self, robots: np.ndarray | None = None) -> None:
        """Bring the sensors of these robots (None: all) up to date; physics steps leave them out."""
        started = time.perf_counter()
        self._flags[:] = self._flags_with_sensors
        self.batch.refresh_sensor_range(robots, (0, self.robot.model.nsensordata))
        self.seconds += time.perf_counter() - started

    def poses(self) -> Poses:
        """Of all robots, as sensed."""
        n, count = self._robots, len(self.robot.description.tracked_links)
        at = np.cumsum([6, 3 * count, 4 * count, 3 * count])
        return Poses(
            joint_pos=self.qpos[:, 7:].astype(np.float32),
            joint_vel=self.qvel[:, 6:].astype(np.float32),
            body_pos_w=self._sensors[:, at[0] : at[1]].reshape(n, count, 3),
            body_quat_w=self._sensors[:, at[1] : at[2]].reshape(n, count, 4),
            body_lin_vel_w=self._sensors[:, at[2] : at[3]].reshape(n, count, 3),
            body_ang_vel_w=self._sensors[:, at[3] :].reshape(n, count, 3),
        )

    @property
    def imu_lin_vel(self) -> np.ndarray:
        """(N, 3) m/s in the IMU's axes."""
        return self._sensors[:, :3]

    @property
    def imu_ang_vel(self) -> np.ndarray:
        """(N, 3) rad/s in the IMU's axes."""
        return self._sensors[:, 3:6]

    def torques_nm(self, kp_ratio: np.ndarray | float = 1.0) -> np.ndarray:
        """(N, n) what the servos exert now: clip(kp·(target − q) − kd·dq); `kp_ratio` for robots that differ."""
        robot = self.robot
        servo = kp_ratio * robot.kp * (self.ctrl - self.qpos[:, 7:]) - robot.kd * self.qvel[:, 6:]
        return np.clip(servo, -robot.effort_nm, robot.effort_nm)


Simulate = Callable[[TrackedRobot, int, int], Simulation]
"""Makes the simulation of this many robots on this many threads."""
