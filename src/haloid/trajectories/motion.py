"""A motion: a floating robot's trajectory, with the poses and velocities of all its bodies.

In: the pose of the root and of every joint in even time steps. Out: a `Motion` in the order of the robot's model. The
velocities are derivatives of the frames: central differences of positions, and of rotations in their tangent space,
ω = log(R(t−h)ᵀ R(t+h)) / 2h. The bodies follow by forward kinematics, so that all of a frame agrees.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from haloid.errors import HaloidError
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.robots.load import load_spec, scalar_joints
from haloid.trajectories.kinematics import BodyStates, body_states
from haloid.trajectories.mujoco_states import floating_root, qpos_of, qvel_of
from haloid.trajectories.trajectory import FloatingTrajectory


@dataclass(frozen=True)
class Motion:
    """Frames of a whole robot, joints and bodies in the order of its own model: for the G1 the SDK's, pelvis first."""

    trajectory: FloatingTrajectory
    """Velocities included."""
    bodies: BodyStates
    """The first is the root."""

    def __len__(self) -> int:
        return len(self.trajectory)

    @property
    def rate_hz(self) -> float:
        return self.trajectory.rate_hz

    @property
    def joint_names(self) -> tuple[str, ...]:
        return self.trajectory.joint_names

    @property
    def joint_pos_rad(self) -> np.ndarray:
        """(T, n)"""
        return self.trajectory.joint_pos_rad

    @property
    def joint_vel_rad_s(self) -> np.ndarray:
        """(T, n)"""
        assert self.trajectory.joint_vel_rad_s is not None
        return self.trajectory.joint_vel_rad_s

    @property
    def body_names(self) -> tuple[str, ...]:
        return self.bodies.body_names

    @property
    def body_pos_w_m(self) -> np.ndarray:
        """(T, bodies, 3) origins of the link frames."""
        return self.bodies.pos_w_m

    @property
    def body_quat_wxyz(self) -> np.ndarray:
        """(T, bodies, 4)"""
        return self.bodies.quat_wxyz

    @property
    def body_lin_vel_w_m_s(self) -> np.ndarray:
        """(T, bodies, 3) of the link frames' origins."""
        return self.bodies.lin_vel_w_m_s

    @property
    def body_ang_vel_w_rad_s(self) -> np.ndarray:
        """(T, bodies, 3) in world axes."""
        return self.bodies.ang_vel_w_rad_s


def motion_of(frames: FloatingTrajectory, robot: str | mujoco.MjModel = DEFAULT_ROBOT) -> Motion:
    """The whole motion of a floating robot; joints of the robot that the frames do not name stand at 0."""
    model: mujoco.MjModel = load_spec(robot).compile() if isinstance(robot, str) else robot
    floating_root(model)  # or a message that there is none
    joint_names = scalar_joints(model)
    unknown = [name for name in frames.joint_names if name not in joint_names]
    if unknown:
        raise HaloidError(f"the robot has no joint {', '.join(unknown)}; it has: {', '.join(joint_names)}")
    if len(frames) < 2:
        raise HaloidError(f"a motion needs at least two frames; found {len(frames)}")
    joint_pos_rad = np.zeros((len(frames), len(joint_names)))
    joint_pos_rad[:, [joint_names.index(name) for name in frames.joint_names]] = frames.joint_pos_rad
    quat_wxyz = continuous_quats(frames.root_quat_wxyz)
    step_s = 1.0 / frames.rate_hz
    joint_vel_rad_s = np.asarray(np.gradient(joint_pos_rad, step_s, axis=0))
    root_lin_vel_w = np.asarray(np.gradient(frames.root_pos_w_m, step_s, axis=0))
    root_ang_vel_b = angular_velocity_in_body(quat_wxyz, step_s)

    trajectory = FloatingTrajectory(
        rate_hz=frames.rate_hz,
        joint_names=joint_names,
        joint_pos_rad=joint_pos_rad,
        root_pos_w_m=frames.root_pos_w_m,
        root_quat_wxyz=quat_wxyz,
        joint_vel_rad_s=joint_vel_rad_s,
        root_lin_vel_w_m_s=root_lin_vel_w,
        root_ang_vel_b_rad_s=root_ang_vel_b,
    )
    return Motion(trajectory, body_states(model, qpos_of(model, trajectory), qvel_of(model, trajectory)))


def continuous_quats(quat_wxyz: np.ndarray) -> np.ndarray:
    """Unit quaternions with signs chosen so that neighbours are close; q and −q are the same rotation."""
    quat = quat_wxyz / np.linalg.norm(quat_wxyz, axis=1, keepdims=True)
    flips = np.sum(quat[1:] * quat[:-1], axis=1) < 0
    return quat * np.where(np.concatenate([[False], np.cumsum(flips) % 2 == 1]), -1.0, 1.0)[:, None]


def angular_velocity_in_body(quat_wxyz: np.ndarray, step_s: float) -> np.ndarray:
    """(T, 3) angular velocity in the body's own axes: central differences, one-sided at the ends."""
    rotation = Rotation.from_quat(quat_wxyz, scalar_first=True)
    steps = (rotation[:-1].inv() * rotation[1:]).as_rotvec() / step_s
    inner = (rotation[:-2].inv() * rotation[2:]).as_rotvec() / (2 * step_s)
    return np.concatenate([steps[:1], inner, steps[-1:]])
