"""Forward kinematics: where every body of a model is, and how fast, along states of the model.

In: a model, qpos and qvel row by row. Out: `BodyStates` of all bodies but the world, origins of the link frames.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from haloid.errors import HaloidError


@dataclass(frozen=True)
class BodyPoses:
    """Second axis in the order of `body_names`, the model's."""

    body_names: tuple[str, ...]
    pos_w_m: np.ndarray
    """(T, bodies, 3) origins of the link frames."""
    quat_wxyz: np.ndarray
    """(T, bodies, 4)"""

    def row_of(self, body: str) -> int:
        if body not in self.body_names:
            raise HaloidError(f"there is no body '{body}'; there are: {', '.join(self.body_names)}")
        return self.body_names.index(body)

    def path_of(self, body: str) -> np.ndarray:
        """(T, 3) positions of one body."""
        return self.pos_w_m[:, self.row_of(body)]


@dataclass(frozen=True)
class BodyStates(BodyPoses):
    """Poses and velocities."""

    lin_vel_w_m_s: np.ndarray
    """(T, bodies, 3) of the link frames' origins."""
    ang_vel_w_rad_s: np.ndarray
    """(T, bodies, 3) in world axes."""

    def ordered(self, body_names: Sequence[str]) -> "BodyStates":
        """The same bodies in another order."""
        rows = [self.row_of(name) for name in body_names]
        arrays = (self.pos_w_m, self.quat_wxyz, self.lin_vel_w_m_s, self.ang_vel_w_rad_s)
        return BodyStates(tuple(body_names), *(values[:, rows] for values in arrays))


def body_states(model: mujoco.MjModel, qpos: np.ndarray, qvel: np.ndarray) -> BodyStates:
    """Of (T, nq) positions and (T, nv) velocities."""
    data, velocity, bodies = mujoco.MjData(model), np.empty(6), range(1, model.nbody)
    pos, quat, lin, ang = (np.empty((len(qpos), len(bodies), width)) for width in (3, 4, 3, 3))
    for row in range(len(qpos)):
        data.qpos[:], data.qvel[:] = qpos[row], qvel[row]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        pos[row], quat[row] = data.xpos[1:], data.xquat[1:]
        for body in bodies:
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, velocity, 0)
            ang[row, body - 1], lin[row, body - 1] = velocity[:3], velocity[3:]
    return BodyStates(tuple(model.body(body).name for body in bodies), pos, quat, lin, ang)


def forward_kinematics(model: mujoco.MjModel, joint_names: Sequence[str], q_rad: np.ndarray) -> BodyPoses:
    """Body poses of a clamped `model` at joint angles `q_rad` (T, n), whose columns are `joint_names`."""
    own = {model.joint(j).name for j in range(model.njnt)}
    unknown, missing = [name for name in joint_names if name not in own], sorted(own - set(joint_names))
    if unknown or missing:
        raise HaloidError(
            f"the angles do not fit the clamped model: joints it does not have: {', '.join(unknown) or 'none'}; "
            f"joints without an angle: {', '.join(missing) or 'none'}. Give one angle for each of its joints by name"
        )
    address = [model.joint(name).qposadr[0] for name in joint_names]
    data = mujoco.MjData(model)
    pos_w_m, quat_wxyz = np.empty((len(q_rad), model.nbody - 1, 3)), np.empty((len(q_rad), model.nbody - 1, 4))
    for row, angles_rad in enumerate(q_rad):
        data.qpos[address] = angles_rad
        mujoco.mj_kinematics(model, data)
        pos_w_m[row], quat_wxyz[row] = data.xpos[1:], data.xquat[1:]
    return BodyPoses(tuple(model.body(i).name for i in range(1, model.nbody)), pos_w_m, quat_wxyz)
