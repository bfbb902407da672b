"""Tables: a csv, npz or parquet file with one row a sample becomes a `Log`.

Columns are recognised by name (`column_names`); an npz or parquet file may also hold one `(T, n)` array a channel, with
the array `joint_names` or in the G1's motor order. Cells that are empty, as where a tool put two topics into one table,
are rows of the other stream.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from haloid.recordings.csv_table import read_csv_table
from haloid.recordings.errors import Origin, RecordingError, listed, shown
from haloid.recordings.logs.column_names import WORDS, channel_and_joint_of, time_unit_s
from haloid.recordings.logs.log import Commands, Log, States, optional_package
from haloid.recordings.logs.unitree_messages import G1_MOTORS
from haloid.recordings.npz_table import read_npz_arrays

_JOINT_NAMES = "joint_names"
_ANGULAR = ("q", "target", "dq", "dq_des")


def is_table(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() in (".csv", ".npz", ".parquet")


def read_table(path: Path, joint_names: Sequence[str], angles: Literal["rad", "deg"]) -> Log:
    columns = _flat(path, _columns(path))
    time_s = _time(path, columns)
    channels = _channels(path, columns, joint_names)
    if angles == "deg":
        channels = {name: np.deg2rad(values) if name in _ANGULAR else values for name, values in channels.items()}
    _check_present(path, channels, columns)
    notes: list[str] = []
    sensed = np.isfinite(time_s) & np.isfinite(channels["q"]).all(axis=1)
    target = channels.get("target")
    inputs = channels["tau_ff"] if target is None else target
    sent = np.isfinite(time_s) & np.isfinite(inputs).all(axis=1)
    for what, rows in (("states", sensed), ("commands", sent)):
        if not rows.any():
            raise RecordingError(
                str(path),
                found=f"no row has {what} of all joints",
                expected="a number for every joint in the rows of a sample",
                next_step="Export the table again, with all joints in it.",
            )
    if empty := int(np.count_nonzero(~(sensed | sent))):
        notes.append(f"{empty:,} rows without complete states or commands left out")

    def optional(name: str, rows: np.ndarray) -> np.ndarray | None:
        values = channels.get(name)
        return values[rows] if values is not None and np.isfinite(values[rows]).all() else None

    kp, kd = optional("kp", sent), optional("kd", sent)
    if target is not None and kp is not None and kd is not None and (kp > 0).all():
        ahead = np.zeros_like(kp)
        for name, gain in (("dq_des", kd), ("tau_ff", 1.0)):
            values = optional(name, sent)
            ahead += 0.0 if values is None else gain * values
        commands = Commands(time_s[sent], target[sent] + ahead / kp, kp=kp, kd=kd)
    elif target is not None:
        if any(np.any(channels[name][sent] != 0) for name in ("dq_des", "tau_ff") if name in channels):
            raise RecordingError(
                str(path),
                found="the table has dq_des or tau_ff columns, but not kp > 0 and kd of all joints beside them",
                expected="gains, since target = q_des + (kd·dq_des + tau_ff)/kp",
                next_step="Export kp and kd too, or remove those columns.",
            )
        commands = Commands(time_s[sent], target[sent])
    else:
        commands = Commands(time_s[sent], None, tau_nm=inputs[sent])
    return Log(
        source=path,
        joint_names=tuple(joint_names),
        states=States(time_s[sensed], channels["q"][sensed], optional("dq", sensed), optional("tau", sensed)),
        commands=commands,
        notes=notes,
    )


def _columns(path: Path) -> dict[str, np.ndarray]:
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return read_csv_table(path, Origin(str(path), str(path))).columns
    if suffix == ".npz":
        return read_npz_arrays(path, Origin(str(path), str(path)))
    parquet = optional_package("pyarrow.parquet", "pyarrow", "parquet files")
    arrow = optional_package("pyarrow", "pyarrow", "parquet files")
    try:
        table = parquet.read_table(path).to_pydict()
        return {name: np.array(values) for name, values in table.items() if values and values[0] is not None}
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise RecordingError(
            str(path),
            found=f"the parquet file cannot be read ({shown(str(error))})",
            expected="a whole parquet file of numbers and lists of equal length",
            next_step="The file may be cut off: copy it again.",
        ) from error


def _flat(path: Path, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays `(T, n)` as a column a joint; text and arrays of other shapes are left out."""
    names = [str(name) for name in np.ravel(columns.get(_JOINT_NAMES, []))]
    flat = {}
    for name, values in columns.items():
        if values.dtype.kind not in "fiub" or name == _JOINT_NAMES:
            continue
        if values.ndim == 1:
            flat[name] = values.astype(np.float64)
        elif values.ndim == 2 and name.lower() in WORDS:
            joints = names or (list(G1_MOTORS) if values.shape[1] >= len(G1_MOTORS) else [])
            if values.shape[1] < len(joints) or not joints:
                raise RecordingError(
                    str(path),
                    f"array {shown(name)}",
                    found=f"it has {values.shape[1]} columns, and joint_names {len(names)} names",
                    expected="a name for every column, or the G1's 29 motors",
                    next_step="Add an array joint_names to the file.",
                )
            flat |= {f"{name}:{joint}": values[:, i].astype(np.float64) for i, joint in enumerate(joints)}
    return flat


