"""A trajectory in the coordinates of a MuJoCo model: qpos and qvel, joints matched by name."""

from dataclasses import dataclass

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.robots.load import scalar_joints
from haloid.trajectories.trajectory import Trajectory


@dataclass(frozen=True)
class ModelStates:
    """A trajectory in the coordinates of a model."""

    step_s: float
    """Time between two rows."""
    qpos: np.ndarray
    """(T, nq)"""
    qvel: np.ndarray
    """(T, nv)"""

    def __len__(self) -> int:
        return len(self.qpos)


def states_of(model: mujoco.MjModel, trajectory: Trajectory) -> ModelStates:
    """The trajectory's rows as states of `model`, joints matched by name."""
    return ModelStates(1.0 / trajectory.rate_hz, qpos_of(model, trajectory), qvel_of(model, trajectory))


def floating_trajectory(
    rate_hz: float, joint_names: tuple[str, ...], qpos: np.ndarray, qvel: np.ndarray, target_rad: np.ndarray
) -> Trajectory:
    """States (T, 7 + n) and (T, 6 + n) of a robot whose free joint comes first, then `joint_names`."""
    return Trajectory(
        rate_hz=rate_hz,
        joint_names=joint_names,
        joint_pos_rad=qpos[:, 7:],
        root_pos_w_m=qpos[:, :3],
        root_quat_wxyz=qpos[:, 3:7],
        joint_vel_rad_s=qvel[:, 6:],
        root_lin_vel_w_m_s=qvel[:, :3],
        root_ang_vel_b_rad_s=qvel[:, 3:6],
        target_rad=target_rad,
    )


def floating_root(model: mujoco.MjModel) -> int:
    """The body that has the free joint."""
    for joint in range(model.njnt):
        if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
            return int(model.jnt_bodyid[joint])
    raise HaloidError("the robot has no free joint, so it cannot move freely; motions need a floating robot such as g1")


def qpos_of(model: mujoco.MjModel, trajectory: Trajectory) -> np.ndarray:
    """(T, nq); every joint of the model must be in the trajectory, and its root if the model has one."""
    qpos = np.zeros((len(trajectory), model.nq))
    columns = _columns(model, trajectory)
    qpos[:, [model.joint(name).qposadr[0] for name in scalar_joints(model)]] = trajectory.joint_pos_rad[:, columns]
    if is_floating(model):
        root = int(model.jnt_qposadr[model.body_jntadr[floating_root(model)]])
        qpos[:, root : root + 3] = _known(trajectory.root_pos_w_m, "where its root is")
        qpos[:, root + 3 : root + 7] = _known(trajectory.root_quat_wxyz, "how its root is turned")
    return qpos


def qvel_of(model: mujoco.MjModel, trajectory: Trajectory) -> np.ndarray:
    """(T, nv)"""
    qvel = np.zeros((len(trajectory), model.nv))
    columns = _columns(model, trajectory)
    joint_vel = _known(trajectory.joint_vel_rad_s, "how fast its joints are")
    qvel[:, [model.joint(name).dofadr[0] for name in scalar_joints(model)]] = joint_vel[:, columns]
    if is_floating(model):
        root = int(model.jnt_dofadr[model.body_jntadr[floating_root(model)]])
        qvel[:, root : root + 3] = _known(trajectory.root_lin_vel_w_m_s, "how fast its root moves")
        qvel[:, root + 3 : root + 6] = _known(trajectory.root_ang_vel_b_rad_s, "how fast its root turns")
    return qvel


def is_floating(model: mujoco.MjModel) -> bool:
    return bool((model.jnt_type == mujoco.mjtJoint.mjJNT_FREE).any())


def _columns(model: mujoco.MjModel, trajectory: Trajectory) -> list[int]:
    missing = [name for name in scalar_joints(model) if name not in trajectory.joint_names]
    if missing:
        raise HaloidError(f"the trajectory lacks joints of the robot: {', '.join(missing)}; it must move every joint")
    return [trajectory.joint_names.index(name) for name in scalar_joints(model)]


def _known(values: np.ndarray | None, what: str) -> np.ndarray:
    if values is None:
        raise HaloidError(f"the trajectory does not say {what}; the model needs it. Give a trajectory that has it")
    return values
