"""Validation: whether a recording, wherever it comes from, can be used. One clear error, or none.

In: a `Recording`, and the robot's model to check joints, limits and the clamped link against. Small flaws
(time jitter, an angle just outside its limits, an encoder that never moves) are logged as warnings.
"""

import logging

import mujoco
import numpy as np

from haloid.recordings.checks.timing import check_timing
from haloid.recordings.checks.units import channel_arrays, check_units
from haloid.recordings.errors import Origin, did_you_mean, listed, shown
from haloid.recordings.files.columns import TIME, channel_and_joint
from haloid.recordings.recording import Recording
from haloid.robots.load import actuated_joints

QUATERNION_NORM_TOLERANCE = 1e-3
LARGEST_ENCODER_STEP_RAD = 0.1
REPEATED_ROWS_NOTICED = 0.1
"""From this share of rows with exactly the angles of the row before, the log is suspected of repeating samples."""
_SUPPORTS = ("single", "double")
_ACTUATIONS = ("position", "torque")

logger = logging.getLogger(__name__)


def validate(
    recording: Recording,
    model: mujoco.MjModel | None = None,
    *,
    allow_gaps: bool = False,
    origin: Origin | None = None,
) -> None:
    """Raises `RecordingError` for the most useful defect. Without `model`, joints and limits go unchecked.

    `origin` says where the cells are; by default that follows from the recording's source.
    """
    origin = origin or origin_of(recording)
    _check_shapes(recording, origin)
    _check_choices(recording, origin)
    _check_commands(recording, origin)
    if model is not None:
        _check_robot(recording, model, origin)
    _check_clamp_pose(recording, origin)
    _check_encoder_step(recording, origin)
    _check_extra(recording, model, origin)
    _check_finite(recording, origin)
    check_timing(recording.time_s, recording.q_rad, origin, allow_gaps=allow_gaps)
    check_units(recording, model, origin)
    _warn_of_still_encoders(recording, origin)


def origin_of(recording: Recording) -> Origin:
    source = recording.source
    if source is None:
        return Origin(f"recording {shown(recording.name)}", f"recording {shown(recording.name)}")
    if source.suffix.lower() == ".npz":
        return Origin(str(source), str(source))
    return Origin(str(source), str(source.with_suffix(".json")), range(2, len(recording.time_s) + 2))


def _check_shapes(recording: Recording, origin: Origin) -> None:
    row_count, joint_count = len(np.atleast_1d(recording.time_s)), len(recording.joint_names)
    shapes = {channel: [(row_count, joint_count)] for channel in ("q", "target", "dq", "tau")}
    shapes |= {gain: [(joint_count,), (row_count, joint_count)] for gain in ("kp", "kd")}
    shapes |= {TIME: [(row_count,)], **{column: [(row_count,)] for column in recording.extra}}
    arrays = {TIME: recording.time_s, **channel_arrays(recording), **recording.extra}
    for column, values in arrays.items():
        if not isinstance(values, np.ndarray) or values.shape not in shapes[column] or values.dtype.kind not in "fiub":
            found = f"found shape {np.shape(values)} and type {getattr(values, 'dtype', type(values).__name__)}"
            raise origin.data_error(
                column=column,
                found=found,
                expected=f"numbers of shape {' or '.join(map(str, shapes[column]))}: rows, joints",
                next_step="Give every channel one row per control step and one column per joint name.",
            )
    if joint_count == 0 or len(set(recording.joint_names)) < joint_count:
        raise origin.data_error(
            found=f"the joint names are {listed(recording.joint_names)}",
            expected="at least one joint, each named once",
            next_step="Name every column's joint.",
        )


def _check_choices(recording: Recording, origin: Origin) -> None:
    for key, value, choices in (
        ("support", recording.support, _SUPPORTS),
        ("actuation", recording.actuation, _ACTUATIONS),
    ):
        if value not in choices:
            raise origin.meta_error(
                key,
                found=f"found {shown(value)}",
                expected=" or ".join(f'"{choice}"' for choice in choices),
                next_step=f"{did_you_mean(value, choices)}Correct the value.",
            )


def _check_commands(recording: Recording, origin: Origin) -> None:
    """Position mode needs targets and gains, torque mode torques."""
    if recording.actuation == "torque":
        if recording.tau_nm is None:
            has_targets = any(column.startswith("target:") for column in recording.extra)
            hint = 'If position targets were commanded, set "actuation" to "position" in the json; otherwise a'
            raise origin.data_error(
                found="there are no 'tau:' columns" + (", but 'target:' columns" if has_targets else ""),
                expected='a tau:JOINT column for every actuated joint, since the json says "actuation": "torque"',
                next_step=f"{hint if has_targets else 'A'}dd the torques that were applied.",
            )
        return
    if recording.target_rad is None:
        has_torques = recording.tau_nm is not None or any(column.startswith("tau:") for column in recording.extra)
        hint = 'If torques were commanded, set "actuation" to "torque" in the json; otherwise a'
        raise origin.data_error(
            found="there are no 'target:' columns" + (", but 'tau:' columns" if has_torques else ""),
            expected='a target:JOINT column for every actuated joint, since the json says "actuation": "position"',
            next_step=f"{hint if has_torques else 'A'}dd the position targets that were sent.",
        )
    for gain, values in (("kp", recording.kp), ("kd", recording.kd)):
        if values is None:
            raise origin.meta_error(
                gain,
                found="the gains are missing, and the csv has no such columns",
                expected=f"the {gain} of every actuated joint in position mode",
                next_step=f'Add "{gain}": {{"JOINT": value, ...}} to the json, or {gain}:JOINT columns.',
            )


