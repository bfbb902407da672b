"""The columns of a recording's table and the joints they belong to: `q:left_knee_joint` is channel q of that joint."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haloid.recordings.errors import Origin, RecordingError, did_you_mean, listed, near_miss, shown

TIME = "time"
CHANNELS: dict[str, str] = {
    "q": "rad",
    "target": "rad",
    "dq": "rad/s",
    "tau": "N·m",
    "kp": "N·m/rad",
    "kd": "N·m·s/rad",
}
"""The channels a joint can have, and their units."""


@dataclass(frozen=True)
class Table:
    """The columns of a file by name, each `(T,)`, before anything is known about the robot."""

    columns: dict[str, np.ndarray]
    row_lines: Sequence[int] | None = None


@dataclass(frozen=True)
class JointColumns:
    """The columns of a table sorted by channel and joint, and the rest."""

    by_channel: dict[str, dict[str, np.ndarray]]
    extra: dict[str, np.ndarray]


def channel_and_joint(column: str) -> tuple[str, str] | None:
    """`q:left_knee_joint` as ("q", "left_knee_joint"); None for a column that belongs to no joint."""
    channel, colon, joint = column.partition(":")
    return (channel, joint) if colon and channel in CHANNELS else None


def is_used(column: str) -> bool:
    """Whether haloid reads the column; every other one is kept and ignored."""
    return column == TIME or channel_and_joint(column) is not None


def sort_by_joint(
    table: Table, actuated: Sequence[str], passive: Sequence[str], robot: str, origin: Origin
) -> JointColumns:
    """The table's columns by channel and joint; a joint the robot does not have is an error.

    Columns of joints that no actuator drives (`passive`) are kept with the rest.
    """
    by_channel: dict[str, dict[str, np.ndarray]] = {channel: {} for channel in CHANNELS}
    extra: dict[str, np.ndarray] = {}
    for column, values in table.columns.items():
        parts = channel_and_joint(column)
        if parts is not None and parts[1] in actuated:
            by_channel[parts[0]][parts[1]] = values
        elif parts is not None and parts[1] not in passive:
            channel, joint = parts
            absent = [name for name in actuated if f"{channel}:{name}" not in table.columns]
            meant = did_you_mean(column, [f"{channel}:{name}" for name in absent or actuated])
            raise origin.data_error(
                column=column,
                found=f"robot {shown(robot)} has no joint {shown(joint)}",
                expected=f"one of its {len(actuated)} actuated joints ({listed(actuated, limit=3)})",
                next_step=f"{meant}Rename the column, or remove it if the robot model lacks that joint.",
            )
        elif column != TIME:
            extra[column] = values
    return JointColumns(by_channel, extra)


def missing_joints_error(
    channel: str, columns: JointColumns, actuated: Sequence[str], robot: str, origin: Origin
) -> RecordingError:
    """The error for a channel that lacks some of the robot's joints."""
    missing = [joint for joint in actuated if joint not in columns.by_channel[channel]]
    names = [f"{channel}:{joint}" for joint in missing]
    others = f" (and {len(names) - 1} more: {listed(names[1:])})" if len(names) > 1 else ""
    return origin.data_error(
        column=names[0],
        found=f"the column is missing{others}",
        expected=f"a {channel}:JOINT column for each of the {len(actuated)} actuated joints of robot {shown(robot)}",
        next_step=f"{_offered(names[0], list(columns.extra))}"
        "Add what is missing, or name a robot model that has only the recorded joints.",
    )


def check_time_present(table: Table, origin: Origin) -> None:
    if TIME not in table.columns:
        candidates = [column for column in table.columns if not is_used(column)]
        lookalikes = [column for column in candidates if column.lower().startswith(("t", "stamp", "sec"))]
        meant = _offered(TIME, candidates) or (_offer(lookalikes[0], TIME) if lookalikes else "")
        raise origin.data_error(
            column=TIME,
            found=f"the column is missing; the file has {listed(list(table.columns))}",
            expected="a 'time' column in seconds",
            next_step=f"{meant}Add the column, or rename the one that holds the time.",
        )


def _offered(name: str, candidates: Sequence[str]) -> str:
    match = near_miss(name, candidates)
    return _offer(match, name) if match else ""


def _offer(column: str, name: str) -> str:
    return f"Is it the column {shown(column)}? If so, rename it to {shown(name)}. "
