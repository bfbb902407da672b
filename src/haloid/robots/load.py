"""Robots, step one: a robot's name, or the path of an MJCF or URDF file, becomes an editable `mujoco.MjSpec`.

Only kinematics and inertias matter to identification, so mesh, texture and height-field files may be missing: the
geometry that needs them is dropped with one warning and every inertia is kept as the file states it.
"""

import difflib
import logging
import re
from pathlib import Path

import mujoco

from haloid.errors import HaloidError
from haloid.robots.entries import KNOWN_ROBOTS, file_beside, known_file, matching_joints, read_entries
from haloid.robots.files.assets import drop_missing_assets

_MODEL_SUFFIXES = (".xml", ".mjcf", ".urdf")
_SCALAR_JOINTS = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
_ON_JOINT = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)

logger = logging.getLogger(__name__)
mujoco.set_mju_user_warning(logger.debug)  # MuJoCo would write its warnings to a file in the user's working directory


class RobotNotFoundError(HaloidError):
    def __init__(self, robot: str | Path, near_misses: list[str]):
        meant = f" Did you mean {' or '.join(near_misses)}?" if near_misses else ""
        super().__init__(
            f"No robot '{robot}': it is neither a known robot nor an existing file.{meant} "
            f"Known robots: {', '.join(sorted(KNOWN_ROBOTS))}. "
            f"For any other robot, give the path of its MJCF (.xml) or URDF (.urdf) file."
        )


class RobotFileError(HaloidError):
    def __init__(self, path: Path, reason: str):
        super().__init__(
            f"{path} is not a robot model that MuJoCo can read: {' '.join(reason.split())}. "
            f"Expected an MJCF (<mujoco>) or URDF (<robot>) file; fix what MuJoCo names."
        )


class IncludeError(HaloidError):
    def __init__(self, path: Path, included: str):
        super().__init__(
            f"{path} includes {included}, which lies outside the folder of the robot's file. Expected parts beside it "
            f"or below: copy that file into {path.parent}, and name it there"
        )


class UnnamedJointError(HaloidError):
    def __init__(self, body_name: str):
        super().__init__(
            f"Body '{body_name}' has a joint without a name, and haloid addresses joints by name. "
            f'Give it one (<joint name="...">) in the robot\'s file.'
        )


def load_spec(robot: str | Path) -> mujoco.MjSpec:
    """The robot as an `MjSpec` that compiles: `robot` is a name of `KNOWN_ROBOTS` or a path to MJCF or URDF.

    A URDF keeps all its links under their names, fixed ones too, and a link without <inertial> has no mass. URDF has no
    free joint, so its root link is fixed to the world; once a link is clamped that makes no difference.
    """
    path = model_file_of(robot)
    _check_includes(path, path.resolve().parent, set())
    yaml_file = known_file(str(robot)) if robot in KNOWN_ROBOTS else file_beside(path)
    try:
        spec = mujoco.MjSpec.from_file(str(path))
        if _is_urdf(path):
            spec.compiler.fusestatic = False
            spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
        dropped = drop_missing_assets(spec)
        if yaml_file.is_file():
            _apply_description(spec, yaml_file)
        spec.compile()
    except ValueError as error:
        raise RobotFileError(path, str(error)) from error
    if dropped:
        logger.warning("%s: %s; inertias are as the file states them", path.name, dropped)
    return spec


def actuated_joints(robot: mujoco.MjSpec | mujoco.MjModel) -> tuple[str, ...]:
    """Names of the joints that an actuator drives, in model (qpos) order; without actuators, all hinges and slides."""
    if isinstance(robot, mujoco.MjModel):
        rows = [row for row in range(robot.nu) if robot.actuator_trntype[row] in _ON_JOINT]
        driven = {robot.joint(robot.actuator_trnid[row, 0]).name for row in rows}
    else:
        driven = {actuator.target for actuator in robot.actuators if actuator.trntype in _ON_JOINT}
    joints = scalar_joints(robot)
    return tuple(joint for joint in joints if joint in driven) if driven else joints


def scalar_joints(robot: mujoco.MjSpec | mujoco.MjModel) -> tuple[str, ...]:
    """Names of all hinge and slide joints in model (qpos) order."""
    if isinstance(robot, mujoco.MjModel):
        joints = [robot.joint(row) for row in range(robot.njnt)]
        named = [(j.name, robot.body(j.bodyid[0]).name) for j in joints if j.type[0] in _SCALAR_JOINTS]
    else:
        named = [(j.name, j.parent.name) for j in joints_in_qpos_order(robot) if j.type in _SCALAR_JOINTS]
    for name, body_name in named:
        if not name:
            raise UnnamedJointError(body_name)
    return tuple(name for name, _ in named)


