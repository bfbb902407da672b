"""Tables: a csv, npz or parquet file with one row per sample becomes a `Log`.

Columns are recognised by name (`column_names`); an npz or parquet file may also hold one `(T, n)` array per channel,
with the array `joint_names` or in the robot's motor order. Empty cells, as in a table that merges two topics, are rows
of the other stream.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from haloid.recordings.checks.units import MAX_MAGNITUDE
from haloid.recordings.errors import Origin, RecordingError, listed, shown
from haloid.recordings.files.csv_table import read_csv_table
from haloid.recordings.files.npz_table import read_npz_arrays
from haloid.recordings.logs.column_map import mapped
from haloid.recordings.logs.column_names import WORDS, channel_and_joint_of, time_unit_s
from haloid.recordings.logs.log import Commands, Log, States, optional_package

_JOINT_NAMES = "joint_names"
_ANGULAR = ("q", "target", "dq", "dq_des")
_TOGETHER = 0.9
"""Share of rows that hold both states and commands from which the table is one stream."""
_LATEST_S = 1e11
"""Seconds since 1970 are 2e9: a time beyond this is damage."""
_LARGEST = 1e6
_MOST_ABSURD = 0.1
"""Share of rows with absurd numbers beyond which the columns are something else."""


def is_table(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() in (".csv", ".npz", ".parquet")


@dataclass(frozen=True)
class TableOptions:
    """What a table does not say about itself."""

    angles: Literal["rad", "deg"] = "rad"
    columns: Mapping[str, str] | None = None
    """What its columns are (`column_map`); None: their names say it."""
    actuation: Literal["position", "torque"] | None = None
    """torque: the command is the commanded torque, or else the measured one, or the current; None: as columns say."""
    nm_per_a: Mapping[str, float] | None = None
    """Torque at the joint for each ampere, by joint."""


def read_table(path: Path, joint_names: Sequence[str], motors: Sequence[str], options: TableOptions) -> Log:
    """The log of a table; where columns are numbered or unnamed, they are `motors`, the joint of each motor slot."""
    columns = _flat(path, _columns(path, header=options.columns is None), motors)
    if options.columns is not None:
        columns = mapped(path, columns, options.columns, [joint for joint in motors if joint in joint_names])
    time_s = _time(path, columns)
    channels = _channels(path, columns, joint_names, motors)
    if options.angles == "deg":
        channels = {name: np.deg2rad(values) if name in _ANGULAR else values for name, values in channels.items()}
    notes: list[str] = []
    channels = _with_torques(path, channels, joint_names, options, notes)
    _check_present(path, channels, columns)
    time_s = _without_absurd_rows(path, time_s, channels, notes)
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
    if np.count_nonzero(both := sensed & sent) > _TOGETHER * max(sensed.sum(), sent.sum()):
        sensed = sent = both  # rows of one loop: a row with a hole is lost, and the others stay as they are
    if empty := int(np.count_nonzero(~(sensed | sent) & np.isfinite(time_s))):
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
                found="the table has dq_des or tau_ff columns, but not kp > 0 and kd of all joints as well",
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


def _with_torques(
    path: Path,
    channels: dict[str, np.ndarray],
    joint_names: Sequence[str],
    options: TableOptions,
    notes: list[str],
) -> dict[str, np.ndarray]:
    """Currents become torques; in torque mode the command is a torque, measured where none was commanded."""
    if "current" in channels and options.nm_per_a is not None:
        missing = [joint for joint in joint_names if joint not in options.nm_per_a]
        if missing:
            raise RecordingError(
                str(path),
                "nm_per_a",
                found=f"no drive constant for {listed(missing)}",
                expected=f"one for each of the {len(joint_names)} joints, in N·m at the joint for each ampere",
                next_step="Name the joint too.",
            )
        constants = np.array([options.nm_per_a[joint] for joint in joint_names])
        channels = {**channels, "tau": channels["current"] * constants}
        notes.append("torques are currents times the drives' constants")
    if options.actuation != "torque":
        return channels
    if "tau_ff" not in channels and "tau" not in channels:
        raise RecordingError(
            str(path),
            found="currents without drive constants" if "current" in channels else "there are no torques",
            expected="for torque as the command: columns of torque, commanded or measured, or of current",
            next_step="Name them with --columns tau=..., or current=... and --nm-per-a JOINT=VALUE.",
        )
    if "tau_ff" not in channels:
        channels = {**channels, "tau_ff": channels["tau"]}
        notes.append("the measured torques are taken as the commands")
    return {name: values for name, values in channels.items() if name not in ("target", "kp", "kd", "dq_des")}


def _without_absurd_rows(
    path: Path, time_s: np.ndarray, channels: dict[str, np.ndarray], notes: list[str]
) -> np.ndarray:
    """The times, with none where a row holds numbers that no robot could send."""
    absurd = np.abs(time_s) > _LATEST_S
    for name, values in channels.items():
        with np.errstate(invalid="ignore"):
            absurd |= (np.isinf(values) | (np.abs(values) > MAX_MAGNITUDE.get(name, _LARGEST))).any(axis=1)
    count = int(np.count_nonzero(absurd))
    if count > _MOST_ABSURD * len(time_s):
        raise RecordingError(
            str(path),
            found=f"{count:,} of {len(time_s):,} rows hold numbers that no robot could send",
            expected="angles in rad, velocities in rad/s, torques in N·m",
            next_step="Check what the columns are, and the script that wrote the table.",
        )
    if count:
        notes.append(f"{count:,} rows with absurd numbers left out")
    return np.where(absurd, np.nan, time_s)


def _columns(path: Path, header: bool) -> dict[str, np.ndarray]:
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return read_csv_table(path, Origin(str(path), str(path)), header=header).columns
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


def _flat(path: Path, columns: dict[str, np.ndarray], motors: Sequence[str]) -> dict[str, np.ndarray]:
    """Arrays `(T, n)` as one column per joint; text and arrays of other shapes are left out."""
    names = [str(name) for name in np.ravel(columns.get(_JOINT_NAMES, []))]
    flat = {}
    for name, values in columns.items():
        if values.dtype.kind not in "fiub" or name == _JOINT_NAMES:
            continue
        if values.ndim == 1:
            flat[name] = values.astype(np.float64)
        elif values.ndim == 2 and name.lower() in WORDS:
            joints = names or list(motors)
            if values.shape[1] < len(joints):
                raise RecordingError(
                    str(path),
                    f"array {shown(name)}",
                    found=f"it has {values.shape[1]} columns, and joint_names {len(names)} names",
                    expected=f"a name for every column, or a column for each of the robot's {len(joints)} motors",
                    next_step="Add an array joint_names to the file.",
                )
            flat |= {f"{name}:{joint}": values[:, i].astype(np.float64) for i, joint in enumerate(joints)}
    return flat


def _time(path: Path, columns: dict[str, np.ndarray]) -> np.ndarray:
    units = {name: unit for name in columns if (unit := time_unit_s(name)) is not None}
    if not units:
        raise RecordingError(
            str(path),
            found=f"there is no time column among {listed(list(columns))}",
            expected="time or timestamp in s (or time_ms, timestamp_us, timestamp_ns, tick)",
            next_step="Rename the column, or say which one it is: --columns time=COLUMN.",
        )
    name = min(units, key=lambda name: name.lower().startswith("tick"))
    time_s = columns[name] * units[name]
    sensible = time_s[np.abs(time_s) <= _LATEST_S]
    return time_s - sensible.min() if len(sensible) else time_s


def _channels(
    path: Path, columns: dict[str, np.ndarray], joint_names: Sequence[str], motors: Sequence[str]
) -> dict[str, np.ndarray]:
    """(T, n) by channel, for the channels that have all joints."""
    rows = {len(values) for values in columns.values()}
    if len(rows) > 1:
        raise RecordingError(
            str(path),
            found=f"arrays of {' and '.join(map(str, sorted(rows)[:3]))} rows",
            expected="one row per sample in all of them",
            next_step="Write states and commands at the same times, or as two tables.",
        )
    by_channel: dict[str, dict[str, np.ndarray]] = {}
    for name, values in columns.items():
        if parts := channel_and_joint_of(name, joint_names, motors):
            by_channel.setdefault(parts[0], {})[parts[1]] = values
    for channel in ("q", "target"):
        present = by_channel.get(channel, {})
        missing = [joint for joint in joint_names if joint not in present]
        if present and missing:
            raise RecordingError(
                str(path),
                found=f"the channel {channel} has {len(present)} joints; missing: {listed(missing, limit=3)}",
                expected=f"all {len(joint_names)} actuated joints of the robot",
                next_step="Name the columns by joint or motor number, or give the robot that was logged.",
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
            next_step="Say which columns they are: --columns q=NAME_{} ... (see haloid convert --help).",
        )
    if "target" not in channels and "tau_ff" not in channels:
        raise RecordingError(
            str(path),
            found=f"there are no commands; {found}",
            expected="columns q_des_0 or target_JOINT, motor_cmd[0].q, or the like",
            next_step="Log what was commanded too, or use the measured torque instead: --actuation torque."
            if {"tau", "current"} & set(channels)
            else "Log what was commanded too: without it nothing can be identified.",
        )
