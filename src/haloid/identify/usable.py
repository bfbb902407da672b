"""Usable rows: where in a recording a fragment may start, and what smoothing tells of its states and its noise.

A fragment holds no gap, no joint at its stop and no servo at its force limit, which the contact-free model does not
follow smoothly.
"""

from __future__ import annotations

import logging
from itertools import pairwise

import numpy as np
from scipy.signal import savgol_filter

from haloid.engines.simulate import Simulator
from haloid.recordings.recording import Recording
from haloid.recordings.timing import GAP_PERIODS

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


def pieces(recording: Recording) -> list[slice]:
    """The gap-free pieces of a recording."""
    breaks = np.flatnonzero(np.diff(recording.time_s) > GAP_PERIODS * recording.control_dt_s) + 1
    edges = [0, *breaks.tolist(), len(recording.time_s)]
    return [slice(a, b) for a, b in pairwise(edges)]


def smoothed(recording: Recording, order: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Readings and velocities by a local cubic, and velocities by a rougher fit to tell how far to trust them."""
    q = recording.q_rad[:, order]
    smooth, velocity, rough = q.copy(), np.zeros_like(q), np.zeros_like(q)
    for piece in pieces(recording):
        if piece.stop - piece.start < _SMOOTHING[0]:
            continue
        dt = recording.control_dt_s
        smooth[piece] = savgol_filter(q[piece], *_SMOOTHING, axis=0)
        velocity[piece] = savgol_filter(q[piece], *_SMOOTHING, deriv=1, delta=dt, axis=0)
        rough[piece] = savgol_filter(q[piece], *_ROUGH_SMOOTHING, deriv=1, delta=dt, axis=0)
    if recording.dq_rad_s is not None:
        velocity = recording.dq_rad_s[:, order]
    return smooth, velocity, rough


def scatter_rad(recording: Recording, order: list[int]) -> np.ndarray:
    """(T', n) what smoothing takes from the readings, scaled to the encoders' noise, where it looks both ways."""
    half = _SMOOTHING[0] // 2
    inner = [row for piece in pieces(recording) for row in range(piece.start + half, piece.stop - half)]
    return (recording.q_rad[:, order] - smoothed(recording, order)[0])[inner] / _SMOOTHING_LEFT


def noise_of(scatter_rad: np.ndarray) -> float:
    """The standard deviation of mostly normal values; zero of none."""
    return float(np.median(np.abs(scatter_rad)) / _NORMAL_MEDIAN) if scatter_rad.size else 0.0


def usable_starts(recording: Recording, simulator: Simulator, rows: int) -> np.ndarray:
    """Rows from which `rows` control steps run without a gap, a joint stop or a saturated servo."""
    bad = out_of_model(recording, simulator)
    starts = []
    for piece in pieces(recording):
        first = piece.start + (max(_EDGE_ROWS, HISTORY_ROWS) if piece.start > 0 else _EDGE_ROWS)
        for start in range(first, piece.stop - rows - 1):
            if not bad[start : start + rows + 1].any():
                starts.append(start)
    if bad.any():
        _LOG.warning(
            "%s: %d of %d rows are left out, because a joint is at its stop or a servo at its limit there",
            recording.name if recording.source is None else recording.source.name,
            int(bad.sum()),
            len(bad),
        )
    return np.array(starts, int)


def out_of_model(recording: Recording, simulator: Simulator) -> np.ndarray:
    """(T,) rows where a joint stop or a force limit acts, which the contact-free model does not follow smoothly."""
    if simulator.contact:
        return np.zeros(len(recording.time_s), bool)
    bad = np.any(at_stop(recording, simulator), axis=1)
    if recording.target_rad is not None:
        bad |= np.any(saturated(recording, simulator), axis=1)
    return bad


def at_stop(recording: Recording, simulator: Simulator) -> np.ndarray:
    """(T, n) where a joint is at its stop, in the order of the simulator's joints."""
    model = simulator.model
    q = recording.q_rad[:, joint_order(recording, simulator)]
    low, high = model.jnt_range[model.dof_jntid].T
    limited = model.jnt_limited[model.dof_jntid].astype(bool)
    return limited & ((q < low + _STOP_MARGIN_RAD) | (q > high - _STOP_MARGIN_RAD))


def saturated(recording: Recording, simulator: Simulator) -> np.ndarray:
    """(T, n) where a motor is asked for all it has, in the order of the simulator's joints."""
    return np.abs(asked_torque_nm(recording, simulator)) > _SATURATION_SHARE * simulator.effort_limit


def asked_torque_nm(recording: Recording, simulator: Simulator) -> np.ndarray:
    """(T, n) what the commands ask of the motors, before any limit: kp·(target − q) − kd·dq, or the torques."""
    order = joint_order(recording, simulator)
    if recording.target_rad is None:
        assert recording.tau_nm is not None
        return recording.tau_nm[:, order]
    assert recording.kp is not None and recording.kd is not None
    error = recording.target_rad[:, order] - recording.q_rad[:, order]
    return recording.kp[..., order] * error - recording.kd[..., order] * smoothed(recording, order)[1]


def joint_order(recording: Recording, simulator: Simulator) -> list[int]:
    """The recording's columns in the order of the simulator's joints."""
    return [recording.joint_names.index(name) for name in simulator.dof_joints]
