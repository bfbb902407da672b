"""The robot a recording names: its place on the disk and its compiled model, to check the recording against."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import mujoco

from haloid.errors import HaloidError
from haloid.recordings.errors import Origin, did_you_mean, shown
from haloid.robots.entries import KNOWN_ROBOTS
from haloid.robots.load import actuated_joints, load_spec, model_file_of

_MODEL_SUFFIXES = (".xml", ".mjcf", ".urdf")


@dataclass(frozen=True)
class RobotModel:
    model: mujoco.MjModel
    actuated: tuple[str, ...]
    """Joint names in model order."""
    passive: tuple[str, ...]
    """The joints no actuator drives."""


def resolve_robot(robot: str, folder: Path, origin: Origin) -> str:
    """A known robot's name as it is; a path, relative to the json's `folder`, made absolute."""
    if robot in KNOWN_ROBOTS:
        return robot
    path = folder.absolute() / Path(robot)
    try:
        exists = path.is_file()
    except OSError:  # a name too long for the file system
        exists = False
    if not exists or path.suffix.lower() not in _MODEL_SUFFIXES:
        raise origin.meta_error(
            "robot",
            found=f"{shown(robot)} is neither a known robot nor a model file relative to the json's folder",
            expected=f"a known robot ({', '.join(KNOWN_ROBOTS)}), or the path of an MJCF (.xml) or URDF (.urdf) file",
            next_step=f"{did_you_mean(robot, KNOWN_ROBOTS)}Correct the name or the path.",
        )
    return str(path.resolve())


def robot_model(robot: str, origin: Origin) -> RobotModel:
    """The compiled model of a resolved robot."""
    try:
        return _compiled(robot, model_file_of(robot).stat().st_mtime_ns)
    except (HaloidError, OSError) as error:
        raise origin.meta_error(
            "robot",
            found=f"robot {shown(robot)} cannot be loaded",
            expected="a known robot, or a file that MuJoCo reads",
            next_step=str(error),
        ) from error


@lru_cache(maxsize=8)
def _compiled(robot: str, _mtime_ns: int) -> RobotModel:
    spec = load_spec(robot)
    model = spec.compile()
    actuated = actuated_joints(model)
    names = (model.joint(i).name for i in range(model.njnt))
    return RobotModel(model, actuated, tuple(name for name in names if name not in actuated))
