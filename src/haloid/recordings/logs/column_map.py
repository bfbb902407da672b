"""Columns by a mapping: what a table's columns are, where their names do not say so.

    time=timestamp q=actual_q_{} current=actual_current_{}     names with a joint's number from 0, or its name, for {}
    time=0 q=1-6 target=7-12                                   numbers, counted from 0, for all joints in order
    q:elbow=pos_el target:elbow=cmd_el                         one joint

Channels are time, q, target, dq, tau (measured), tau_ff (commanded), current (A), kp, kd and dq_des.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from haloid.errors import HaloidError
from haloid.recordings.errors import RecordingError, did_you_mean, listed, shown
from haloid.recordings.files.columns import TIME

CHANNELS = ("q", "target", "dq", "tau", "tau_ff", "current", "kp", "kd", "dq_des")
_RANGE = re.compile(r"(\d+)-(\d+)$")


def parse_columns(words: Sequence[str]) -> dict[str, str]:
    """The mapping of a command line: words NAME=COLUMN, or one yaml or json file of the same.

    >>> parse_columns(["time=0", "q=1-6"])
    {'time': '0', 'q': '1-6'}
    """
    if len(words) == 1 and "=" not in words[0]:
        return _from_file(Path(words[0]))
    mapping: dict[str, str] = {}
    for word in words:
        name, equals, column = word.partition("=")
        if not (name and equals and column):
            raise HaloidError(
                f"--columns has {word!r}; expected NAME=COLUMN, such as time=0 or q=actual_q_{{}}, or one yaml file"
            )
        mapping[name] = column
    return mapping


def _from_file(path: Path) -> dict[str, str]:
    import yaml  # imported late: few need it

    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error).splitlines()[0]
        raise HaloidError(
            f"{path}: the mapping of columns cannot be read ({reason}). Expected a yaml or json file of NAME: COLUMN, "
            "or NAME=COLUMN words"
        ) from error
    if not isinstance(values, dict) or not all(isinstance(v, str | int) for v in values.values()):
        raise HaloidError(f"{path}: expected NAME: COLUMN lines, such as q: actual_q_{{}}. Correct the file")
    return {str(name): str(column) for name, column in values.items()}


def mapped(
    path: Path, columns: Mapping[str, np.ndarray], mapping: Mapping[str, str], joint_names: Sequence[str]
) -> dict[str, np.ndarray]:
    """The columns under the names that haloid knows: `time` (with its unit as it was named), `CHANNEL:JOINT`."""
    found: dict[str, np.ndarray] = {}
    for name, column in mapping.items():
        channel, colon, joint = name.partition(":")
        if name == TIME:
            found[_time_name(column)] = _one(path, columns, column, name)
        elif channel not in CHANNELS or (colon and joint not in joint_names):
            known = [TIME, *CHANNELS, *(f"q:{joint}" for joint in joint_names)]
            raise RecordingError(
                str(path),
                f"column mapping {shown(name)}",
                found="no such channel or joint",
                expected=f"{listed([TIME, *CHANNELS], limit=10)}, or CHANNEL:JOINT",
                next_step=f"{did_you_mean(name, known)}Correct the name.",
            )
        elif colon:
            found[name] = _one(path, columns, column, name)
        else:
            for number, each in enumerate(_all_joints(path, columns, column, joint_names)):
                found[f"{channel}:{joint_names[number]}"] = _one(path, columns, each, name)
    return found


def _all_joints(path: Path, columns: Mapping[str, np.ndarray], column: str, joint_names: Sequence[str]) -> list[str]:
    """The column of every joint, of a pattern with {} or a range of numbers."""
    if match := _RANGE.match(column):
        names = [str(number) for number in range(int(match.group(1)), int(match.group(2)) + 1)]
    elif "{}" in column:
        names = [column.replace("{}", joint) for joint in joint_names]
        if names[0] not in columns:
            names = [column.replace("{}", str(number)) for number in range(len(joint_names))]
    else:
        names = [column]
    if len(names) != len(joint_names):
        raise RecordingError(
            str(path),
            f"column mapping {shown(column)}",
            found=f"{len(names)} column{'s' * (len(names) != 1)} for the robot's {len(joint_names)} joints",
            expected="FIRST-LAST, or a name with {} for the joint's number or name",
            next_step=f"The joints in order are {listed(joint_names, limit=40)}.",
        )
    return names


def _one(path: Path, columns: Mapping[str, np.ndarray], column: str, name: str) -> np.ndarray:
    if column in columns:
        return columns[column]
    if column.isdecimal() and int(column) < len(columns):
        return list(columns.values())[int(column)]
    raise RecordingError(
        str(path),
        f"column mapping {shown(name)}",
        found=f"there is no column {shown(column)} among {listed(list(columns))}",
        expected="the name of a column, or its number counted from 0",
        next_step=f"{did_you_mean(column, list(columns))}Correct the mapping.",
    )


def _time_name(column: str) -> str:
    """`time`, with the unit that the column's own name ends in."""
    unit = column.lower().rpartition("_")[2]
    return f"{TIME}_{unit}" if unit in ("ms", "us", "ns") else TIME
