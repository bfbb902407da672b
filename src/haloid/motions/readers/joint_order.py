"""Motions, reading: which joint a column without a name belongs to, and 23 joints on 29 by name.

Files without names hold all joints of the robot, or of a known robot that has a few more or fewer of the same joints
(the G1 comes with 29 and with 23), in one of two orders: that of its SDK and the MJCF, or Isaac Lab's, which takes the
tree of joints breadth first.
"""

import logging
from dataclasses import replace
from typing import Literal

import mujoco
import numpy as np

from haloid.robots.description import describe
from haloid.robots.entries import KNOWN_ROBOTS
from haloid.robots.load import scalar_joints
from haloid.trajectories.trajectory import FloatingTrajectory

Order = Literal["mjcf", "isaac"]

STILL_RAD = 1e-3
"""A joint that moves less than this is not missed on a robot that lacks it."""

logger = logging.getLogger(__name__)


def names_of_columns(count: int, model: mujoco.MjModel, order: Order = "mjcf") -> tuple[str, ...] | None:
    """The joints that `count` columns without names belong to; None where no robot of this kind has that many."""
    joints = scalar_joints(model)
    kin = [known.joints for known in map(describe, KNOWN_ROBOTS) if set(known.joints) <= set(joints)]
    kin += [known.joints for known in map(describe, KNOWN_ROBOTS) if set(known.joints) > set(joints)]
    names = {len(names): names for names in [*kin, joints]}.get(count)
    if names is None or order == "mjcf":
        return names
    return breadth_first(model, names) if set(names) <= set(joints) else None


def breadth_first(model: mujoco.MjModel, names: tuple[str, ...]) -> tuple[str, ...]:
    """`names` in the order of Isaac Lab: joints of equal depth together, as if the robot had no other joints."""
    bodies = {int(model.joint(name).bodyid[0]): name for name in names}

    def parent(body: int) -> int:
        """The nearest body above that one of the joints moves; 0 where there is none."""
        above = int(model.body_parentid[body])
        while above and above not in bodies:
            above = int(model.body_parentid[above])
        return above

    ordered, level = [], [0]
    while level:
        level = [body for above in level for body in sorted(bodies) if parent(body) == above]
        ordered += level
    return tuple(bodies[body] for body in ordered)


def on_robot(frames: FloatingTrajectory, model: mujoco.MjModel) -> FloatingTrajectory:
    """The frames' poses with the robot's joints alone, in its order; joints that the frames do not name are at 0.

    Joints that the robot lacks are left out, with a warning if they move.
    """
    joints = scalar_joints(model)
    lost = [name for name in frames.joint_names if name not in joints]
    largest_rad = [np.abs(frames.joint_pos_rad[:, frames.joint_names.index(name)]).max(initial=0.0) for name in lost]
    moving = [f"{name} (to {rad:.2f} rad)" for name, rad in zip(lost, largest_rad, strict=True) if rad > STILL_RAD]
    if moving:
        logger.warning("the robot lacks joints of the motion, which are left out: %s", ", ".join(moving))
    joint_pos_rad = np.zeros((len(frames), len(joints)))
    for column, name in enumerate(frames.joint_names):
        if name in joints:
            joint_pos_rad[:, joints.index(name)] = frames.joint_pos_rad[:, column]
    return replace(frames.poses(), joint_names=joints, joint_pos_rad=joint_pos_rad)
