"""Clamping: hold one link of a robot fixed in the world by re-rooting its kinematic tree at that link.

In: the MjSpec of a floating (or rigidly mounted) robot and the name of a link. Out: an MjSpec of the same
robot as a fixed-base tree that grows from that link. A robot whose foot is held by a vise *is* such a tree, so no
free joint, weld or solver is left, the state is exactly what the encoders measure, and forward kinematics is HALO's
full-body reconstruction (section III-A).

Only the chain from the old root A₀ to the clamped link A_k changes. With T the pose of A_{i+1} in A_i at the joint's
reference and E(q) = Trans(p)·Rot(u, q)·Trans(-p) the joint's motion, X(q) = T·E(q) has the inverse
X⁻¹(q) = T⁻¹·[T·E(q)⁻¹·T⁻¹], again a joint: axis -R·u and anchor T·p in the frame of A_i, the same coordinate q.
Every joint keeps its name, coordinate, limits and passive properties; only the order of the joints changes.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from itertools import pairwise, product

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.robots.frames import rotation_of

_OLD = "old tree/"
_HELD_KINDS = ("joints", "geoms", "sites", "cameras", "lights", "frames")
_STRUCTURE = {"parent", "frame", "id", "signature", "compiler", "classname", "childclass", "info", "plugin"}
_BODY_LISTS = {"bodies", "joints", "geoms", "sites", "cameras", "lights", "frames"}


class ClampError(HaloidError):
    """The robot cannot be held by the requested link."""


def clamp(spec: mujoco.MjSpec, link: str | None, pose: Sequence[float] | np.ndarray | None = None) -> mujoco.MjSpec:
    """Returns a copy of `spec` with `link` fixed in the world; `spec` itself is left as it is.

    `pose` is the link's position and wxyz quaternion in the world; by default it stands where it does in the zero
    configuration (all joints 0, root as in the model). `link=None` returns the model as it is: a fixed-base arm.
    """
    new = spec.copy()
    if link is None:
        return new
    new.compiler.fusestatic = False  # the clamped link is static: it must stay a link
    model = new.compile()
    chain = _chain_to_root(new, model, link)
    pose_w = _zero_pose(model, link) if pose is None else _checked_pose(pose)

    keys = [_JointwiseKey(model, key) for key in new.keys]
    for key in list(new.keys):
        new.delete(key)
    old_bodies = {body.name: body for body in new.bodies}
    for element in _elements_below(old_bodies[chain[-1]]):
        if element.name:  # references (actuators, sensors, ...) go by name, so the new tree inherits them
            element.name = _OLD + element.name
    resolve_damping_ratios(new, model)

    grower = _Grower(model, old_bodies, chain)
    clamped = grower.add(new.worldbody, old_bodies[chain[0]], pose_w[:3], pose_w[3:], joints=False)
    for child_name, parent_name in pairwise(chain):
        clamped = grower.add_reversed(clamped, child_name, parent_name)
    new.compile()  # makes all references point into the new tree; MuJoCo deletes those into the old one with it
    new.delete(old_bodies[chain[-1]])
    _exclude_neighbours(new, link)
    new_model = new.compile()
    _drop_static_pairs(new, new_model)
    for key in keys:
        key.add_to(new, new_model)
    return new


def _chain_to_root(spec: mujoco.MjSpec, model: mujoco.MjModel, link: str) -> list[str]:
    """Names from `link` up to the root of its tree; refuses what cannot be reversed."""
    bodies = [body.name for body in spec.bodies if body.name != "world"]
    if link not in bodies:
        near = get_close_matches(link, bodies, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"the links are: {', '.join(bodies)}"
        raise ClampError(f"the robot has no link '{link}' to clamp; {hint}")
    if unnamed := sum(1 for body in spec.bodies if not body.name):
        raise ClampError(f"links without a name: {unnamed}; name every body to clamp one")
    chain = [link]
    while (parent := spec.body(chain[-1]).parent).name != "world":
        chain.append(parent.name)
    for name in chain:
        body = model.body(name)
        is_root = name == chain[-1]
        for j in range(body.jntadr[0], body.jntadr[0] + body.jntnum[0]):
            kind = mujoco.mjtJoint(model.jnt_type[j])
            if is_root and kind == mujoco.mjtJoint.mjJNT_FREE:
                continue
            if is_root:
                raise ClampError(
                    f"the robot's root '{name}' is joined to the world by the joint '{model.joint(j).name}'; "
                    "a second clamp would close a loop. Use clamp null for a robot with a fixed base"
                )
            if kind not in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
                raise ClampError(
                    f"the joint '{model.joint(j).name}' between '{link}' and the root is a "
                    f"{kind.name[6:].lower()} joint; only hinge and slide joints can be reversed"
                )
    return chain


def _elements_below(body) -> list:
    """The body, its subtree and everything that is fixed to them."""
    elements = [body] + [element for kind in _HELD_KINDS for element in getattr(body, kind)]
    return elements + [element for child in body.bodies for element in _elements_below(child)]


def resolve_damping_ratios(spec: mujoco.MjSpec, model: mujoco.MjModel) -> None:
    """Writes damping that MuJoCo derives from the inertia of the whole tree as numbers: they belong to the old tree."""
    for actuator in spec.actuators:
        if actuator.biastype == mujoco.mjtBias.mjBIAS_AFFINE and actuator.biasprm[2] > 0:
            actuator.biasprm[2] = model.actuator_biasprm[actuator.id, 2]
    for joint in spec.joints:
        if np.any(joint.springdamper):
            joint.stiffness[0] = model.jnt_stiffness[joint.id]
            joint.damping[0] = model.dof_damping[model.jnt_dofadr[joint.id]]
            joint.springdamper = [0.0, 0.0]


def _exclude_neighbours(spec: mujoco.MjSpec, link: str) -> None:
    """Keeps the clamped link from touching the links joined to it.

    MuJoCo lets no link touch its parent, unless the parent is fixed in the world, as the clamped link now is.
    """
    fixed, joined = _rigid_group(spec.body(link))
    moving = [body for neighbour in joined for body in _rigid_group(neighbour)[0]]
    known = {frozenset((exclude.bodyname1, exclude.bodyname2)) for exclude in spec.excludes}
    for one, other in product(fixed, moving):
        if one.geoms and other.geoms and frozenset((one.name, other.name)) not in known:
            spec.add_exclude(bodyname1=one.name, bodyname2=other.name)


def _drop_static_pairs(spec: mujoco.MjSpec, model: mujoco.MjModel) -> None:
    """Deletes contact pairs of the clamped link with the world: MuJoCo gives up on contacts between static bodies."""
    static = {model.geom(i).name for i in range(model.ngeom) if model.body_weldid[model.geom_bodyid[i]] == 0}
    for pair in list(spec.pairs):
        if {pair.geomname1, pair.geomname2} <= static:
            spec.delete(pair)


def _rigid_group(body) -> tuple[list, list]:
    """The body with those welded to it from below, and the bodies that joints connect to this group."""
    group, joined = [body], []
    for member in group:
        for child in member.bodies:
            (joined if child.joints else group).append(child)
    return group, joined


def _zero_pose(model: mujoco.MjModel, link: str) -> np.ndarray:
    data = mujoco.MjData(model)
    for j in range(model.njnt):
        if model.jnt_type[j] in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
            data.qpos[model.jnt_qposadr[j]] = 0.0
    mujoco.mj_kinematics(model, data)
    return np.concatenate([data.body(link).xpos, data.body(link).xquat])


def _checked_pose(pose: Sequence[float] | np.ndarray) -> np.ndarray:
    pose_w = np.asarray(pose, float)
    if pose_w.shape != (7,) or not np.all(np.isfinite(pose_w)) or np.linalg.norm(pose_w[3:]) < 1e-6:
        raise ClampError(f"clamp_pose is {pose}; expected 7 numbers: x y z in metres and a quaternion w x y z")
    return np.concatenate([pose_w[:3], pose_w[3:] / np.linalg.norm(pose_w[3:])])


class _Grower:
    """Copies bodies of the old tree into the new one."""

    def __init__(self, model: mujoco.MjModel, old_bodies: dict, chain: list[str]) -> None:
        self.model = model
        self.old_bodies = old_bodies
        self.chain = set(chain)

    def add(self, parent, old, pos, quat, *, joints: bool):
        """Adds a copy of the body `old` below `parent`, with all of its off-chain subtree."""
        name = old.name.removeprefix(_OLD)
        body = parent.add_body(name=name)
        _copy_fields(old, body, skip=_BODY_LISTS | {"pos", "quat", "alt", "name"})
        body.pos, body.quat = pos, quat
        frames = _copy_frames(old, body)
        kinds = ("geom", "site", "camera", "light") + (("joint",) if joints else ())
        for kind in kinds:
            for element in getattr(old, kind + "s"):
                copy = getattr(body, "add_" + kind)()
                _copy_fields(element, copy, skip={"name"})
                copy.name = element.name.removeprefix(_OLD)
                if element.frame is not None:
                    copy.set_frame(frames[element.frame])
        for child in old.bodies:
            child_name = child.name.removeprefix(_OLD)
            if child_name not in self.chain:
                resolved = self.model.body(child_name)
                self.add(body, child, resolved.pos, resolved.quat, joints=True)
        return body

    def add_reversed(self, new_parent, old_child_name: str, old_parent_name: str):
        """Adds the old parent below the old child, joined by the child's joints run backwards."""
        child = self.model.body(old_child_name)
        rotation = rotation_of(child.quat)
        inverse_quat = np.empty(4)
        mujoco.mju_negQuat(inverse_quat, child.quat)
        old_parent = self.old_bodies[old_parent_name]
        body = self.add(new_parent, old_parent, -rotation.T @ child.pos, inverse_quat, joints=False)
        resolved_ids = range(child.jntadr[0], child.jntadr[0] + child.jntnum[0])
        old_joints = self.old_bodies[old_child_name].joints
        for joint_id, old in reversed(list(zip(resolved_ids, old_joints, strict=True))):
            joint = body.add_joint()
            _copy_fields(old, joint, skip={"name", "pos", "axis"})
            joint.name = old.name.removeprefix(_OLD)
            joint.pos = child.pos + rotation @ self.model.jnt_pos[joint_id]
            joint.axis = -rotation @ self.model.jnt_axis[joint_id]
        return body


