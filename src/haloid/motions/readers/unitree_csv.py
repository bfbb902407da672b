"""Motions, reading: the csv of Unitree's LAFAN1 set and of g1-moves.

In: a table without a header, one frame per line: root position xyz (m), root quaternion **xyzw**, the joints (rad) in
the order of the SDK. Out: a trajectory. The file does not state its rate; LAFAN1's is 30 frames per
second, g1-moves' 60.
"""

from pathlib import Path

import mujoco
import numpy as np

from haloid.motions.errors import MotionFileError
from haloid.motions.readers.joint_order import names_of_columns
from haloid.recordings.files.csv_table import decoded, read_bytes
from haloid.trajectories.trajectory import FloatingTrajectory

DEFAULT_FPS = 30.0
ROOT_COLUMNS = 7


def read_unitree_csv(path: Path, model: mujoco.MjModel, fps: float = DEFAULT_FPS) -> FloatingTrajectory:
    lines = [line for line in decoded(read_bytes(path), str(path)).splitlines() if line.strip()]
    table = _table(path, lines)
    names = names_of_columns(table.shape[1] - ROOT_COLUMNS, model)
    if names is None:
        raise MotionFileError(
            path,
            found=f"{table.shape[1]} columns",
            expected="36: root xyz, root quaternion xyzw and 29 joints (or 30 with 23 joints), separated by commas",
            next_step="Leave out columns such as a frame number or a time.",
        )
    return FloatingTrajectory(
        rate_hz=fps,
        joint_names=names,
        root_pos_w_m=table[:, :3],
        root_quat_wxyz=table[:, [6, 3, 4, 5]],
        joint_pos_rad=table[:, ROOT_COLUMNS:],
    )


def _table(path: Path, lines: list[str]) -> np.ndarray:
    if not lines:
        raise MotionFileError(
            path, found="the file is empty", expected="one frame per line", next_step="Copy it again."
        )
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            rows.append([float(cell) for cell in line.strip().rstrip(",").split(",")])
        except ValueError:
            raise MotionFileError(
                path,
                found=f"line {number} is not a row of numbers: {line[:50]!r}",
                expected="a motion's csv without a header: root xyz, root quaternion xyzw, joints",
                next_step="Remove the header; a recording becomes a motion by haloid reconstruct.",
            ) from None
        if len(rows[-1]) != len(rows[0]):
            raise MotionFileError(
                path,
                found=f"line {number} has {len(rows[-1])} columns, line 1 has {len(rows[0])}",
                expected="the same number of columns in every line",
                next_step="The file may be cut off: copy it again.",
            )
    return np.array(rows)
