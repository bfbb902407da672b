"""Robots, the result: a spec becomes one URDF file with the same link frames, inertias, joints and names.

MuJoCo moves a body by X(q) = T·E₁(q₁)·E₂(q₂)…, with T its pose in the parent, E(q) = Trans(p)·Rot(u, q − r)·Trans(−p)
for a hinge of anchor p and reference r, and E(q) = Trans(u·(q − r)) for a slide. A URDF joint is Origin·Rot(u, q). So
the reference goes into the origin, and where a body has several joints, or an anchor off its own origin, links in
between carry them; these weigh 10⁻¹⁴ kg, because MuJoCo refuses a moving link of no mass. Link frames stay as they are.

A floating robot's root is a link without joint. A robot fixed in the world hangs from a link `world`. URDF has no place
for armature (written as comments), springs, tendons, equality constraints, actuators, sensors and sites.

URDF knows boxes, cylinders and spheres. A capsule is written as a cylinder and two spheres, which is the same shape; an
ellipsoid as the sphere of the same volume, which is not. Planes, meshes, height fields and signed distance fields are
left out. As in MuJoCo's viewer, geoms of groups 0 to 2 are seen; those that touch anything (contype or conaffinity)
collide; a geom may be both.

The file is exact, and Pinocchio reads it exactly. MuJoCo takes the principal axes of a full inertia matrix to about
10⁻⁶ only; where that matters, load the MJCF.
"""

import logging
import xml.etree.ElementTree as ET
from pathlib import Path

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.outputs import atomic_file
from haloid.robots.frames import frame_of
from haloid.robots.inertia import LinkParameters, read_links

UNLIMITED_VELOCITY = 1e3
"""rad/s or m/s. MuJoCo models state no limit, and URDF requires one."""
UNLIMITED_EFFORT = 1e6
"""N·m or N, of a joint whose model states no limit."""
UNLIMITED_TRAVEL_M = 1e6
"""Of a slide without a range; a hinge without one is a URDF `continuous` joint."""
CARRIER = LinkParameters(1e-14, np.zeros(3), np.eye(3) * 1e-14)
"""A link between joints: just above what MuJoCo treats as zero (mjMINVAL, 10⁻¹⁵)."""

_WORLD = "world"
_VISIBLE_GROUPS = (0, 1, 2)
_SLIDE, _FREE = mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_FREE
_ON_JOINT = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
_HEADER = (
    " Written by haloid. Link frames, inertias (about the centre of mass), joints and names are those of the "
    "robot's MJCF. URDF has no armature: its values, comments at the joints, add to the mass matrix's diagonal. "
)

logger = logging.getLogger(__name__)


class WriteUrdfError(HaloidError):
    """A robot that URDF cannot describe."""


def write_urdf(spec: mujoco.MjSpec, path: str | Path) -> None:
    """Write the spec, which stays as it is, to a self-contained URDF file."""
    with atomic_file(Path(path)) as beside:
        beside.write_text(urdf_text(spec), encoding="utf-8")


def urdf_text(spec: mujoco.MjSpec) -> str:
    """The URDF of `write_urdf` as text."""
    model = spec.copy().compile()
    _refuse_unwritable(model)
    robot = ET.Element("robot", name=spec.modelname)
    robot.append(ET.Comment(_HEADER))
    mujoco_only = ET.SubElement(robot, "mujoco")  # other programs ignore it
    ET.SubElement(mujoco_only, "compiler", fusestatic="false", inertiafromgeom="false")
    _add_materials(robot, model)
    _Tree(robot, model).grow()
    _say_what_is_left_out(spec, model)
    ET.indent(robot)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(robot, encoding="unicode") + "\n"


def _refuse_unwritable(model: mujoco.MjModel) -> None:
    if unnamed := sum(1 for i in range(model.nbody) if not model.body(i).name):
        raise WriteUrdfError(f"links without a name: {unnamed}; URDF needs a name for each")
    for j in range(model.njnt):
        body, kind = model.body(model.jnt_bodyid[j]).name, mujoco.mjtJoint(model.jnt_type[j])
        if kind == mujoco.mjtJoint.mjJNT_BALL:
            raise WriteUrdfError(
                f"the link '{body}' has a ball joint, which URDF does not know; expected hinge and slide joints. "
                "Replace it by three hinges, or use the MJCF"
            )
        if kind != _FREE and not model.joint(j).name:
            raise WriteUrdfError(f"the link '{body}' has a joint without a name; URDF needs one")


