"""Robots: whatever a user calls a model becomes a spec: a robot's name, an MJCF or URDF file, a patch.json (put on the
robot it names), or the directory of an identification or calibration."""

from pathlib import Path

import mujoco

from haloid.errors import HaloidError
from haloid.robots.load import load_spec
from haloid.robots.patch import apply_patch, read_patch

CALIBRATED = "calibrated.xml"
PATCH = "patch.json"


def open_model(model: str | Path) -> mujoco.MjSpec:
    """The model as an editable spec."""
    path = Path(model)
    if path.is_dir():
        if not (path / CALIBRATED).is_file():
            raise HaloidError(
                f"{path} is a directory without a {CALIBRATED}; expected the result of haloid identify or calibrate, "
                "a robot's name, or the path of a model file"
            )
        path = path / CALIBRATED
    if path.suffix.lower() == ".json":
        patch = read_patch(path)
        spec = load_spec(base_robot(path) or patch.robot)
        apply_patch(spec, patch)
        return spec
    return load_spec(str(path))


def base_robot(model: str | Path) -> str | None:
    """The robot that a result directory or a patch.json was identified from; None for any other model."""
    path = Path(model)
    path = path / PATCH if path.is_dir() else path
    if path.suffix.lower() != ".json" or not path.is_file():
        return None
    robot = read_patch(path).robot
    beside = path.parent / robot
    return str(beside.resolve()) if beside.is_file() else robot
