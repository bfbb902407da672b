"""Link parameters and how a payload changes them: the vocabulary of identification.

A link's ten inertial parameters are its mass, its centre of mass in the link frame and its rotational inertia about
the centre of mass along the link frame's axes. Two changes are known: HALO's perturbation (mass and CoM offsets, the
inertia about the CoM kept; Table II) and a rigidly attached payload (parallel-axis theorem). Both can be read from
and written to an MjModel or an MjSpec, and anything unphysical is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.robots.frames import rotation_of

_TRIANGLE_SLACK = 1e-9
"""Relative slack of the triangle inequality: published inertias of flat parts lie on its edge."""


class LinkError(HaloidError):
    """A link that does not exist, or parameters no rigid body can have."""


@dataclass(frozen=True)
class LinkParameters:
    """The inertial parameters of one rigid link."""

    mass_kg: float
    com_in_link_m: np.ndarray
    inertia_about_com: np.ndarray
    """(3, 3) kg·m², along the axes of the link frame."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "com_in_link_m", np.asarray(self.com_in_link_m, float).reshape(3))
        object.__setattr__(self, "inertia_about_com", np.asarray(self.inertia_about_com, float).reshape(3, 3))


@dataclass(frozen=True)
class Payload:
    """A rigid thing fixed to a link."""

    mass_kg: float
    com_in_link_m: np.ndarray
    inertia_about_com: np.ndarray | None = None
    """(3, 3) kg·m² along the link frame's axes; None: a point mass."""


def check_physical(link: str, parameters: LinkParameters) -> None:
    """Raises LinkError unless a rigid body can have these parameters."""
    mass, com, inertia = parameters.mass_kg, parameters.com_in_link_m, parameters.inertia_about_com
    if not (np.isfinite(mass) and np.all(np.isfinite(com)) and np.all(np.isfinite(inertia))):
        raise LinkError(f"link '{link}': mass, CoM and inertia must be finite numbers; found mass {mass} kg, CoM {com}")
    if mass < 0:
        raise LinkError(f"link '{link}': the mass would be {mass:.6g} kg; a mass must not be negative")
    if not np.allclose(inertia, inertia.T, rtol=1e-9, atol=1e-15):
        raise LinkError(f"link '{link}': the inertia matrix is not symmetric")
    principal = np.linalg.eigvalsh(inertia)
    if principal[0] < -_TRIANGLE_SLACK * max(principal[2], 1e-12):
        raise LinkError(f"link '{link}': the principal inertia {principal[0]:.6g} kg·m² is negative")
    if principal[0] + principal[1] < principal[2] * (1 - _TRIANGLE_SLACK):
        raise LinkError(
            f"link '{link}': principal inertias {principal[0]:.6g}, {principal[1]:.6g}, {principal[2]:.6g} kg·m² "
            "violate the triangle inequality (the two smaller must add up to at least the largest)"
        )


def perturb(link: LinkParameters, mass_offset_kg: float, com_offset_m=(0.0, 0.0, 0.0)) -> LinkParameters:
    """HALO's perturbation (Table II): mass and CoM offsets, inertia about the CoM kept."""
    return replace(
        link,
        mass_kg=link.mass_kg + mass_offset_kg,
        com_in_link_m=link.com_in_link_m + np.asarray(com_offset_m, float),
    )


def attach(link: LinkParameters, payload: Payload) -> LinkParameters:
    """The link with a payload fixed to it, composed by the parallel-axis theorem."""
    mass = link.mass_kg + payload.mass_kg
    if mass <= 0:
        raise LinkError(f"link and payload together would weigh {mass:.6g} kg; expected a positive mass")
    payload_com = np.asarray(payload.com_in_link_m, float)
    com = (link.mass_kg * link.com_in_link_m + payload.mass_kg * payload_com) / mass
    inertia = link.inertia_about_com + _steiner(link.mass_kg, link.com_in_link_m - com)
    inertia = inertia + _steiner(payload.mass_kg, payload_com - com)
    if payload.inertia_about_com is not None:
        inertia = inertia + np.asarray(payload.inertia_about_com, float)
    return LinkParameters(mass, com, inertia)


def detach(loaded: LinkParameters, base: LinkParameters) -> Payload:
    """What was added to `base` to give `loaded`; what weighs nothing has no position (NaN)."""
    mass = loaded.mass_kg - base.mass_kg
    moment = loaded.mass_kg * loaded.com_in_link_m - base.mass_kg * base.com_in_link_m
    com = moment / mass if mass != 0 else np.full(3, np.nan)
    inertia = loaded.inertia_about_com - base.inertia_about_com
    inertia = inertia - _steiner(base.mass_kg, base.com_in_link_m - loaded.com_in_link_m)
    return Payload(mass, com, inertia - _steiner(mass, com - loaded.com_in_link_m))