def _roots(model: mujoco.MjModel) -> tuple[int | None, list[int]]:
    """The floating root, or none and the bodies that are joined to the world."""
    top = [i for i in range(1, model.nbody) if model.body_parentid[i] == 0]
    floating = [i for i in top if model.body_jntnum[i] and model.jnt_type[model.body_jntadr[i]] == _FREE]
    if not floating:
        return None, top
    others = [i for i in top if i != floating[0]]
    moving = [i for i in others if _moves(model, i)]
    if moving:
        names = ", ".join(model.body(i).name for i in [floating[0], *moving])
        raise WriteUrdfError(
            f"the model holds {1 + len(moving)} things that move independently: {names}. "
            "URDF describes one robot; delete the others from the spec"
        )
    if others:
        names = ", ".join(model.body(i).name for i in others)
        logger.warning("left out of the URDF, as it is not part of the robot:%s", names)
    return floating[0], []


def _moves(model: mujoco.MjModel, root: int) -> bool:
    return any(model.body_rootid[model.jnt_bodyid[j]] == root for j in range(model.njnt))


class _Tree:
    """Links and joints of the robot, in the model's order."""

    def __init__(self, robot: ET.Element, model: mujoco.MjModel) -> None:
        self.robot = robot
        self.model = model
        self.links = read_links(model)
        self.taken = set(self.links) | {model.joint(j).name for j in range(model.njnt)} | {_WORLD}
        self.efforts = _efforts(model)

    def grow(self) -> None:
        floating, fixed = _roots(self.model)
        if floating is not None:
            self._add_link(floating)
            self._add_children(floating)
            return
        ET.SubElement(self.robot, "link", name=_WORLD)
        for body_id in fixed:
            self._add_body(body_id, _WORLD)

    def _add_children(self, body_id: int) -> None:
        for child in np.flatnonzero(self.model.body_parentid == body_id):
            self._add_body(int(child), self.model.body(body_id).name)

    def _add_body(self, body_id: int, parent: str) -> None:
        model, link = self.model, self.model.body(body_id).name
        pose = frame_of(model.body_pos[body_id], model.body_quat[body_id])
        first, count = model.body_jntadr[body_id], model.body_jntnum[body_id]
        joined = False
        for j in range(first, first + count):
            anchor, before = _motion(model, j)
            joined = j == first + count - 1 and not np.any(anchor)
            child = link if joined else self._new_name(f"{link}_at_{model.joint(j).name}")
            if not joined:
                _add_inertial(ET.SubElement(self.robot, "link", name=child), CARRIER)
            self._add_joint(j, parent, child, pose @ before)
            parent, pose = child, np.eye(4)
            pose[:3, 3] = -anchor
        self._add_link(body_id)
        if not joined:
            _add_frame(self.robot, self._new_name(f"{link}_fixed"), "fixed", parent, link, pose)
        self._add_children(body_id)

    def _add_link(self, body_id: int) -> None:
        name = self.model.body(body_id).name
        link = ET.SubElement(self.robot, "link", name=name)
        if self.links[name].mass_kg > 0:
            _add_inertial(link, self.links[name])
        _add_geoms(link, self.model, body_id)

    def _add_joint(self, j: int, parent: str, child: str, pose: np.ndarray) -> None:
        model, dof = self.model, self.model.jnt_dofadr[j]
        limited, slides = bool(model.jnt_limited[j]), model.jnt_type[j] == _SLIDE
        kind = "prismatic" if slides else "revolute" if limited else "continuous"
        joint = _add_frame(self.robot, model.joint(j).name, kind, parent, child, pose)
        ET.SubElement(joint, "axis", xyz=_numbers(model.jnt_axis[j]))
        limits = {"effort": _number(self.efforts[j]), "velocity": _number(UNLIMITED_VELOCITY)}
        if limited or slides:
            lower, upper = model.jnt_range[j] if limited else (-UNLIMITED_TRAVEL_M, UNLIMITED_TRAVEL_M)
            limits = {"lower": _number(lower), "upper": _number(upper)} | limits
        ET.SubElement(joint, "limit", limits)
        damping, friction = _number(model.dof_damping[dof]), _number(model.dof_frictionloss[dof])
        ET.SubElement(joint, "dynamics", damping=damping, friction=friction)
        if model.dof_armature[dof]:
            joint.append(ET.Comment(f" armature {_number(model.dof_armature[dof])} "))

    def _new_name(self, wish: str) -> str:
        while wish in self.taken:
            wish += "_"
        self.taken.add(wish)
        return wish


