"""Own motions, the cache: planning a walk takes seconds, reading it does not.

In: a known robot, a motion's name and the function that makes it. Out: its frames, from the user's cache if a file of
the same code is there. The file's name holds a digest of the package's robots and of all code that a motion depends on,
so after a change of either the motion is made again. Where nothing can be kept, motions are made every time.
"""

import hashlib
import logging
import os
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import mujoco
import numpy as np

import haloid
from haloid.errors import HaloidError
from haloid.outputs import atomic_file
from haloid.trajectories.trajectory import FloatingTrajectory

SOURCES = ("motions", "robots", "trajectories", "lab")
"""Folders of this package that own motions depend on."""

logger = logging.getLogger(__name__)


def kept(robot: str, name: str, make: Callable[[], FloatingTrajectory]) -> FloatingTrajectory:
    """The motion of a known robot, read or made."""
    file = _folder() / f"{robot}-{name}-{_digest()}.npz"
    try:
        with np.load(file, allow_pickle=False) as stored:
            return FloatingTrajectory(
                rate_hz=float(stored["fps"]),
                joint_names=tuple(stored["joint_names"].tolist()),
                root_pos_w_m=stored["root_pos_w_m"],
                root_quat_wxyz=stored["root_quat_wxyz"],
                joint_pos_rad=stored["joint_pos_rad"],
            )
    except FileNotFoundError:
        pass
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        logger.debug("%s cannot be read; the motion is made again", file)
    frames = make()
    try:
        with atomic_file(file) as beside, beside.open("wb") as stream:
            np.savez(
                stream,
                fps=frames.rate_hz,
                joint_names=np.array(frames.joint_names),
                root_pos_w_m=frames.root_pos_w_m,
                root_quat_wxyz=frames.root_quat_wxyz,
                joint_pos_rad=frames.joint_pos_rad,
            )
    except (OSError, HaloidError):
        logger.debug("%s cannot be written; the motion is not kept", file)
    return frames


def _folder() -> Path:
    cache_home = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache_home) if cache_home else Path("~").expanduser() / ".cache") / "haloid" / "motions"


@cache
def _digest() -> str:
    root, digest = Path(haloid.__file__).parent, hashlib.sha256(mujoco.__version__.encode())
    for folder in SOURCES:
        for source in sorted((root / folder).rglob("*")):
            if source.suffix in (".py", ".xml", ".yaml"):
                digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
