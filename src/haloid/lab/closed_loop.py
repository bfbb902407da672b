"""Playing with a policy: at every control step it sees the robot's sensors and says where the joints should go.

In: a lab robot, sensors, a policy (any callable from `Senses` to joint targets) and the motion it follows. Out: the
same `Playback` as for targets that are known beforehand (play.py). HALO III-A records the real robot this way. Encoders
read as the log says, bias, noise and quantisation included; the policy hears them at the start of a control step, and
its targets reach the servos after the sensors' delay.
"""

from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.lab.built import BuiltRobot
from haloid.lab.excitation import Reference
from haloid.lab.play import SETTLE_S, Playback, Steps, playback_of, refuse_breakdown
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors, chance, encoder_reading
from haloid.recordings.delay import substeps_per_row

_SETTLING = 3
"""Separates the noise of the rest before row 0 from the recorded rows'."""


@dataclass(frozen=True)
class Senses:
    """What a policy knows when a control step begins; joints in the robot's order."""

    row: int
    """Of the motion: where the robot should be now; 0 as well while it comes to rest before."""
    q_rad: np.ndarray
    """(n,) the encoders' readings."""
    dq_rad_s: np.ndarray
    """(n,)"""
    anchor_quat_wxyz: np.ndarray
    """Orientation in the world of the link that the policy is anchored to."""
    gyro_rad_s: np.ndarray
    """(3,) angular velocity of the IMU in its own axes."""


@dataclass(frozen=True)
class Policy:
    """A policy and how it is built into a robot."""

    start: Callable[[], Callable[[Senses], np.ndarray]]
    """Begins a run: a function from senses to (n,) targets, in the robot's order, for the control step that begins."""
    motion: Reference
    """What it follows; joints in the robot's order, one row per control step."""
    anchor: str
    """The link whose orientation it sees."""
    imu_site: str


def play_policy(robot: LabRobot, policy: Policy, sensors: Sensors, seed: int) -> Playback:
    """Lets `policy` follow its motion after a moment's rest in the first row; raises FellError if it does not.

    A policy's servos are soft: under a load that it does not know, arms may be far from the motion and legs may not.
    """
    built, motion = robot.built, policy.motion
    if motion.joint_names != built.joint_names:
        raise HaloidError(
            f"the policy moves the joints {', '.join(motion.joint_names)}; expected those of the robot in its own "
            f"order: {', '.join(built.joint_names)}"
        )
    settle_rows = round(SETTLE_S / robot.control_dt_s)
    rows, joints = len(motion.time_s), len(built.joint_names)
    rest, run = chance(sensors, settle_rows, joints, seed, _SETTLING), chance(sensors, rows, joints, seed)
    noise_rad, noise_rad_s = (
        np.concatenate([getattr(rest, name), getattr(run, name)]) for name in ("q_rad", "dq_rad_s")
    )
    bias_rad = sensors.bias_of(joints)
    target_rad = np.empty((settle_rows + rows, joints))
    targets_of = policy.start()
    loop = _Loop(built, motion.q_rad[0] - bias_rad, sensors.delay_s)
    for row in range(settle_rows + rows):
        q_rad, dq_rad_s = loop.joints()
        anchor_quat_wxyz, gyro_rad_s = loop.orientation(policy)
        target_rad[row] = targets_of(
            Senses(
                row=max(row - settle_rows, 0),
                q_rad=encoder_reading(sensors, q_rad + bias_rad + noise_rad[row]),
                dq_rad_s=dq_rad_s + noise_rad_s[row],
                anchor_quat_wxyz=anchor_quat_wxyz,
                gyro_rad_s=gyro_rad_s,
            )
        )
        loop.step(target_rad[row] - bias_rad)
    steps = Steps(np.array(loop.control), np.array(loop.q_rad), np.array(loop.dq_rad_s))
    return playback_of(robot, motion, target_rad[settle_rows:], steps, bias_rad, arms_may_hang=True)


class _Loop:
    """The robot between two targets, step by step of the simulation."""

    def __init__(self, built: BuiltRobot, start_rad: np.ndarray, delay_s: float) -> None:
        self.built, self.data = built, mujoco.MjData(built.model)
        self.data.qpos[built.qpos_of] = start_rad
        self.q_rad: list[np.ndarray] = []
        self.dq_rad_s: list[np.ndarray] = []
        self.control: list[np.ndarray] = []
        self._sent: list[np.ndarray] = []
        self._whole_steps = int(np.floor(delay_s / built.timestep_s))
        self._fraction = delay_s / built.timestep_s - self._whole_steps
        self._substeps = substeps_per_row(built.control_dt_s, built.timestep_s)

    def joints(self) -> tuple[np.ndarray, np.ndarray]:
        return self.data.qpos[self.built.qpos_of].copy(), self.data.qvel[self.built.dof_of].copy()

    def orientation(self, policy: Policy) -> tuple[np.ndarray, np.ndarray]:
        """Of the anchor in the world, and the IMU's angular velocity."""
        model, data, velocity = self.built.model, self.data, np.empty(6)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        site = model.site(policy.imu_site).id
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_SITE, site, velocity, 1)
        return data.body(policy.anchor).xquat.copy(), velocity[:3]

    def step(self, target_rad: np.ndarray) -> None:
        """One control step; the servos hear the mean of what was sent over each simulation step, a delay ago."""
        for _ in range(self._substeps):
            self._sent.append(target_rad)
            newer = len(self._sent) - 1 - self._whole_steps
            newest, older = self._sent[max(newer, 0)], self._sent[max(newer - 1, 0)]
            control = (1.0 - self._fraction) * newest + self._fraction * older
            q_rad, dq_rad_s = self.joints()
            self.q_rad.append(q_rad)
            self.dq_rad_s.append(dq_rad_s)
            self.control.append(control)
            self.data.ctrl[self.built.actuator_of] = control
            mujoco.mj_step(self.built.model, self.data)
        refuse_breakdown(self.data)
