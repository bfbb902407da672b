"""Validation of magnitudes: angles in radians within the joints' limits, and nothing that no robot could do.

A posture in degrees gives itself away: 57 is no joint angle in radians, and targets or velocities that are 57 times
what the encoders say are in degrees.
"""

import logging

import mujoco
import numpy as np

from haloid.recordings.errors import Origin, RecordingError, listed
from haloid.recordings.files.columns import CHANNELS
from haloid.recordings.recording import Recording
from haloid.robots.check import TINY_RANGE_RAD

LIMIT_SLACK_RAD = 0.2
"""Outside a joint's limits by up to this: a warning (the encoder's zero, a soft stop). By more: an error."""
MAX_ANGLE_RAD = 4 * np.pi
"""Two turns, for an angle without known limits and for targets, which may lie outside the limits."""
MAX_MAGNITUDE = {"q": 1e4, "target": 1e4, "dq": 1e3, "tau": 1e4, "kp": 1e6, "kd": 1e5}
"""Beyond these, in the channel's unit, a number is damage."""
_DEGREES_FROM_RAD = 2 * np.pi
_DEGREES_UP_TO = 720.0
_DEGREES_SLOPE = (30.0, 90.0)
"""Around 180/π: the slope between two columns of which one is in degrees."""
_DEGREES_CORRELATION = 0.9
_CONVERT = "multiply by pi/180 (np.deg2rad)"

logger = logging.getLogger(__name__)


def check_units(recording: Recording, model: mujoco.MjModel | None, origin: Origin) -> None:
    """Raises for the first channel with a wrong unit; all values are finite."""
    for channel, values in channel_arrays(recording).items():
        _check_magnitude(channel, values, recording.joint_names, origin)
    limits = _limits(recording.joint_names, model)
    _check_limits(recording, limits, origin)
    _check_targets(recording, limits, origin)
    _check_velocity(recording, origin)


def channel_arrays(recording: Recording) -> dict[str, np.ndarray]:
    """The arrays a recording has, by channel; constant gains are `(n,)`, all others `(T, n)`."""
    arrays = (
        recording.q_rad,
        recording.target_rad,
        recording.dq_rad_s,
        recording.tau_nm,
        recording.kp,
        recording.kd,
    )
    return {channel: values for channel, values in zip(CHANNELS, arrays, strict=True) if values is not None}


def _check_magnitude(channel: str, values: np.ndarray, joints: tuple[str, ...], origin: Origin) -> None:
    wrong = np.abs(values) > MAX_MAGNITUDE[channel]
    if channel in ("kp", "kd"):
        wrong |= values < 0
    if not wrong.any():
        return
    cell = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    joint = joints[cell[-1]]
    value = float(values[cell])
    low = 0 if channel in ("kp", "kd") else -MAX_MAGNITUDE[channel]
    expected = f"{CHANNELS[channel]} between {low:g} and {MAX_MAGNITUDE[channel]:g}"
    next_step = "Correct the gain." if channel in ("kp", "kd") else "The value is damaged: check the log's converter."
    if values.ndim == 1:
        raise origin.meta_error(f"{channel}.{joint}", found=f"found {value!r}", expected=expected, next_step=next_step)
    raise origin.data_error(
        column=f"{channel}:{joint}", row=int(cell[0]), found=f"found {value!r}", expected=expected, next_step=next_step
    )


def _limits(joints: tuple[str, ...], model: mujoco.MjModel | None) -> np.ndarray:
    """(n, 2) position limits; infinite for slides and joints without limits, two turns without a model."""
    if model is None:
        return np.tile([-MAX_ANGLE_RAD, MAX_ANGLE_RAD], (len(joints), 1))
    ids = [model.joint(name).id for name in joints]
    limited = model.jnt_limited[ids].astype(bool) & (model.jnt_type[ids] == mujoco.mjtJoint.mjJNT_HINGE)
    return np.where(limited[:, None], model.jnt_range[ids], [-np.inf, np.inf])


