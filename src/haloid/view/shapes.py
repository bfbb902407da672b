"""Shapes of a robot as triangles, each in the frame of its body: primitives by their outline, meshes by their faces."""

from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from haloid.report.pictures.loads import Ellipsoid
from haloid.report.pictures.robot_scene import colour_of, shown_geoms
from haloid.report.pictures.shapes import outline_points, unit_ball

AROUND = 20
"""Facets around a round shape."""


@dataclass(frozen=True)
class Triangles:
    vertices_m: np.ndarray
    """(V, 3)"""
    faces: np.ndarray
    """(F, 3) rows of `vertices_m`, counter-clockwise from outside."""
    rgb: tuple[int, int, int]


def body_shapes(model: mujoco.MjModel) -> dict[int, list[Triangles]]:
    """By body, what there is to see of the robot."""
    shapes: dict[int, list[Triangles]] = {}
    for geom in shown_geoms(model):
        turn = Rotation.from_quat(model.geom_quat[geom], scalar_first=True)
        points, faces = _triangles(model, geom)
        rgb = (255 * np.clip(colour_of(model, geom), 0, 1)).astype(int)
        shape = Triangles(turn.apply(points) + model.geom_pos[geom], faces, (int(rgb[0]), int(rgb[1]), int(rgb[2])))
        shapes.setdefault(int(model.geom_bodyid[geom]), []).append(shape)
    return shapes


def ellipsoid_triangles(ellipsoid: Ellipsoid, rgb: tuple[int, int, int]) -> Triangles:
    """In the frame that the ellipsoid is in."""
    ball, faces = _hull(unit_ball(AROUND))
    return Triangles((ball * ellipsoid.half_axes_m) @ ellipsoid.axes.T + ellipsoid.centre_m, faces, rgb)


def _triangles(model: mujoco.MjModel, geom: int) -> tuple[np.ndarray, np.ndarray]:
    if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]
        first, count = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
        return outline_points(model, geom), model.mesh_face[first : first + count]
    return _hull(outline_points(model, geom, AROUND))


def _hull(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The convex hull, its faces turned outwards."""
    hull = ConvexHull(points)
    corners = points[hull.simplices]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inwards = np.einsum("fi,fi->f", normals, hull.equations[:, :3]) < 0
    return points, np.where(inwards[:, None], hull.simplices[:, ::-1], hull.simplices)
