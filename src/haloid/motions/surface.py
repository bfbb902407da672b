"""Motions, where a robot can touch the ground: the low points of its collision geometry, its soles among them.

In: a model and a `Motion`. Out: the lowest points of spheres and capsule ends, and corners of other shapes, in world
axes. Feet are the bodies that reach lowest in the zero configuration, in which a robot stands upright.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from haloid.errors import HaloidError
from haloid.robots.load import scalar_joints
from haloid.robots.sole import colliding_geoms
from haloid.trajectories.motion import Motion

FOOT_BAND_M = 0.02
"""Bodies whose lowest points are within this of the lowest of all are feet."""


@dataclass(frozen=True)
class Surface:
    """Points of a robot's collision geometry, each with the radius of the ball around it."""

    body_ids: np.ndarray
    """(points,) rows of the model's bodies."""
    in_body_m: np.ndarray
    """(points, 3)"""
    radius_m: np.ndarray
    """(points,)"""
    foot_ids: tuple[int, ...]

    def lowest_w_m(self, motion: Motion) -> np.ndarray:
        """(T, points, 3) the lowest point of every ball."""
        rows = self.body_ids - 1  # a motion leaves the world out
        frames, points = len(motion.body_pos_w_m), len(rows)
        quat_wxyz = motion.body_quat_wxyz[:, rows].reshape(-1, 4)
        turned = Rotation.from_quat(quat_wxyz, scalar_first=True).apply(np.tile(self.in_body_m, (frames, 1)))
        lowest = motion.body_pos_w_m[:, rows] + turned.reshape(frames, points, 3)
        lowest[..., 2] -= self.radius_m
        return lowest

    def of(self, body_id: int) -> np.ndarray:
        """Rows of the points of one body."""
        return np.flatnonzero(self.body_ids == body_id)

    @property
    def sole_rows(self) -> np.ndarray:
        return np.flatnonzero(np.isin(self.body_ids, self.foot_ids))


def surface_of(model: mujoco.MjModel) -> Surface:
    bodies, points, radii = [], [], []
    for body in range(1, model.nbody):
        for geom in colliding_geoms(model, body):
            in_geom_m, radius_m = _balls(model, geom)
            in_body_m = _rotation(model.geom_quat[geom]).apply(in_geom_m) + model.geom_pos[geom]
            bodies += [body] * len(in_body_m)
            points += list(in_body_m)
            radii += [radius_m] * len(in_body_m)
    if not bodies:
        raise HaloidError("the robot has no collision geometry that shows where it touches the ground")
    body_ids, in_body_m, radius_m = np.array(bodies), np.array(points), np.array(radii)
    return Surface(body_ids, in_body_m, radius_m, _feet(model, body_ids, in_body_m, radius_m))


def _balls(model: mujoco.MjModel, geom: int) -> tuple[np.ndarray, float]:
    """Centres in the geom's frame, and their radius: a sphere, a capsule's ends, else corners of the bounding box."""
    radius_m, half_length_m = model.geom_size[geom, :2]
    if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_SPHERE:
        return np.zeros((1, 3)), radius_m
    if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_CAPSULE:
        return np.array([[0, 0, -half_length_m], [0, 0, half_length_m]]), radius_m
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    return model.geom_aabb[geom, :3] + signs * model.geom_aabb[geom, 3:], 0.0


def _feet(model: mujoco.MjModel, body_ids: np.ndarray, in_body_m: np.ndarray, radius_m: np.ndarray) -> tuple[int, ...]:
    data = mujoco.MjData(model)
    data.qpos[[model.joint(name).qposadr[0] for name in scalar_joints(model)]] = 0.0
    mujoco.mj_kinematics(model, data)
    turned = np.einsum("pij,pj->pi", data.xmat[body_ids].reshape(-1, 3, 3), in_body_m)
    height_m = data.xpos[body_ids, 2] + turned[:, 2] - radius_m
    return tuple(int(body) for body in np.unique(body_ids[height_m < height_m.min() + FOOT_BAND_M]))


def _rotation(quat_wxyz: np.ndarray) -> Rotation:
    return Rotation.from_quat(quat_wxyz, scalar_first=True)