def joints_in_qpos_order(spec: mujoco.MjSpec) -> list[mujoco.MjsJoint]:
    """All joints of a spec as the compiled model orders them: bodies depth first, however they were added."""

    def below(body: mujoco.MjsBody) -> list[mujoco.MjsJoint]:
        return list(body.joints) + [joint for child in body.bodies for joint in below(child)]

    return below(spec.worldbody)


def _check_includes(path: Path, folder: Path, seen: set[Path]) -> None:
    """A model from elsewhere must not read the user's other files."""
    if path in seen or not path.is_file():
        return
    seen.add(path)
    for quoted in re.findall(r"<include\b[^>]*?\bfile\s*=\s*(\"[^\"]*\"|'[^']*')", _without_comments(path)):
        included = quoted[1:-1]
        file = (folder / included).resolve()  # MuJoCo takes all of them from the main file's folder
        if not file.is_relative_to(folder):
            raise IncludeError(path, included)
        _check_includes(file, folder, seen)


def _without_comments(path: Path) -> str:
    return re.sub(r"<!--.*?-->", "", path.read_text(encoding="utf-8", errors="replace"), flags=re.DOTALL)


def _is_urdf(path: Path) -> bool:
    """By the first tag after comments and declarations: <robot> is URDF. (MuJoCo is laxer than ElementTree.)"""
    text = _without_comments(path)
    first_tag = re.search(r"<([A-Za-z]\w*)", text)
    return first_tag is not None and first_tag.group(1) == "robot"


def _apply_description(spec: mujoco.MjSpec, yaml_file: Path) -> None:
    """Fix the joints that the robot lacks, and limit the efforts that the model file leaves unlimited, in place."""
    entries = read_entries(yaml_file)
    for pattern in entries.get("fixed_joints", ()):
        for joint in matching_joints(yaml_file, "fixed_joints", pattern, scalar_joints(spec)):
            _fix(spec, joint)
    for pattern, effort_nm in entries.get("effort_limits_nm", {}).items():
        for joint in matching_joints(yaml_file, "effort_limits_nm", pattern, scalar_joints(spec)):
            spec.joint(joint).actfrcrange[:] = -effort_nm, effort_nm
            spec.joint(joint).actfrclimited = True


def _fix(spec: mujoco.MjSpec, joint: str) -> None:
    """Remove a joint, with its actuators, their sensors and its place in keyframes; its link stays at angle 0."""
    address, ordered = 0, joints_in_qpos_order(spec)
    for one in ordered[: [one.name for one in ordered].index(joint)]:
        address += {mujoco.mjtJoint.mjJNT_FREE: 7, mujoco.mjtJoint.mjJNT_BALL: 4}.get(one.type, 1)
    is_driver = [one.target == joint and one.trntype in _ON_JOINT for one in spec.actuators]
    drivers = [one for one, goes in zip(spec.actuators, is_driver, strict=True) if goes]
    gone = {joint, *(one.name for one in drivers)}
    for sensor in list(spec.sensors):
        if sensor.objname in gone and sensor.objtype in (mujoco.mjtObj.mjOBJ_JOINT, mujoco.mjtObj.mjOBJ_ACTUATOR):
            spec.delete(sensor)
    for key in spec.keys:
        key.qpos = [value for row, value in enumerate(key.qpos) if row != address]
        key.qvel = []
        key.ctrl = [value for value, goes in zip(key.ctrl, is_driver, strict=False) if not goes]
    for actuator in drivers:
        spec.delete(actuator)
    spec.delete(spec.joint(joint))


def model_file_of(robot: str | Path) -> Path:
    """The model file of a known robot, or the file itself."""
    if isinstance(robot, str) and robot in KNOWN_ROBOTS:
        file = known_file(robot)
        return (file.parent / read_entries(file).get("model", f"{robot}.xml")).resolve()
    path = Path(robot).expanduser()
    if path.is_file():
        return path
    siblings = path.parent.iterdir() if path.parent.is_dir() else []
    files = {file.name: str(file) for file in siblings if file.suffix.lower() in _MODEL_SUFFIXES}
    near = [files[name] for name in difflib.get_close_matches(path.name, files, n=2)]
    near += difflib.get_close_matches(str(robot).lower(), KNOWN_ROBOTS, n=1)
    raise RobotNotFoundError(robot, near)