def _motion(model: mujoco.MjModel, j: int) -> tuple[np.ndarray, np.ndarray]:
    """The joint's anchor in the link frame, and the constant motion (4, 4) that goes before its URDF motion."""
    axis, ref = model.jnt_axis[j], model.qpos0[model.jnt_qposadr[j]]
    before = np.eye(4)
    if model.jnt_type[j] == _SLIDE:
        before[:3, 3] = -ref * axis
        return np.zeros(3), before
    turn = np.empty(4)
    mujoco.mju_axisAngle2Quat(turn, axis, -ref)
    return model.jnt_pos[j], frame_of(model.jnt_pos[j], turn)


def _add_frame(robot: ET.Element, name: str, kind: str, parent: str, child: str, pose: np.ndarray) -> ET.Element:
    joint = ET.SubElement(robot, "joint", name=name, type=kind)
    _add_origin(joint, pose)
    ET.SubElement(joint, "parent", link=parent)
    ET.SubElement(joint, "child", link=child)
    return joint


def _add_inertial(link: ET.Element, parameters: LinkParameters) -> None:
    """Along the link's axes, never along others: MuJoCo loses the rotation of an inertial origin (its issue 3559)."""
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "origin", xyz=_numbers(parameters.com_in_link_m), rpy="0 0 0")
    ET.SubElement(inertial, "mass", value=_number(parameters.mass_kg))
    inertia = (parameters.inertia_about_com + parameters.inertia_about_com.T) / 2
    entries = {f"i{'xyz'[i]}{'xyz'[k]}": _number(inertia[i, k]) for i in range(3) for k in range(i, 3)}
    ET.SubElement(inertial, "inertia", entries)


def _efforts(model: mujoco.MjModel) -> np.ndarray:
    """Each joint's largest torque or force: the smaller of its own limit and its actuator's."""
    efforts = np.full(model.njnt, UNLIMITED_EFFORT)
    for a in range(model.nu):
        if model.actuator_trntype[a] in _ON_JOINT and model.actuator_forcelimited[a]:
            j = model.actuator_trnid[a, 0]
            largest = np.max(np.abs(model.actuator_forcerange[a])) * abs(model.actuator_gear[a, 0])
            efforts[j] = min(efforts[j], largest)
    for j in np.flatnonzero(model.jnt_actfrclimited):
        efforts[j] = min(efforts[j], np.max(np.abs(model.jnt_actfrcrange[j])))
    return efforts


def _say_what_is_left_out(spec: mujoco.MjSpec, model: mujoco.MjModel) -> None:
    counts = {
        "joint springs": np.count_nonzero(model.jnt_stiffness),
        "joints' nonlinear dampings": np.count_nonzero(np.any(model.dof_dampingpoly, axis=1)),
        "tendons": model.ntendon,
        "equality constraints": model.neq,
        "geoms without a URDF shape": sum(
            1 for i in range(model.ngeom) if model.geom_bodyid[i] > 0 and not _is_written(model, i)
        ),
    }
    found = [f"{what} ({count})" for what, count in counts.items() if count]
    if found:
        logger.warning("the URDF of '%s' leaves out: %s", spec.modelname, ", ".join(found))


def _is_written(model: mujoco.MjModel, geom_id: int) -> bool:
    return bool(_shapes(mujoco.mjtGeom(model.geom_type[geom_id]), model.geom_size[geom_id]))


def _add_geoms(link: ET.Element, model: mujoco.MjModel, body_id: int) -> None:
    """Add the body's geoms to its <link>."""
    first = model.body_geomadr[body_id]
    geoms = range(first, first + model.body_geomnum[body_id])
    for geom_id in geoms:
        if model.geom_group[geom_id] in _VISIBLE_GROUPS:
            _add_geom(link, "visual", model, geom_id)
    for geom_id in geoms:
        if model.geom_contype[geom_id] or model.geom_conaffinity[geom_id]:
            _add_geom(link, "collision", model, geom_id)


