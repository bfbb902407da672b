"""What a geom looks like: points whose convex hull is its shape, for pictures that need no graphics card."""

import mujoco
import numpy as np


def outline_points(model: mujoco.MjModel, geom: int, around: int = 24) -> np.ndarray:
    """(n, 3) in the geom's frame, whose convex hull is the shape; `around`: points on a full circle."""
    kind, size = model.geom_type[geom], model.geom_size[geom]
    angle = np.linspace(0, 2 * np.pi, around, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
    ball = unit_ball(around)
    match kind:
        case mujoco.mjtGeom.mjGEOM_SPHERE:
            return size[0] * ball
        case mujoco.mjtGeom.mjGEOM_ELLIPSOID:
            return size * ball
        case mujoco.mjtGeom.mjGEOM_CAPSULE:
            return np.concatenate([size[0] * ball + [0, 0, end * size[1]] for end in (-1, 1)])
        case mujoco.mjtGeom.mjGEOM_CYLINDER:
            return np.concatenate([size[0] * circle + [0, 0, end * size[1]] for end in (-1, 1)])
        case mujoco.mjtGeom.mjGEOM_MESH:
            first, count = model.mesh_vertadr[model.geom_dataid[geom]], model.mesh_vertnum[model.geom_dataid[geom]]
            return model.mesh_vert[first : first + count]
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    return model.geom_aabb[geom, :3] + signs * model.geom_aabb[geom, 3:]


def unit_ball(around: int) -> np.ndarray:
    """(n, 3) points on the sphere of radius 1, in circles of `around` points."""
    angle = np.linspace(0, 2 * np.pi, around, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
    latitudes = np.linspace(-np.pi / 2, np.pi / 2, around // 2 + 1)
    return np.concatenate([circle * np.cos(lat) + [0, 0, np.sin(lat)] for lat in latitudes])