def _check_limits(recording: Recording, limits: np.ndarray, origin: Origin) -> None:
    q_rad, joints = recording.q_rad, recording.joint_names
    excess_rad = np.maximum(limits[:, 0] - q_rad, q_rad - limits[:, 1])
    row, j = (int(i) for i in np.unravel_index(int(np.argmax(excess_rad)), excess_rad.shape))
    if excess_rad[row, j] > LIMIT_SLACK_RAD:
        raise _outside_limits(f"q:{joints[j]}", row, float(q_rad[row, j]), limits[j], origin)
    outside = [joints[i] for i in np.flatnonzero((excess_rad > 0).any(axis=0))]
    if outside:
        logger.warning(
            "%s: column 'q:%s', %s: %.4g rad is outside the joint's limits [%.4g, %.4g] (in all: %s)",
            origin.data_file,
            joints[j],
            origin.row_name(row),
            q_rad[row, j],
            *limits[j],
            listed(outside),
        )
    turning = [
        joint
        for joint, (low, _), column in zip(joints, limits, q_rad.T, strict=True)
        if np.isinf(low) and np.abs(column).max() > MAX_ANGLE_RAD
    ]
    if turning:
        logger.warning("%s: more than two turns, or degrees, of %s", origin.data_file, listed(turning))


def _outside_limits(column: str, row: int, value: float, limits: np.ndarray, origin: Origin) -> RecordingError:
    if np.ptp(limits) < TINY_RANGE_RAD:
        next_step = (
            'Limits this narrow are often radians that were read as degrees: write <compiler angle="radian"/> into '
            "the model's MJCF; haloid robots check looks for more."
        )
    elif abs(value) > _DEGREES_UP_TO:
        next_step = "No angle is that large: the value is damaged, check the log's converter."
    elif abs(value) > _DEGREES_FROM_RAD:
        next_step = f"It looks like degrees: {_CONVERT} all angles that are in degrees."
    else:
        next_step = "Check the joint's zero, its sign and the order of the columns; degrees look like this too."
    return origin.data_error(
        column=column,
        row=row,
        found=f"found {value:.6g}",
        expected=f"radians within the joint's limits [{limits[0]:.4g}, {limits[1]:.4g}]",
        next_step=next_step,
    )


def _check_targets(recording: Recording, limits: np.ndarray, origin: Origin) -> None:
    target_rad = recording.target_rad
    if target_rad is None:
        return
    far = (np.abs(target_rad) > MAX_ANGLE_RAD) & np.isfinite(limits[:, 0])
    if far.any():
        row, j = (int(i) for i in np.unravel_index(int(np.argmax(far)), far.shape))
        raise origin.data_error(
            column=f"target:{recording.joint_names[j]}",
            row=row,
            found=f"found {target_rad[row, j]:.6g}",
            expected=f"radians, between {-MAX_ANGLE_RAD:.4g} and {MAX_ANGLE_RAD:.4g}",
            next_step=f"It looks like degrees: {_CONVERT} all targets that are in degrees.",
        )
    slope = _degrees_slope(recording.q_rad, target_rad)
    if slope:
        raise origin.data_error(
            column="target:" + recording.joint_names[int(np.argmax(np.abs(target_rad).max(axis=0)))],
            found=f"the targets are {slope:.0f} times the angles of the encoders",
            expected="both in radians",
            next_step=f"The targets look like degrees: {_CONVERT} them.",
        )


def _check_velocity(recording: Recording, origin: Origin) -> None:
    if recording.dq_rad_s is None:
        return
    slope = _degrees_slope(np.gradient(recording.q_rad, recording.time_s, axis=0), recording.dq_rad_s)
    if slope:
        raise origin.data_error(
            column="dq:" + recording.joint_names[int(np.argmax(np.abs(recording.dq_rad_s).max(axis=0)))],
            found=f"the velocities are {slope:.0f} times what the encoders' angles say",
            expected="rad/s",
            next_step=f"The velocities look like degrees per second: {_CONVERT} them.",
        )


def _degrees_slope(radians: np.ndarray, suspect: np.ndarray) -> float | None:
    """The slope of `suspect` over `radians`, where it is that of degrees over radians."""
    product, square, suspect_square = (radians * suspect).sum(), (radians**2).sum(), (suspect**2).sum()
    if not square or not suspect_square:
        return None
    slope, correlation = product / square, product / np.sqrt(square * suspect_square)
    low, high = _DEGREES_SLOPE
    return float(slope) if low < slope < high and correlation > _DEGREES_CORRELATION else None
