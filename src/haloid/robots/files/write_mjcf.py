"""Robots, the result: a spec becomes one MJCF file that MuJoCo loads by itself and compiles to the same model.

Every inertia is written out (<inertial>), every number has 17 significant digits, and every name is kept. Geometry in
mesh, texture or height-field files is left out with a note in the log, because a single file has no others
beside it; shapes of the model's own (capsules, boxes, ...) stay. What was written is read back and compared before it
gets its name, so a file that exists is correct.

MuJoCo writes XML with six digits and has no public setting for more. The library does have the setting, as the
exported function `_mjPRIVATE__set_xml_precision`, which this module uses: 17 digits give a double back exactly. Only
numbers within 10⁻¹² of an integer come back as that integer.
"""

import ctypes
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.outputs import atomic_file
from haloid.robots.files.assets import drop_file_assets

_DIGITS = 17
_LIBRARY_NAMES = ("libmujoco*.so*", "libmujoco*.dylib", "mujoco*.dll")
_COMPARED = (
    *("qpos0", "qpos_spring", "body_parentid", "body_pos", "body_quat", "body_mass"),
    *("body_ipos", "body_inertia", "body_iquat"),
    *("jnt_type", "jnt_pos", "jnt_axis", "jnt_range", "jnt_limited", "jnt_actfrcrange", "jnt_stiffness"),
    *("dof_armature", "dof_damping", "dof_frictionloss"),
    *("actuator_trnid", "actuator_gear", "actuator_gainprm", "actuator_biasprm", "actuator_dynprm"),
    *("actuator_ctrlrange", "actuator_forcerange"),
)
"""Fields of the compiled model that must come back."""
_TOLERANCE = 1e-12
"""Of a field's largest number, or absolute: MuJoCo writes what is so close to an integer as the integer."""
_REPORT = "Simplify the robot's file around what is named, or report this with the file"

logger = logging.getLogger(__name__)


class WriteMjcfError(HaloidError):
    """A model that this MuJoCo cannot write and read back unchanged."""


def write_mjcf(spec: mujoco.MjSpec, path: str | Path) -> None:
    """Write the spec, which stays as it is, to a self-contained MJCF file."""
    with atomic_file(Path(path)) as beside:
        beside.write_text(mjcf_text(spec), encoding="utf-8")


def mjcf_text(spec: mujoco.MjSpec) -> str:
    """The self-contained MJCF of `write_mjcf` as text."""
    written = spec.copy()
    model = written.compile()
    _state_inertias(written, model)
    if dropped := drop_file_assets(written):
        logger.warning("the MJCF of '%s': %s; inertias are kept", spec.modelname, dropped)
    written.meshdir = written.texturedir = ""
    written.compile()
    with _xml_digits(_DIGITS):
        text = written.to_xml()
    try:
        found = mujoco.MjModel.from_xml_string(text)
    except ValueError as error:
        raise WriteMjcfError(f"MuJoCo cannot read what it wrote: {' '.join(str(error).split())}. {_REPORT}") from error
    _refuse_difference(model, found)
    return text


def _state_inertias(spec: mujoco.MjSpec, model: mujoco.MjModel) -> None:
    """Give every body the inertia it was compiled to, whatever geometry or compiler setting it came from."""
    for body in spec.bodies:
        if body.id == 0:
            continue
        body.explicitinertial = True
        body.mass, body.ipos = model.body_mass[body.id], model.body_ipos[body.id]
        body.inertia, body.iquat = model.body_inertia[body.id], model.body_iquat[body.id]
        body.fullinertia = np.full(6, np.nan)
        body.ialt.type = mujoco.mjtOrientation.mjORIENTATION_QUAT
    spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO
    spec.compiler.settotalmass = -1
    spec.compiler.balanceinertia = False


def _refuse_difference(model: mujoco.MjModel, found: mujoco.MjModel) -> None:
    for kind, count in ((mujoco.mjtObj.mjOBJ_BODY, "nbody"), (mujoco.mjtObj.mjOBJ_JOINT, "njnt")):
        expected_names, found_names = (
            [mujoco.mj_id2name(m, kind, i) for i in range(getattr(m, count))] for m in (model, found)
        )
        if expected_names != found_names:
            raise WriteMjcfError(f"MuJoCo wrote the model with other names: {found_names}. {_REPORT}")
    for field in _COMPARED:
        expected, got = getattr(model, field) * 1.0, getattr(found, field) * 1.0
        slack = _TOLERANCE * np.max(np.abs(expected), initial=1.0)
        if expected.shape != got.shape or np.max(np.abs(expected - got), initial=0.0) > slack:
            raise WriteMjcfError(f"{field} changes when MuJoCo writes the model and reads it back. {_REPORT}")


@contextmanager
def _xml_digits(digits: int) -> Iterator[None]:
    """The number of digits MuJoCo writes, inside a `with` block."""
    library = _mujoco_library()
    before = library._mjPRIVATE__get_xml_precision()
    library._mjPRIVATE__set_xml_precision(digits)
    try:
        yield
    finally:
        library._mjPRIVATE__set_xml_precision(before)


@cache
def _mujoco_library() -> ctypes.CDLL:
    folder = Path(mujoco.__file__).parent
    for file in (file for name in _LIBRARY_NAMES for file in folder.glob(name)):
        library = ctypes.CDLL(str(file))
        if hasattr(library, "_mjPRIVATE__set_xml_precision"):
            return library
    raise WriteMjcfError(
        f"MuJoCo {mujoco.__version__} in {folder} has no setting for the number of digits in its XML, as 3.11 has. "
        "Install the MuJoCo that haloid asks for (mujoco~=3.11.0)"
    )
