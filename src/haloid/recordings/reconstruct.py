"""Reconstruction: where every body was, from nothing but encoders (HALO III-A).

In: a recording of a clamped robot. Out: world poses of all its bodies. With one link held fixed the whole body follows
from the joint angles by forward kinematics; no motion capture and no floating-base estimate is needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.recordings.recording import Recording
from haloid.robots.clamp import clamp
from haloid.robots.load import load_spec


@dataclass(frozen=True)
class BodyMotion:
    """Poses of bodies in the world, one row a row of joint angles; the second axis is in the order of `body_names`."""

    body_names: tuple[str, ...]
    pos_w_m: np.ndarray
    """(T, bodies, 3) origins of the link frames."""
    quat_wxyz: np.ndarray
    """(T, bodies, 4)"""

    def path_of(self, body: str) -> np.ndarray:
        """(T, 3) positions of one body."""
        if body not in self.body_names:
            raise HaloidError(f"there is no body '{body}' in the reconstruction; it has: {', '.join(self.body_names)}")
        return self.pos_w_m[:, self.body_names.index(body)]


def reconstruct(recording: Recording) -> BodyMotion:
    """The motion of every body in `recording`; encoder noise and bias go straight into it."""
    model = clamp(load_spec(recording.robot), recording.clamp, recording.clamp_pose).compile()
    return forward_kinematics(model, recording.joint_names, recording.q_rad)


def forward_kinematics(model: mujoco.MjModel, joint_names: Sequence[str], q_rad: np.ndarray) -> BodyMotion:
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
    return BodyMotion(tuple(model.body(i).name for i in range(1, model.nbody)), pos_w_m, quat_wxyz)