def _steiner(mass_kg: float, offset_m: np.ndarray) -> np.ndarray:
    return mass_kg * (offset_m @ offset_m * np.eye(3) - np.outer(offset_m, offset_m))


def read_links(source: mujoco.MjModel | mujoco.MjSpec) -> dict[str, LinkParameters]:
    """The parameters of every named link."""
    model = source.copy().compile() if isinstance(source, mujoco.MjSpec) else source
    return {name: _read(model, i) for i in range(1, model.nbody) if (name := model.body(i).name)}


def find_link(model: mujoco.MjModel, link: str) -> int:
    """The body id of a link; an error names the nearest links."""
    body_id = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, link)
    if body_id < 1:
        names = [model.body(i).name for i in range(1, model.nbody)]
        near = get_close_matches(link, names, n=3, cutoff=0.5) or names
        raise LinkError(f"the robot has no link '{link}'; the nearest are: {', '.join(near)}")
    return body_id


def _read(model: mujoco.MjModel, body_id: int) -> LinkParameters:
    rotation = rotation_of(model.body_iquat[body_id])
    inertia = rotation @ np.diag(model.body_inertia[body_id]) @ rotation.T
    return LinkParameters(float(model.body_mass[body_id]), model.body_ipos[body_id].copy(), inertia)


def write_links(target: mujoco.MjModel | mujoco.MjSpec, links: Mapping[str, LinkParameters]) -> None:
    """Writes link parameters; in an MjModel also everything MuJoCo derives from them (`mj_setConst`)."""
    for link, parameters in links.items():
        check_physical(link, parameters)
    if isinstance(target, mujoco.MjSpec):
        _write_to_spec(target, links)
    else:
        _write_to_model(target, links)


def _write_to_spec(spec: mujoco.MjSpec, links: Mapping[str, LinkParameters]) -> None:
    model = spec.copy().compile()
    for link in links:
        find_link(model, link)
    compiler = spec.compiler
    if compiler.inertiafromgeom == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE or compiler.settotalmass > 0:
        links = read_links(model) | dict(links)  # what compiling would derive again would undo what is written
        compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO
        compiler.settotalmass = -1
    bodies = {body.name: body for body in spec.bodies}
    for link, parameters in links.items():
        body = bodies[link]
        body.explicitinertial = True
        body.mass, body.ipos = parameters.mass_kg, parameters.com_in_link_m
        body.inertia, body.iquat = principal_axes(parameters.inertia_about_com)
        body.fullinertia = np.full(6, np.nan)
        body.ialt.type = mujoco.mjtOrientation.mjORIENTATION_QUAT


def _write_to_model(model: mujoco.MjModel, links: Mapping[str, LinkParameters]) -> None:
    ids = {link: find_link(model, link) for link in links}
    for link, body_id in ids.items():
        if model.body_simple[body_id] == 1 and model.body_dofnum[body_id] > 1:
            raise LinkError(
                f"link '{link}': MuJoCo compiled it as a simple body, whose mass matrix has no room for another centre "
                "of mass or inertia; write to the MjSpec, or set simple = 0 on its body before compiling"
            )
    for link, body_id in ids.items():
        parameters = links[link]
        model.body_mass[body_id] = parameters.mass_kg
        model.body_ipos[body_id] = parameters.com_in_link_m
        model.body_inertia[body_id], model.body_iquat[body_id] = principal_axes(parameters.inertia_about_com)
        model.body_sameframe[body_id] = mujoco.mjtSameFrame.mjSAMEFRAME_NONE
        model.body_simple[body_id] = 0
    mujoco.mj_setConst(model, mujoco.MjData(model))


def principal_axes(inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Principal inertias, largest first as MuJoCo has them, and the wxyz quaternion of their axes."""
    principal, axes = np.linalg.eigh(inertia)
    principal, axes = np.maximum(principal[::-1], 0.0), axes[:, ::-1].copy()
    if np.linalg.det(axes) < 0:
        axes[:, 2] = -axes[:, 2]
    quat = np.empty(4)
    mujoco.mju_mat2Quat(quat, axes.ravel())
    return principal, quat / np.linalg.norm(quat)
