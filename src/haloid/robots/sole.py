"""Sole: the flat underside of a foot, taken from the collision geometry, and how a leg's joints turn it.

In: a robot's model and a foot. Out: how high its sole is, points of the sole in the foot's frame, and the joints that
turn about an axis of the world. Feet stand flat
and level in the zero configuration (all joints 0, root upright), which defines the plane of the sole.
"""

from collections.abc import Sequence

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.robots.load import scalar_joints

_NEARLY_ALONG = 0.9
"""Cosine of the angle between a joint's axis and the world's."""


def colliding_geoms(model: mujoco.MjModel, body_id: int) -> list[int]:
    first, number = model.body_geomadr[body_id], model.body_geomnum[body_id]
    return [g for g in range(first, first + number) if model.geom_contype[g] or model.geom_conaffinity[g]]


def sole_height_m(model: mujoco.MjModel, foot_id: int) -> float:
    """World height of the lowest point of the foot's bounding boxes, in the zero configuration."""
    return float(_box_corners_w_m(model, _zero_configuration(model), foot_id)[:, 2].min())


def sole_points_in_foot_m(model: mujoco.MjModel, foot_id: int) -> np.ndarray:
    """(3, 3) centre, front and left edge of the sole in the foot's frame.

    The sole is the rectangle under the foot's bounding boxes, at the height of the lowest, in the zero configuration.
    """
    data = _zero_configuration(model)
    corners = _box_corners_w_m(model, data, foot_id)
    (back, right, z), (front, left, _) = corners.min(axis=0), corners.max(axis=0)
    x, y = (back + front) / 2, (right + left) / 2
    points_w_m = np.array([[x, y, z], [front, y, z], [x, left, z]])
    return (points_w_m - data.xpos[foot_id]) @ data.xmat[foot_id].reshape(3, 3)


def joints_about(model: mujoco.MjModel, joints: Sequence[str], axis: int) -> list[str]:
    """Those of the joints that turn about the world's x (0), y (1) or z (2) axis, nearly, in the zero configuration."""
    data = _zero_configuration(model)
    return [joint for joint in joints if abs(data.joint(joint).xaxis[axis]) > _NEARLY_ALONG]


def _zero_configuration(model: mujoco.MjModel) -> mujoco.MjData:
    data = mujoco.MjData(model)
    data.qpos[[model.joint(name).qposadr[0] for name in scalar_joints(model)]] = 0.0
    mujoco.mj_kinematics(model, data)
    return data


def _box_corners_w_m(model: mujoco.MjModel, data: mujoco.MjData, foot_id: int) -> np.ndarray:
    """(8 · geoms, 3) corners of the bounding boxes of the foot's collision geometry."""
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    corners = []
    for geom in colliding_geoms(model, foot_id):
        in_geom_m = model.geom_aabb[geom, :3] + signs * model.geom_aabb[geom, 3:]
        corners.append(data.geom_xpos[geom] + in_geom_m @ data.geom_xmat[geom].reshape(3, 3).T)
    if not corners:
        raise HaloidError(f"{model.body(foot_id).name} has no collision geometry that shows where its sole is")
    return np.concatenate(corners)