def _check_robot(recording: Recording, model: mujoco.MjModel, origin: Origin) -> None:
    expected_joints = actuated_joints(model)
    if recording.joint_names != expected_joints:
        unknown = [name for name in recording.joint_names if name not in expected_joints]
        missing = [name for name in expected_joints if name not in recording.joint_names]
        found = "the joints are in another order"
        if unknown:
            found = f"the robot has no joint {shown(unknown[0])}"
        elif missing:
            found = f"joints are missing: {listed(missing)}"
        raise origin.data_error(
            found=found,
            expected=f"the robot's {len(expected_joints)} actuated joints, in model order",
            next_step=f"{did_you_mean(unknown[0], missing) if unknown else ''}Order them as actuated_joints() does.",
        )
    links = [model.body(i).name for i in range(1, model.nbody)]
    floats = bool((model.jnt_type == mujoco.mjtJoint.mjJNT_FREE).any())
    if recording.clamp is None and floats:
        raise origin.meta_error(
            "clamp",
            found="found null, but the robot's base floats",
            expected="the link held fixed in the world",
            next_step=f'Name it, as "{links[0]}" for a robot held by its base; null is for a fixed-base arm.',
        )
    if recording.clamp is not None and recording.clamp not in links:
        raise origin.meta_error(
            "clamp",
            found=f"robot {shown(recording.robot)} has no link {shown(recording.clamp)}",
            expected=f"one of its {len(links)} links ({listed(links, limit=3)})",
            next_step=f"{did_you_mean(recording.clamp, links)}Name the link that is held fixed.",
        )


def _check_clamp_pose(recording: Recording, origin: Origin) -> None:
    pose = recording.clamp_pose
    if pose is None:
        return
    found = None
    if recording.clamp is None:
        found = "found a pose, but no clamped link"
    elif np.shape(pose) != (7,) or not np.isfinite(pose).all():
        found = f"found {shown(np.asarray(pose).tolist())}"
    elif abs(np.linalg.norm(pose[3:]) - 1) > QUATERNION_NORM_TOLERANCE:
        found = f"found a quaternion of length {np.linalg.norm(pose[3:]):.4g}"
    if found:
        raise origin.meta_error(
            "clamp_pose",
            found=found,
            expected="x, y, z of the clamped link in m, then its unit quaternion w, x, y, z",
            next_step="Correct the pose, or remove the key where the link stands as in the zero configuration.",
        )


def _check_encoder_step(recording: Recording, origin: Origin) -> None:
    if recording.encoder_step_rad is None:
        return
    for joint, step_rad in zip(recording.joint_names, recording.encoder_step_rad.tolist(), strict=True):
        if not 0 <= step_rad <= LARGEST_ENCODER_STEP_RAD:
            raise origin.meta_error(
                f"encoder_step.{joint}",
                found=f"found {step_rad!r}",
                expected=f"the step of the encoder, from 0 to {LARGEST_ENCODER_STEP_RAD:g} rad",
                next_step="Correct it, or remove the key: readings as they were logged show their step themselves.",
            )


def _check_extra(recording: Recording, model: mujoco.MjModel | None, origin: Origin) -> None:
    joints = set(recording.joint_names)
    if model is not None:
        joints |= {model.joint(i).name for i in range(model.njnt)}
    own = {f"{channel}:{joint}" for channel in channel_arrays(recording) for joint in recording.joint_names}
    for column in recording.extra:
        parts = channel_and_joint(column)
        unreadable = not column or column != column.strip() or not column.isprintable()
        if unreadable or column in own | {TIME, "meta"} or (parts is not None and parts[1] not in joints):
            raise origin.data_error(
                column=column,
                found="an extra column of that name",
                expected="a printable name that none of the recording's own columns has",
                next_step="Rename the column.",
            )


def _check_finite(recording: Recording, origin: Origin) -> None:
    for channel, values in {TIME: recording.time_s, **channel_arrays(recording)}.items():
        if np.isfinite(values).all():
            continue
        cell = np.unravel_index(int(np.argmax(~np.isfinite(values))), values.shape)
        count = int(np.count_nonzero(~np.isfinite(values)))
        found = f"found {float(values[cell])!r}" + (f" (and {count - 1} more such cells)" if count > 1 else "")
        joint = "" if channel == TIME else recording.joint_names[cell[-1]]
        expected = "a finite number in every cell"
        next_step = "Cut the recording to the rows before or after, or record again."
        if channel in ("kp", "kd") and values.ndim == 1:
            raise origin.meta_error(f"{channel}.{joint}", found=found, expected=expected, next_step="Correct the gain.")
        if channel in ("dq", "tau"):
            next_step += f" {channel}: columns that are not needed can also be removed."
        column = TIME if channel == TIME else f"{channel}:{joint}"
        raise origin.data_error(column=column, row=int(cell[0]), found=found, expected=expected, next_step=next_step)


def _warn_of_still_encoders(recording: Recording, origin: Origin) -> None:
    moves = np.ptp(recording.q_rad, axis=0) > 0
    frozen = [f"q:{joint}" for joint, moving in zip(recording.joint_names, moves, strict=True) if not moving]
    if frozen:
        logger.warning("%s: the encoder never changes: %s", origin.data_file, listed(frozen))
    repeated = float(np.mean((np.diff(recording.q_rad, axis=0) == 0).all(axis=1)))
    if repeated > REPEATED_ROWS_NOTICED and len(frozen) < len(recording.joint_names):
        logger.warning(
            "%s: %.0f %% of the rows repeat the angles of the row before: logged faster than the encoders are read?",
            origin.data_file,
            100 * repeated,
        )
