"""SAGE's logs: a folder with control.csv, state_motor.csv and event.csv of one run, stamped in microseconds.

Rows hold JSON lists of positions in rad (and velocities, torques), in the order of the robot's joints: the files
contain no names. A joint called gripper is logged as LeRobot does, 0 closed to 1 open: that becomes the joint's range.
"""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from haloid.recordings.errors import RecordingError, shown
from haloid.recordings.files.csv_table import decoded, read_bytes
from haloid.recordings.logs.log import Commands, Log, States

_CONTROL, _STATE = "control.csv", "state_motor.csv"
_MICROSECOND_S = 1e-6
_GRIPPER = "gripper"


def is_sage(path: Path) -> bool:
    """A SAGE folder, or one of its files."""
    folder = path if path.is_dir() else path.parent
    return (path.is_dir() or path.name in (_CONTROL, _STATE)) and (folder / _STATE).is_file()


def read_sage(path: Path, joint_names: Sequence[str], limits_rad: np.ndarray) -> Log:
    """`limits_rad` (n, 2) are the joints' ranges."""
    folder = path if path.is_dir() else path.parent
    if not (folder / _CONTROL).is_file():
        raise RecordingError(
            str(folder),
            found=f"there is {_STATE} but no {_CONTROL}: the log has no commands",
            expected=f"both {_CONTROL} and {_STATE}",
            next_step="Copy the whole folder of the run.",
        )
    sent_s, sent = _read(folder / _CONTROL, ("positions",), len(joint_names))
    sensed_s, sensed = _read(folder / _STATE, ("positions", "velocities", "torques"), len(joint_names))
    start_s = min(sent_s[0], sensed_s[0])
    notes = ["SAGE's lists taken in the order of the robot's joints"]
    if _GRIPPER in joint_names:
        column = joint_names.index(_GRIPPER)
        low_rad, high_rad = limits_rad[column].tolist()
        for positions in (sent["positions"], sensed["positions"]):
            positions[:, column] = low_rad + (high_rad - low_rad) * positions[:, column]
        sensed["velocities"][:, column] *= high_rad - low_rad
        notes.append(f"{_GRIPPER}: 0 to 1 taken for its range, {low_rad:.3g} to {high_rad:.3g} rad")
    return Log(
        source=folder,
        joint_names=tuple(joint_names),
        states=States(sensed_s - start_s, sensed["positions"], sensed["velocities"], sensed["torques"]),
        commands=Commands(sent_s - start_s, sent["positions"]),
        notes=notes,
    )


def _read(file: Path, columns: Sequence[str], joint_count: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Times in s and each column as (T, n)."""
    rows = list(csv.reader(decoded(read_bytes(file), str(file)).splitlines()))
    header = rows[0] if rows else []
    missing = [name for name in ("timestamp", *columns) if name not in header]
    if missing:
        raise RecordingError(
            str(file),
            "line 1",
            found=f"there is no column {shown(missing[0])}",
            expected=f"the columns type, timestamp, {', '.join(columns)}",
            next_step="Give a log as SAGE writes it.",
        )
    at = {name: header.index(name) for name in ("timestamp", *columns)}
    time_s, values = [], {name: [] for name in columns}
    for line, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        try:
            time_s.append(float(row[at["timestamp"]]) * _MICROSECOND_S)
            for name in columns:
                values[name].append(_numbers(row[at[name]], joint_count))
        except (ValueError, IndexError, RecursionError) as error:
            raise RecordingError(
                str(file),
                f"line {line}",
                found=f"the row cannot be read ({shown(str(error))})",
                expected=f"a time in microseconds and JSON lists of {joint_count} numbers, one per joint of the robot",
                next_step="Give the robot that was logged; delete the line if the file is cut off there.",
            ) from error
    if not time_s:
        raise RecordingError(
            str(file), found="the file has no rows", expected="one row per sample", next_step="Copy the file again."
        )
    return np.array(time_s), {name: np.array(lists, float) for name, lists in values.items()}


def _numbers(text: str, count: int) -> list[float]:
    numbers = json.loads(text)
    if not isinstance(numbers, list) or len(numbers) != count:
        raise ValueError(f"{len(numbers) if isinstance(numbers, list) else 'no'} numbers in {text[:40]}")
    return [float(number) for number in numbers]
