"""Robots, a detail of writing URDF: a link's geoms become <visual> and <collision> elements.

URDF knows boxes, cylinders and spheres. A capsule is written as a cylinder and two spheres, which is the same shape; an
ellipsoid as the sphere of the same volume, which is not. Planes, meshes, height fields and signed distance fields are
left out. As in MuJoCo's viewer, geoms of groups 0 to 2 are seen; those that touch anything (contype or conaffinity)
collide; a geom may be both.
"""

import xml.etree.ElementTree as ET

import mujoco
import numpy as np

_VISIBLE_GROUPS = (0, 1, 2)


def is_written(model: mujoco.MjModel, geom_id: int) -> bool:
    return bool(_shapes(mujoco.mjtGeom(model.geom_type[geom_id]), model.geom_size[geom_id]))


def add_geoms(link: ET.Element, model: mujoco.MjModel, body_id: int) -> None:
    """Add the body's geoms to its <link>."""
    first = model.body_geomadr[body_id]
    geoms = range(first, first + model.body_geomnum[body_id])
    for geom_id in geoms:
        if model.geom_group[geom_id] in _VISIBLE_GROUPS:
            _add_geom(link, "visual", model, geom_id)
    for geom_id in geoms:
        if model.geom_contype[geom_id] or model.geom_conaffinity[geom_id]:
            _add_geom(link, "collision", model, geom_id)


def add_materials(robot: ET.Element, model: mujoco.MjModel) -> None:
    """Define, once for the robot, the colours that its <visual> elements name."""
    seen = [i for i in range(model.ngeom) if model.geom_group[i] in _VISIBLE_GROUPS and model.geom_bodyid[i] > 0]
    for name, rgba in dict(_material(model, geom_id) for geom_id in seen).items():
        material = ET.SubElement(robot, "material", name=name)
        ET.SubElement(material, "color", rgba=" ".join(f"{value:.6g}" for value in rgba))


def add_origin(element: ET.Element, pose: np.ndarray) -> None:
    """Add <origin>: a pose (4, 4) as position and fixed-axis roll, pitch, yaw, R = Rz(yaw)·Ry(pitch)·Rx(roll).

    With yaw taken out first, pitch and roll are well determined even where yaw is not (pitch ±90°).
    """
    R = pose[:3, :3]
    yaw = np.arctan2(R[1, 0], R[0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    unyawed = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) @ R
    pitch = np.arctan2(-unyawed[2, 0], unyawed[0, 0])
    roll = np.arctan2(-unyawed[1, 2], unyawed[1, 1])
    ET.SubElement(element, "origin", xyz=numbers(pose[:3, 3]), rpy=numbers([roll, pitch, yaw]))


def pose_of(pos: np.ndarray, quat_wxyz: np.ndarray) -> np.ndarray:
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, quat_wxyz)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation.reshape(3, 3), pos
    return pose


def numbers(values) -> str:
    """In full precision: reading gives the same bits."""
    return " ".join(number(value) for value in values)


def number(value: float) -> str:
    return repr(float(value) + 0.0)  # no -0.0


def _add_geom(link: ET.Element, tag: str, model: mujoco.MjModel, geom_id: int) -> None:
    name = model.geom(geom_id).name
    pose = pose_of(model.geom_pos[geom_id], model.geom_quat[geom_id])
    shapes = _shapes(mujoco.mjtGeom(model.geom_type[geom_id]), model.geom_size[geom_id])
    for part, (shape, along_z, attributes) in enumerate(shapes):
        element = ET.SubElement(link, tag)
        if name:
            element.set("name", name if part == 0 else f"{name}_end{part}")
        offset = np.eye(4)
        offset[2, 3] = along_z
        add_origin(element, pose @ offset)
        ET.SubElement(ET.SubElement(element, "geometry"), shape, attributes)
        if tag == "visual":
            ET.SubElement(element, "material", name=_material(model, geom_id)[0])


def _shapes(kind: mujoco.mjtGeom, size: np.ndarray) -> list[tuple[str, float, dict[str, str]]]:
    """URDF shapes of a geom: tag, place along the geom's z axis, attributes."""

    def sphere(radius: float, along_z: float = 0.0):
        return "sphere", along_z, {"radius": number(radius)}

    cylinder = ("cylinder", 0.0, {"radius": number(size[0]), "length": number(2 * size[1])})
    match kind:
        case mujoco.mjtGeom.mjGEOM_SPHERE:
            return [sphere(size[0])]
        case mujoco.mjtGeom.mjGEOM_CAPSULE:
            return [cylinder, sphere(size[0], -size[1]), sphere(size[0], size[1])]
        case mujoco.mjtGeom.mjGEOM_CYLINDER:
            return [cylinder]
        case mujoco.mjtGeom.mjGEOM_BOX:
            return [("box", 0.0, {"size": numbers(2 * size)})]
        case mujoco.mjtGeom.mjGEOM_ELLIPSOID:
            return [sphere(np.cbrt(np.prod(size)))]
    return []


def _material(model: mujoco.MjModel, geom_id: int) -> tuple[str, tuple[float, ...]]:
    material_id = model.geom_matid[geom_id]
    if material_id >= 0:
        return model.material(material_id).name, tuple(model.mat_rgba[material_id])
    rgba = tuple(model.geom_rgba[geom_id])
    return "rgba_" + "_".join(f"{value:.3g}" for value in rgba), rgba