def _copy_frames(old, body) -> dict:
    frames = {}
    for frame in old.frames:
        copy = body.add_frame(name=frame.name.removeprefix(_OLD), pos=frame.pos, quat=frame.quat)
        _copy_fields(frame.alt, copy.alt, skip=set())
        frames[frame] = copy
    for frame in old.frames:
        if frame.frame is not None:
            frames[frame].set_frame(frames[frame.frame])
    return frames


def _copy_fields(source, target, skip: set[str]) -> None:
    for field in dir(source):
        if field.startswith(("_", "add_", "first_", "next_")) or field in _STRUCTURE or field in skip:
            continue
        value = getattr(source, field)
        if callable(value):
            continue
        if isinstance(value, mujoco._specs.MjsOrientation):
            _copy_fields(value, getattr(target, field), skip=set())
        else:
            setattr(target, field, value)


class _JointwiseKey:
    """A keyframe stored by joint, since the order of the coordinates changes and the root's free joint goes."""

    def __init__(self, model: mujoco.MjModel, key) -> None:
        self.kept = {field: getattr(key, field) for field in ("name", "time", "act", "ctrl", "mpos", "mquat")}
        self.qpos = _by_joint(model, key.qpos, model.nq, model.jnt_qposadr)
        self.qvel = _by_joint(model, key.qvel, model.nv, model.jnt_dofadr)

    def add_to(self, spec: mujoco.MjSpec, model: mujoco.MjModel) -> None:
        qpos, qvel = model.qpos0.copy(), np.zeros(model.nv)
        for vector, values, addresses in ((qpos, self.qpos, model.jnt_qposadr), (qvel, self.qvel, model.jnt_dofadr)):
            for j in range(model.njnt):
                value = values.get(model.joint(j).name, ())
                vector[addresses[j] : addresses[j] + len(value)] = value
        spec.add_key(qpos=qpos, qvel=qvel, **self.kept)


def _by_joint(model: mujoco.MjModel, values, size: int, addresses: np.ndarray) -> dict[str, np.ndarray]:
    """A key's coordinates by the joint's name; none where the key leaves them open."""
    if len(values) != size:
        return {}
    names = [model.joint(j).name for j in range(model.njnt)]
    return {name: part for name, part in zip(names, np.split(values, addresses[1:]), strict=True) if name}
