"""`haloid.load_robot` and `haloid.load_motion`, and the models that the functions of the front door accept."""

from __future__ import annotations

from pathlib import Path

import mujoco

from haloid.api.result import Result
from haloid.motions.load import load_motion as load_any_motion
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.robots.open_model import base_robot, open_model
from haloid.trajectories.motion import Motion

Model = str | Path | Result
"""A known robot's name, a model file, a patch.json, the folder of a result, or a `Result`."""


def load_robot(model: Model) -> mujoco.MjSpec:
    """A robot as a `mujoco.MjSpec`, to be edited, or compiled and simulated.

    `model` is a known robot's name, an MJCF or URDF file, a patch.json, the folder of a result, or a `Result`.

    Examples:
        >>> haloid.load_robot("g1").compile().nu
        29
        >>> haloid.load_robot("out/result").compile().body("torso_link").mass
        array([13...])
    """
    return model.spec() if isinstance(model, Result) else open_model(model)


def robot_of(model: Model) -> str:
    """The robot of a model, by the name or the file under which its description is found."""
    return model.robot if isinstance(model, Result) else base_robot(model) or str(model)


def load_motion(motion: str | Path, *, robot: str = DEFAULT_ROBOT, fps: float = 50.0, repaired: bool = False) -> Motion:
    """A motion to follow: one of haloid's own by name (`haloid motions list`), or a file of any supported format.

    With `repaired`, soles are put flat on the ground, for clips from elsewhere.

    Examples:
        >>> squat = haloid.load_motion("squat")
        >>> squat.rate_hz, squat.joint_pos_rad.shape[1]
        (50.0, 29)
    """
    return load_any_motion(motion, robot=robot, fps=fps, repaired=repaired)
