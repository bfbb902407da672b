"""Motions, reading: the pickles of ASAP, and those of GMR and TWIST.

In: ASAP's `{clip: {root_trans_offset, root_rot, dof, fps, …}}`, as joblib writes it, or GMR's `{root_pos, root_rot,
dof_pos, fps, …}`; quaternions are **xyzw**, joints in the order of the SDK, 23 or 29. Out: a trajectory. Read without
running anything in the file (`restricted_pickle`).
"""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from haloid.motions.errors import MotionFileError
from haloid.motions.readers.joint_order import names_of_columns
from haloid.motions.readers.restricted_pickle import read_plain_pickle
from haloid.recordings.files.csv_table import read_bytes
from haloid.trajectories.trajectory import FloatingTrajectory

ASAP_KEYS = ("root_trans_offset", "root_rot", "dof")
GMR_KEYS = ("root_pos", "root_rot", "dof_pos")


def read_pickle(path: Path, model: mujoco.MjModel, fps: float | None = None) -> FloatingTrajectory:
    clip, keys = _clip(path, read_plain_pickle(read_bytes(path), str(path)))
    position, rotation, joints = (_numbers(path, key, clip[key]) for key in keys)
    joints = joints[:, :, 0] if joints.ndim == 3 and joints.shape[2] == 1 else joints
    frames = len(position)
    names = names_of_columns(joints.shape[1], model) if joints.ndim == 2 else None
    fits = position.shape == (frames, 3) and rotation.shape == (frames, 4) and len(joints) == frames
    if names is None or not fits:
        raise MotionFileError(
            path,
            found=f"{keys[0]} {position.shape}, {keys[1]} {rotation.shape}, {keys[2]} {joints.shape}",
            expected="shapes (T, 3), (T, 4) and (T, 29) or (T, 23)",
            next_step="For a robot with other joints give its model with --robot.",
        )
    return FloatingTrajectory(
        rate_hz=_rate(path, clip.get("fps")) if fps is None else fps,
        joint_names=names,
        root_pos_w_m=position,
        root_quat_wxyz=rotation[:, [3, 0, 1, 2]],
        joint_pos_rad=joints,
    )


def _clip(path: Path, content: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The one clip in the file, and the keys of its root's position and rotation and of its joints."""
    if isinstance(content, dict):
        inner = [value for value in content.values() if isinstance(value, dict)]
        for keys in (GMR_KEYS, ASAP_KEYS):
            clips = [clip for clip in (content, *inner) if all(clip.get(key) is not None for key in keys)]
            if len(clips) == 1:
                return clips[0], keys
            if len(clips) > 1:
                raise MotionFileError(
                    path,
                    found=f"{len(clips)} clips ({', '.join(list(map(str, content))[:5])} …)",
                    expected="one",
                    next_step="Save each as a pickle of its own.",
                )
    has = ", ".join(map(str, list(content)[:8])) if isinstance(content, dict) else f"a {type(content).__name__}"
    raise MotionFileError(
        path,
        found=f"no motion in the pickle, which holds {has}",
        expected=f"ASAP's {', '.join(ASAP_KEYS)} under a clip's name, or GMR's {', '.join(GMR_KEYS)}",
        next_step="Give a retargeted motion of the robot, not the human's.",
    )


def _numbers(path: Path, key: str, value: Any) -> np.ndarray:
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise MotionFileError(
            path,
            found=f"{key} is a {type(value).__name__}, not an array of numbers",
            expected="numbers, a row per frame",
            next_step="Save it as a numpy array.",
        ) from None


def _rate(path: Path, stated: Any) -> float:
    fps = np.ravel(_numbers(path, "fps", np.nan if stated is None else stated))
    if fps.size != 1 or not 0 < fps[0] < np.inf:
        raise MotionFileError(
            path,
            found="no rate" if stated is None else f"the rate {stated}",
            expected="its frames per second under fps",
            next_step="Give them with --fps-in.",
        )
    return float(fps[0])
