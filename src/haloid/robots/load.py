"""Robots, step one: a robot's name, or the path of an MJCF or URDF file, becomes an editable `mujoco.MjSpec`.

Only kinematics and inertias matter to identification, so mesh, texture and height-field files may be missing: the
geometry that needs them is dropped with one warning and every inertia is kept as the file states it.
"""

import difflib
import logging
from pathlib import Path

import mujoco

from haloid.errors import HaloidError
from haloid.robots.assets import drop_missing_assets

KNOWN_ROBOTS: dict[str, Path] = {"g1": Path(__file__).parent / "g1" / "g1.xml"}
"""The robots this package brings along, by name."""

_MODEL_SUFFIXES = (".xml", ".mjcf", ".urdf")

logger = logging.getLogger(__name__)


class RobotNotFoundError(HaloidError):
    def __init__(self, robot: str | Path, near_misses: list[str]):
        meant = f" Did you mean {' or '.join(near_misses)}?" if near_misses else ""
        super().__init__(
            f"No robot '{robot}': it is neither a known robot nor an existing file.{meant} "
            f"Known robots: {', '.join(sorted(KNOWN_ROBOTS))}. "
            f"Any other robot is given by the path of its MJCF (.xml) or URDF (.urdf) file."
        )


class RobotFileError(HaloidError):
    def __init__(self, path: Path, reason: str):
        super().__init__(
            f"{path} is not a robot model that MuJoCo can read: {reason} "
            f"Expected an MJCF (<mujoco>) or URDF (<robot>) file; mend it until `mujoco.MjModel.from_xml_path` reads it."
        )


class UnnamedJointError(HaloidError):
    def __init__(self, body_name: str):
        super().__init__(
            f"Body '{body_name}' has a joint without a name. haloid addresses joints by name: "
            f"give it one (<joint name=\"...\">) in the robot's file."
        )


def load_spec(robot: str | Path) -> mujoco.MjSpec:
    """The robot as an `MjSpec` that compiles: `robot` is a name of `KNOWN_ROBOTS` or a path to MJCF or URDF.

    A URDF keeps all its links under their names, fixed ones too. URDF has no free joint, so its root link is fixed
    to the world; once a link is clamped that makes no difference.
    """
    path = _model_path(robot)
    try:
        spec = mujoco.MjSpec.from_file(str(path))
    except ValueError as error:
        raise RobotFileError(path, str(error)) from error
    spec.compiler.fusestatic = False
    dropped = drop_missing_assets(spec)
    if dropped:
        logger.warning("%s: %s; inertias are as in the file", path.name, dropped)
    try:
        spec.compile()
    except ValueError as error:
        raise RobotFileError(path, str(error)) from error
    return spec


def actuated_joints(robot: mujoco.MjSpec | mujoco.MjModel) -> tuple[str, ...]:
    """Names of the joints that an actuator drives, in model (qpos) order; without actuators, all hinges and slides."""
    joints = _scalar_joints(robot)
    driven = _driven_joints(robot)
    return tuple(name for name in joints if name in driven) if driven else tuple(joints)


def _model_path(robot: str | Path) -> Path:
    if isinstance(robot, str) and robot in KNOWN_ROBOTS:
        return KNOWN_ROBOTS[robot]
    path = Path(robot).expanduser()
    if path.is_file():
        return path
    siblings = path.parent.iterdir() if path.parent.is_dir() and str(robot) != path.name else []
    files = {file.name: str(file) for file in siblings if file.suffix.lower() in _MODEL_SUFFIXES}
    near = [files[name] for name in difflib.get_close_matches(path.name, files)]
    near += difflib.get_close_matches(str(robot).lower(), KNOWN_ROBOTS)
    raise RobotNotFoundError(robot, near)


def _scalar_joints(robot: mujoco.MjSpec | mujoco.MjModel) -> list[str]:
    """Hinge and slide joints in depth-first order of the bodies, which is the order of qpos."""
    scalar = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)
    if isinstance(robot, mujoco.MjModel):
        joints = [robot.joint(i) for i in range(robot.njnt)]
        named = [(j.name, robot.body(j.bodyid[0]).name) for j in joints if j.type[0] in scalar]
    else:
        named = [(j.name, body.name) for body in _depth_first(robot.worldbody) for j in body.joints if j.type in scalar]
    for name, body_name in named:
        if not name:
            raise UnnamedJointError(body_name)
    return [name for name, _ in named]


def _driven_joints(robot: mujoco.MjSpec | mujoco.MjModel) -> set[str]:
    on_joint = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    if isinstance(robot, mujoco.MjModel):
        rows = [i for i in range(robot.nu) if robot.actuator_trntype[i] in on_joint]
        return {robot.joint(robot.actuator_trnid[i, 0]).name for i in rows}
    return {actuator.target for actuator in robot.actuators if actuator.trntype in on_joint}


def _depth_first(body: mujoco.MjsBody) -> list[mujoco.MjsBody]:
    return [body] + [descendant for child in body.bodies for descendant in _depth_first(child)]
