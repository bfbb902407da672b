"""Motions, the way in: a motion of this package's own by its name, or a file of any supported format.

In: a name or a path. Out: a whole `Motion` of the robot at the rate asked for. The format is recognised by the
content: a zip archive is an npz, a pickle starts with its protocol (or compressed), anything else that is text is a
csv.
"""

import difflib
from pathlib import Path

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.motions.errors import MotionFileError
from haloid.motions.ground import Grounding, ground
from haloid.motions.readers.joint_order import Order, on_robot
from haloid.motions.readers.mjlab_npz import read_mjlab_npz
from haloid.motions.readers.pickles import read_pickle
from haloid.motions.readers.unitree_csv import DEFAULT_FPS as CSV_FPS
from haloid.motions.readers.unitree_csv import read_unitree_csv
from haloid.motions.resample import resample
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.robots.load import load_spec
from haloid.trajectories.motion import Motion, motion_of
from haloid.trajectories.trajectory import FloatingTrajectory

SUFFIXES = (".npz", ".csv", ".pkl", ".pickle", ".joblib")
"""Of the files that are motions."""


class MotionNotFoundError(HaloidError):
    def __init__(self, source: str | Path, own: list[str]):
        path = Path(source)
        siblings = path.parent.iterdir() if path.parent.is_dir() else []
        files = {file.name: str(file) for file in siblings if file.suffix.lower() in SUFFIXES}
        near = [files[name] for name in difflib.get_close_matches(path.name, files, n=2)]
        near += difflib.get_close_matches(str(source).lower().replace("_", "-"), own, n=1)
        meant = f" Did you mean {' or '.join(near)}?" if near else ""
        super().__init__(
            f"No motion '{source}': it is neither one of haloid's own motions nor an existing file.{meant} "
            f"Own motions: {', '.join(own)}. Files: {', '.join(SUFFIXES[:3])}."
        )


def load_motion(
    source: str | Path,
    *,
    robot: str = DEFAULT_ROBOT,
    fps: float = 50.0,
    fps_in: float | None = None,
    order: Order | None = None,
    repaired: bool = False,
    grounded: bool | Grounding = False,
) -> Motion:
    """The motion, ready to be tracked.

    Args:
        source: the name of an own motion, or a file.
        robot: a known robot or the path of a model file. Own motions are made for the robots whose description says so.
        fps: frames per second of the motion returned; mjlab plays every file at 50.
        fps_in: those of the file, where it does not state them (csv; 30 by default) or states them wrongly.
        order: of the joints in an npz without names.
        repaired: soles flat and on the ground while they bear the robot.
        grounded: the soles' lowest point at height 0: over the clip (True), or wherever a foot stands ("contact").
    """
    model = load_spec(robot).compile()
    frames = read_frames(source, model, robot=robot, fps_in=fps_in, order=order)
    require_usable(source, frames)
    frames = resample(frames, fps)
    if repaired:
        from haloid.motions.repair import repair

        frames = repair(frames, robot).frames
    if grounded:
        frames = ground(frames, model, "clip" if grounded is True else grounded)
    return motion_of(frames, model)


def read_frames(
    source: str | Path,
    model: mujoco.MjModel,
    *,
    robot: str = DEFAULT_ROBOT,
    fps_in: float | None = None,
    order: Order | None = None,
) -> FloatingTrajectory:
    """The source's frames, unchanged, with the joints of the robot, whose model is `model`."""
    path = Path(source).expanduser()
    if not path.is_file():
        from haloid.motions.own import OWN_MOTIONS, own_motion

        if str(source) not in OWN_MOTIONS:
            raise MotionNotFoundError(source, list(OWN_MOTIONS))
        return on_robot(own_motion(str(source), robot), model)
    if fps_in is not None and not 0 < fps_in < np.inf:
        raise HaloidError(f"found {fps_in:g} frames per second in the file; expected a rate above 0, such as 30")
    match kind_of(path):
        case "npz":
            frames = read_mjlab_npz(path, model, order, fps_in)
        case "pickle":
            frames = read_pickle(path, model, fps_in)
        case _:
            frames = read_unitree_csv(path, model, CSV_FPS if fps_in is None else fps_in)
    return on_robot(frames, model)


def kind_of(path: Path) -> str:
    """npz, pickle or csv, by the content first."""
    with path.open("rb") as stream:
        head = stream.read(512)
    if head.startswith(b"PK\x03\x04"):
        return "npz"
    if head.startswith(b"\x80") or path.suffix.lower() in SUFFIXES[2:]:
        return "pickle"
    if path.suffix.lower() == ".csv" or (head and head[:1] in b"-+.0123456789 " and b"," in head):
        return "csv"
    raise MotionFileError(
        path,
        found=f"the content is not that of a motion ({head[:12]!r} …)" if head else "the file is empty",
        expected="an npz of haloid, mjlab or BeyondMimic, a csv of Unitree, or a pickle of ASAP, GMR or TWIST",
        next_step="haloid motions convert turns any of these into haloid's npz.",
    )


def require_usable(source: str | Path, frames: FloatingTrajectory) -> None:
    """Refuse frames that no spline can go through; everything milder is for `check`."""
    rows = np.column_stack([frames.root_pos_w_m, frames.root_quat_wxyz, frames.joint_pos_rad])
    norms = np.linalg.norm(frames.root_quat_wxyz, axis=1)
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1) | ~(norms > 0.5))
    if bad.size:
        raise HaloidError(
            f"{source}: {bad.size} of {len(frames)} frames hold values that are not numbers or not rotations, the "
            f"first at {bad[0] / frames.rate_hz:.2f} s. Expected finite positions, unit quaternions and angles. "
            "Cut these frames out; haloid motions check lists them."
        )
    if len(frames) < 2:
        raise HaloidError(f"{source}: found {len(frames)} frames; a motion needs at least two.")
