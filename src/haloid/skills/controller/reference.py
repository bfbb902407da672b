"""Controller, step one: the frames of a motion as states (qpos, qvel) of the model that is to follow it.

In: a motion and a compiled floating robot. Out: qpos and qvel in MuJoCo's conventions: root position and linear
velocity in world axes, root angular velocity in the root's own axes.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from haloid.errors import HaloidError
from haloid.motions.frames import floating_root
from haloid.recordings.motion import Motion
from haloid.robots.load import scalar_joints


@dataclass(frozen=True)
class ReferenceStates:
    """A motion in the coordinates of a model."""

    step_s: float
    """Time between two frames."""
    qpos: np.ndarray
    """(T, nq)"""
    qvel: np.ndarray
    """(T, nv)"""

    def __len__(self) -> int:
        return len(self.qpos)


def reference_states(model: mujoco.MjModel, motion: Motion) -> ReferenceStates:
    """The motion's frames as states of `model`, joints matched by name."""
    joint_names = scalar_joints(model)
    missing = [name for name in joint_names if name not in motion.joint_names]
    if missing:
        raise HaloidError(f"the motion lacks joints of the robot: {', '.join(missing)}; it must move every joint")
    root = model.body_jntadr[floating_root(model)]
    position, velocity = model.jnt_qposadr[root], model.jnt_dofadr[root]
    order = [motion.joint_names.index(name) for name in joint_names]
    joints = [model.joint(name) for name in joint_names]
    qpos = np.zeros((len(motion.joint_pos_rad), model.nq))
    qvel = np.zeros((len(qpos), model.nv))
    qpos[:, position : position + 3] = motion.body_pos_w_m[:, 0]
    qpos[:, position + 3 : position + 7] = motion.body_quat_wxyz[:, 0]
    qpos[:, [joint.qposadr[0] for joint in joints]] = motion.joint_pos_rad[:, order]
    to_body = Rotation.from_quat(motion.body_quat_wxyz[:, 0], scalar_first=True).inv()
    qvel[:, velocity : velocity + 3] = motion.body_lin_vel_w_m_s[:, 0]
    qvel[:, velocity + 3 : velocity + 6] = to_body.apply(motion.body_ang_vel_w_rad_s[:, 0])
    qvel[:, [joint.dofadr[0] for joint in joints]] = motion.joint_vel_rad_s[:, order]
    return ReferenceStates(1.0 / motion.fps, qpos, qvel)
