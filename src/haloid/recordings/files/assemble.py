"""Reading, step three: columns by joint become the arrays of a `Recording`, joints in model order."""

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from haloid.recordings.errors import Origin, did_you_mean, listed, shown
from haloid.recordings.files.columns import JointColumns, missing_joints_error
from haloid.recordings.files.metadata import Metadata
from haloid.recordings.recording import Recording

_USED = {"position": ("q", "target", "dq", "tau", "kp", "kd"), "torque": ("q", "dq", "tau")}
_REQUIRED = {"position": ("q", "target"), "torque": ("q", "tau")}

logger = logging.getLogger(__name__)


def assemble(
    file: Path,
    robot: str,
    metadata: Metadata,
    time_s: np.ndarray,
    columns: JointColumns,
    actuated: Sequence[str],
    origin: Origin,
) -> Recording:
    """The recording, yet to be validated. Columns that the actuation mode does not use are kept in `extra`."""
    mode = metadata.actuation if metadata.actuation in _USED else "position"
    for key, by_joint in (("kp", metadata.kp), ("kd", metadata.kd), ("encoder_step", metadata.encoder_step)):
        _check_joints(key, by_joint or {}, actuated, robot, origin)
    unused = {
        f"{channel}:{joint}": values
        for channel in columns.by_channel
        if channel not in _USED[mode]
        for joint, values in columns.by_channel[channel].items()
    }
    arrays: dict[str, np.ndarray | None] = {"kp": None, "kd": None, "target": None}
    for channel in ("q", "target", "dq", "tau"):
        present = columns.by_channel[channel]
        if channel not in _USED[mode]:
            continue
        if len(present) < len(actuated) and channel in _REQUIRED[mode] and (present or channel == "q"):
            raise missing_joints_error(channel, columns, actuated, robot, origin)
        if present and len(present) < len(actuated):
            names = [f"{channel}:{joint}" for joint in present]
            logger.warning("%s: ignoring %s: the other joints have none", origin.data_file, listed(names))
            unused |= {f"{channel}:{joint}": values for joint, values in present.items()}
        complete = len(present) == len(actuated)
        arrays[channel] = np.stack([present[joint] for joint in actuated], axis=1) if complete else None
    if mode == "position":
        for gain, constant in (("kp", metadata.kp), ("kd", metadata.kd)):
            arrays[gain] = _gains(gain, columns.by_channel[gain], constant or {}, actuated, len(time_s), origin)
    assert arrays["q"] is not None
    return Recording(
        name=file.stem,
        robot=robot,
        clamp=metadata.clamp,
        joint_names=tuple(actuated),
        time_s=time_s.copy(),
        q_rad=arrays["q"],
        target_rad=arrays["target"],
        kp=arrays["kp"],
        kd=arrays["kd"],
        dq_rad_s=arrays["dq"],
        tau_nm=arrays["tau"],
        support=metadata.support,
        actuation=metadata.actuation,
        payload=metadata.payload,
        note=metadata.note,
        encoder_step_rad=_encoder_steps(metadata.encoder_step, actuated),
        clamp_pose=None if metadata.clamp_pose is None else np.array(metadata.clamp_pose),
        extra={column: values.copy() for column, values in (columns.extra | unused).items()},
        source=file,
    )


def _encoder_steps(by_joint: dict[str, float] | None, actuated: Sequence[str]) -> np.ndarray | None:
    """(n,) 0 where the json names none."""
    return None if by_joint is None else np.array([by_joint.get(joint, 0.0) for joint in actuated])


def _gains(
    gain: str,
    per_step: dict[str, np.ndarray],
    constant: dict[str, float],
    actuated: Sequence[str],
    row_count: int,
    origin: Origin,
) -> np.ndarray | None:
    """(n,) where all are constant, (T, n) where any has a column, which wins; None where there are none at all."""
    if not per_step and not constant:
        return None
    missing = [joint for joint in actuated if joint not in per_step and joint not in constant]
    if missing:
        raise origin.meta_error(
            gain,
            found=f"no gain for {listed(missing)}",
            expected=f"the {gain} of every actuated joint in position mode",
            next_step=f"Add the joint to the json, or a column {gain}:{missing[0]}.",
        )
    if not per_step:
        return np.array([constant[joint] for joint in actuated])
    return np.stack([per_step[j] if j in per_step else np.full(row_count, constant[j]) for j in actuated], axis=1)


def _check_joints(key: str, by_joint: dict[str, float], actuated: Sequence[str], robot: str, origin: Origin) -> None:
    for joint in by_joint:
        if joint not in actuated:
            meant = did_you_mean(joint, [name for name in actuated if name not in by_joint] or actuated)
            raise origin.meta_error(
                key,
                found=f"robot {shown(robot)} has no actuated joint {shown(joint)}",
                expected=f"its {len(actuated)} actuated joints ({listed(actuated, limit=3)})",
                next_step=f"{meant}Rename or remove the entry.",
            )