def _time(path: Path, columns: dict[str, np.ndarray]) -> np.ndarray:
    units = {name: unit for name in columns if (unit := time_unit_s(name)) is not None}
    if not units:
        raise RecordingError(
            str(path),
            found=f"there is no column of time among {listed(list(columns))}",
            expected="time or timestamp in s (or time_ms, timestamp_us, timestamp_ns, tick)",
            next_step="Name the column so.",
        )
    name = min(units, key=lambda name: name.lower().startswith("tick"))
    time_s = columns[name] * units[name]
    return time_s - np.nanmin(time_s) if np.isfinite(time_s).any() else time_s


def _channels(path: Path, columns: dict[str, np.ndarray], joint_names: Sequence[str]) -> dict[str, np.ndarray]:
    """(T, n) by channel, for the channels that have all joints."""
    rows = {len(values) for values in columns.values()}
    if len(rows) > 1:
        raise RecordingError(
            str(path),
            found=f"arrays of {' and '.join(map(str, sorted(rows)[:3]))} rows",
            expected="one row a sample in all of them",
            next_step="Write states and commands at the same times, or as two tables.",
        )
    by_channel: dict[str, dict[str, np.ndarray]] = {}
    for name, values in columns.items():
        if parts := channel_and_joint_of(name, joint_names):
            by_channel.setdefault(parts[0], {})[parts[1]] = values
    for channel in ("q", "target"):
        present = by_channel.get(channel, {})
        missing = [joint for joint in joint_names if joint not in present]
        if present and missing:
            raise RecordingError(
                str(path),
                found=f"the channel {channel} has {len(present)} joints; missing: {listed(missing, limit=3)}",
                expected=f"all {len(joint_names)} actuated joints of the robot",
                next_step="Name the columns by joint or motor number, or give the robot the table is of.",
            )
    return {
        channel: np.stack([present[joint] for joint in joint_names], axis=1)
        for channel, present in by_channel.items()
        if len(present) == len(joint_names)
    }


def _check_present(path: Path, channels: dict[str, np.ndarray], columns: dict[str, np.ndarray]) -> None:
    found = f"the columns are {listed(list(columns))}"
    if "q" not in channels:
        raise RecordingError(
            str(path),
            found=f"there are no encoder readings; {found}",
            expected="columns q_0 or q_JOINT, motor_state[0].q, or the like",
            next_step="Rename the columns.",
        )
    if "target" not in channels and "tau_ff" not in channels:
        raise RecordingError(
            str(path),
            found=f"there are no commands; {found}",
            expected="columns q_des_0 or target_JOINT, motor_cmd[0].q, or the like",
            next_step="Log what was commanded too: without it nothing can be identified.",
        )
