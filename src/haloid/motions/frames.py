"""Motions, their core: root and joint frames become a whole `Motion`, bodies and velocities included.

In: the pose of the root and of every joint in even time steps. Out: a `Motion` in the order of the robot's model. The
velocities are derivatives of the frames: central differences of positions, and of rotations in their tangent space,
ω = log(R(t−h)ᵀ R(t+h)) / 2h. The bodies follow by forward kinematics, so that all of a frame agrees.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from haloid.errors import HaloidError
from haloid.recordings.motion import Motion
from haloid.robots.load import load_spec, scalar_joints


@dataclass(frozen=True)
class Frames:
    """What a clip states: the root's pose and the joints', frame by frame."""

    fps: float
    joint_names: tuple[str, ...]
    root_pos_w_m: np.ndarray
    """(T, 3) of the root link's origin."""
    root_quat_wxyz: np.ndarray
    """(T, 4)"""
    joint_pos_rad: np.ndarray
    """(T, n)"""

    def __len__(self) -> int:
        return len(self.root_pos_w_m)


def motion_of(frames: Frames, robot: str | mujoco.MjModel = "g1") -> Motion:
    """The whole motion of a floating robot; joints of the robot that the frames do not name stand at 0."""
    model: mujoco.MjModel = load_spec(robot).compile() if isinstance(robot, str) else robot
    root_id, joint_names = floating_root(model), scalar_joints(model)
    unknown = [name for name in frames.joint_names if name not in joint_names]
    if unknown:
        raise HaloidError(f"the robot has no joint {', '.join(unknown)}; it has: {', '.join(joint_names)}")
    if len(frames) < 2:
        raise HaloidError(f"a motion needs at least two frames; found {len(frames)}")
    joint_pos_rad = np.zeros((len(frames), len(joint_names)))
    joint_pos_rad[:, [joint_names.index(name) for name in frames.joint_names]] = frames.joint_pos_rad
    quat_wxyz = continuous_quats(frames.root_quat_wxyz)
    step_s = 1.0 / frames.fps
    joint_vel_rad_s = np.asarray(np.gradient(joint_pos_rad, step_s, axis=0))
    root_lin_vel_w = np.asarray(np.gradient(frames.root_pos_w_m, step_s, axis=0))
    root_ang_vel_b = angular_velocity_in_body(quat_wxyz, step_s)

    data, velocity, bodies = mujoco.MjData(model), np.empty(6), range(1, model.nbody)
    root = model.body_jntadr[root_id]
    qpos_address, dof = model.jnt_qposadr[root], model.jnt_dofadr[root]
    joints = [model.joint(name) for name in joint_names]
    joint_address, joint_dof = [j.qposadr[0] for j in joints], [j.dofadr[0] for j in joints]
    shape = (len(frames), len(bodies))
    pos, quat, lin, ang = (np.empty((*shape, width)) for width in (3, 4, 3, 3))
    for row in range(len(frames)):
        data.qpos[qpos_address : qpos_address + 3] = frames.root_pos_w_m[row]
        data.qpos[qpos_address + 3 : qpos_address + 7] = quat_wxyz[row]
        data.qpos[joint_address] = joint_pos_rad[row]
        data.qvel[dof : dof + 3] = root_lin_vel_w[row]
        data.qvel[dof + 3 : dof + 6] = root_ang_vel_b[row]
        data.qvel[joint_dof] = joint_vel_rad_s[row]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        pos[row], quat[row] = data.xpos[1:], data.xquat[1:]
        for body in bodies:
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, velocity, 0)
            ang[row, body - 1], lin[row, body - 1] = velocity[:3], velocity[3:]
    return Motion(
        fps=frames.fps,
        joint_names=joint_names,
        body_names=tuple(model.body(body).name for body in bodies),
        joint_pos_rad=joint_pos_rad,
        joint_vel_rad_s=joint_vel_rad_s,
        body_pos_w_m=pos,
        body_quat_wxyz=quat,
        body_lin_vel_w_m_s=lin,
        body_ang_vel_w_rad_s=ang,
    )


def frames_of(motion: Motion) -> Frames:
    """The root's and the joints' poses of a motion: its first body is the root."""
    return Frames(
        fps=motion.fps,
        joint_names=motion.joint_names,
        root_pos_w_m=motion.body_pos_w_m[:, 0],
        root_quat_wxyz=motion.body_quat_wxyz[:, 0],
        joint_pos_rad=motion.joint_pos_rad,
    )


def floating_root(model: mujoco.MjModel) -> int:
    """The body that bears the free joint."""
    for joint in range(model.njnt):
        if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
            return int(model.jnt_bodyid[joint])
    raise HaloidError("the robot has no free joint, so it cannot move about; motions need a floating robot such as g1")


def continuous_quats(quat_wxyz: np.ndarray) -> np.ndarray:
    """Unit quaternions of which none is on the other side of its predecessor; q and −q are the same rotation."""
    quat = quat_wxyz / np.linalg.norm(quat_wxyz, axis=1, keepdims=True)
    flips = np.sum(quat[1:] * quat[:-1], axis=1) < 0
    return quat * np.where(np.concatenate([[False], np.cumsum(flips) % 2 == 1]), -1.0, 1.0)[:, None]


def angular_velocity_in_body(quat_wxyz: np.ndarray, step_s: float) -> np.ndarray:
    """(T, 3) angular velocity in the body's own axes: central differences, one-sided at the ends."""
    rotation = Rotation.from_quat(quat_wxyz, scalar_first=True)
    steps = (rotation[:-1].inv() * rotation[1:]).as_rotvec() / step_s
    inner = (rotation[:-2].inv() * rotation[2:]).as_rotvec() / (2 * step_s)
    return np.concatenate([steps[:1], inner, steps[-1:]])