def _add_materials(robot: ET.Element, model: mujoco.MjModel) -> None:
    """Define, once for the robot, the colours that its <visual> elements name."""
    seen = [i for i in range(model.ngeom) if model.geom_group[i] in _VISIBLE_GROUPS and model.geom_bodyid[i] > 0]
    for name, rgba in dict(_material(model, geom_id) for geom_id in seen).items():
        material = ET.SubElement(robot, "material", name=name)
        ET.SubElement(material, "color", rgba=" ".join(f"{value:.6g}" for value in rgba))


def _add_origin(element: ET.Element, pose: np.ndarray) -> None:
    """Add <origin>: a pose (4, 4) as position and fixed-axis roll, pitch, yaw, R = Rz(yaw)·Ry(pitch)·Rx(roll).

    With yaw taken out first, pitch and roll are well determined even where yaw is not (pitch ±90°).
    """
    R = pose[:3, :3]
    yaw = np.arctan2(R[1, 0], R[0, 0])
    c, s = np.cos(yaw), np.sin(yaw)
    unyawed = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) @ R
    pitch = np.arctan2(-unyawed[2, 0], unyawed[0, 0])
    roll = np.arctan2(-unyawed[1, 2], unyawed[1, 1])
    ET.SubElement(element, "origin", xyz=_numbers(pose[:3, 3]), rpy=_numbers([roll, pitch, yaw]))


def _numbers(values) -> str:
    """In full precision: reading gives the same bits."""
    return " ".join(_number(value) for value in values)


def _number(value: float) -> str:
    return repr(float(value) + 0.0)  # no -0.0


def _add_geom(link: ET.Element, tag: str, model: mujoco.MjModel, geom_id: int) -> None:
    name = model.geom(geom_id).name
    pose = frame_of(model.geom_pos[geom_id], model.geom_quat[geom_id])
    shapes = _shapes(mujoco.mjtGeom(model.geom_type[geom_id]), model.geom_size[geom_id])
    for part, (shape, along_z, attributes) in enumerate(shapes):
        element = ET.SubElement(link, tag)
        if name:
            element.set("name", name if part == 0 else f"{name}_end{part}")
        offset = np.eye(4)
        offset[2, 3] = along_z
        _add_origin(element, pose @ offset)
        ET.SubElement(ET.SubElement(element, "geometry"), shape, attributes)
        if tag == "visual":
            ET.SubElement(element, "material", name=_material(model, geom_id)[0])


def _shapes(kind: mujoco.mjtGeom, size: np.ndarray) -> list[tuple[str, float, dict[str, str]]]:
    """URDF shapes of a geom: tag, place along the geom's z axis, attributes."""

    def sphere(radius: float, along_z: float = 0.0):
        return "sphere", along_z, {"radius": _number(radius)}

    cylinder = ("cylinder", 0.0, {"radius": _number(size[0]), "length": _number(2 * size[1])})
    match kind:
        case mujoco.mjtGeom.mjGEOM_SPHERE:
            return [sphere(size[0])]
        case mujoco.mjtGeom.mjGEOM_CAPSULE:
            return [cylinder, sphere(size[0], -size[1]), sphere(size[0], size[1])]
        case mujoco.mjtGeom.mjGEOM_CYLINDER:
            return [cylinder]
        case mujoco.mjtGeom.mjGEOM_BOX:
            return [("box", 0.0, {"size": _numbers(2 * size)})]
        case mujoco.mjtGeom.mjGEOM_ELLIPSOID:
            return [sphere(np.cbrt(np.prod(size)))]
    return []


def _material(model: mujoco.MjModel, geom_id: int) -> tuple[str, tuple[float, ...]]:
    material_id = model.geom_matid[geom_id]
    if material_id >= 0:
        return model.material(material_id).name, tuple(model.mat_rgba[material_id])
    rgba = tuple(model.geom_rgba[geom_id])
    return "rgba_" + "_".join(f"{value:.3g}" for value in rgba), rgba
