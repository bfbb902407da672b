"""Usable rows: where in a recording a fragment may start, and what smoothing tells about its states and its noise.

A fragment holds no gap and no joint at its stop, which the simulated robot does not have. A servo at its force limit
is part of the model: the step is known on both sides of the limit.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.signal import savgol_filter

from haloid.engines.simulate import Simulator
from haloid.recordings.recording import Recording
from haloid.recordings.steadiness import GAP_PERIODS

HISTORY_ROWS = 5
"""Rows of input before a fragment that delayed commands may come from."""
_EDGE_ROWS = 3
"""Rows at either end of a gap-free piece where smoothing is worse."""
_STOP_MARGIN_RAD = 2e-3
_SATURATION_SHARE = 0.98
_SMOOTHING = (7, 3)
_ROUGH_SMOOTHING = (5, 4)
_SMOOTHING_LEFT = float(np.sqrt(1 - 7 / 21))
"""Share of white noise that is left between readings and a cubic over 7 of them (its centre weight is 7/21)."""
_NORMAL_MEDIAN = 0.6745
"""Median of |x| for a normal x of unit deviation."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Motion:
    """A recording in the order of a simulator's joints, smoothed; arrays are (T, n)."""

    recording: Recording
    order: list[int]
    """The recording's column of each of the simulator's joints."""
    pieces: list[slice]
    """The gap-free pieces of the recording."""
    q_rad: np.ndarray
    """As read."""
    smooth_rad: np.ndarray
    velocity_rad_s: np.ndarray
    """Measured, or by a local cubic."""
    rough_velocity_rad_s: np.ndarray
    """By a rougher fit, to tell how far to trust the other."""

    @property
    def scatter_rad(self) -> np.ndarray:
        """(T', n) what smoothing takes from the readings, scaled to the encoders' noise, where it looks both ways."""
        half = _SMOOTHING[0] // 2
        inner = [row for piece in self.pieces for row in range(piece.start + half, piece.stop - half)]
        return (self.q_rad - self.smooth_rad)[inner] / _SMOOTHING_LEFT

    @property
    def least_noise_rad(self) -> np.ndarray:
        """(n,) what the encoders' step alone leaves unknown."""
        return self.recording.least_noise_rad[self.order]

    @property
    def asked_torque_nm(self) -> np.ndarray:
        """What the commands ask of the motors, before any limit: kp·(target − q) − kd·dq, or the torques."""
        recording, order = self.recording, self.order
        if recording.target_rad is None:
            assert recording.tau_nm is not None
            return recording.tau_nm[:, order]
        assert recording.kp is not None and recording.kd is not None
        error = recording.target_rad[:, order] - self.q_rad
        return recording.kp[..., order] * error - recording.kd[..., order] * self.velocity_rad_s


def motion_of(recording: Recording, simulator: Simulator) -> Motion:
    order = [recording.joint_names.index(name) for name in simulator.dof_joints]
    smooth, velocity, rough = (values[:, order] for values in smoothed(recording))
    return Motion(recording, order, pieces(recording), recording.q_rad[:, order], smooth, velocity, rough)


def smoothed(recording: Recording) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Readings and velocities by a local cubic, and velocities by a rougher fit, (T, n) in the recording's order."""
    q = recording.q_rad
    smooth, velocity, rough = q.copy(), np.zeros_like(q), np.zeros_like(q)
    time_s = None if recording.is_even else recording.time_s
    for piece in pieces(recording):
        if piece.stop - piece.start < _SMOOTHING[0]:
            continue
        times = recording.control_dt_s if time_s is None else time_s[piece]
        smooth[piece], velocity[piece] = _local_polynomial(q[piece], times, *_SMOOTHING)
        rough[piece] = _local_polynomial(q[piece], times, *_ROUGH_SMOOTHING)[1]
    return smooth, velocity if recording.dq_rad_s is None else recording.dq_rad_s, rough


def pieces(recording: Recording) -> list[slice]:
    """The gap-free pieces of a recording."""
    breaks = np.flatnonzero(np.diff(recording.time_s) > GAP_PERIODS * recording.control_dt_s) + 1
    edges = [0, *breaks.tolist(), len(recording.time_s)]
    return [slice(a, b) for a, b in pairwise(edges)]


def noise_of(scatter_rad: np.ndarray) -> float:
    """The standard deviation of mostly normal values; zero of none."""
    return float(np.median(np.abs(scatter_rad)) / _NORMAL_MEDIAN) if scatter_rad.size else 0.0


def noise_rad(motion: Motion) -> float:
    """The encoders' noise, all joints together: how readings scatter, and never less than their step leaves."""
    return max(noise_of(motion.scatter_rad), float(np.median(motion.least_noise_rad)))


def usable_starts(motion: Motion, simulator: Simulator, rows: int) -> np.ndarray:
    """Rows from which `rows` control steps run without a gap or a joint at its stop."""
    bad = np.any(at_stop(motion, simulator), axis=1)
    starts = []
    for piece in motion.pieces:
        first = piece.start + (max(_EDGE_ROWS, HISTORY_ROWS) if piece.start > 0 else _EDGE_ROWS)
        for start in range(first, piece.stop - rows - 1):
            if not bad[start : start + rows + 1].any():
                starts.append(start)
    if bad.any():
        _LOG.warning(
            "%s: %d of %d rows are left out, because a joint is at its stop there",
            motion.recording.title,
            int(bad.sum()),
            len(bad),
        )
    return np.array(starts, int)


def at_stop(motion: Motion, simulator: Simulator) -> np.ndarray:
    """(T, n) where a joint is at its stop."""
    model, q = simulator.model, motion.q_rad
    low, high = model.jnt_range[model.dof_jntid].T
    limited = model.jnt_limited[model.dof_jntid].astype(bool)
    return limited & ((q < low + _STOP_MARGIN_RAD) | (q > high - _STOP_MARGIN_RAD))


def saturated(motion: Motion, simulator: Simulator) -> np.ndarray:
    """(T, n) where a motor is asked for its full torque."""
    return np.abs(motion.asked_torque_nm) > _SATURATION_SHARE * simulator.effort_limit


def _local_polynomial(
    values: np.ndarray, times: float | np.ndarray, window: int, degree: int
) -> tuple[np.ndarray, np.ndarray]:
    """Values and slopes, (T, n), of the polynomials through the `window` rows around each (Savitzky and Golay).

    `times` is the time between even rows, or the times of uneven ones.
    """
    if isinstance(times, np.ndarray):
        count = len(values)
        first = np.clip(np.arange(count) - window // 2, 0, count - window)
        rows = first[:, None] + np.arange(window)
        unit_s = float(np.median(np.diff(times)))
        since = (times[rows] - times[:, None]) / unit_s
        weights = np.linalg.pinv(since[..., None] ** np.arange(degree + 1))[:, :2]
        smooth, slope = np.einsum("tow,twn->otn", weights, values[rows])
        return smooth, slope / unit_s
    smooth = savgol_filter(values, window, degree, axis=0)
    slope = savgol_filter(values, window, degree, deriv=1, delta=times, axis=0)
    return np.asarray(smooth), np.asarray(slope)
