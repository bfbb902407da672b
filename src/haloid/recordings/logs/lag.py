"""Command-to-motion delay: how long after a target the joints follow it, beyond the lag of the servos themselves.

In: targets, readings and gains on even rows. A servo kp·(target − q) − kd·dq that carries little lags its target by
kd/kp: the targets are passed through that first-order lag. Out: the shift that then best correlates the increments of
targets and readings over all moving joints. Inertia adds to it; an identification with the unknown `delay` finds the
pure one.
"""

from itertools import pairwise

import numpy as np
from scipy.signal import lfilter

MAX_LAG_S = 0.5
_LEAST_MOTION_RAD = 1e-3
_LEAST_CORRELATION = 0.3
_LEAST_ROWS = 50


def motion_lag_s(
    time_s: np.ndarray, period_s: float, target_rad: np.ndarray, q_rad: np.ndarray, servo_lag_s: np.ndarray
) -> float | None:
    """`servo_lag_s` (n,) is kd/kp. None where too little moves, or the motion does not follow the targets."""
    breaks = np.flatnonzero(np.diff(time_s) > 1.5 * period_s) + 1
    edges = [0, *breaks.tolist(), len(time_s)]
    start, stop = max(pairwise(edges), key=lambda piece: piece[1] - piece[0])
    expected_rad = np.stack(
        [
            _lagged(column, lag_s / period_s)
            for column, lag_s in zip(target_rad[start:stop].T, servo_lag_s, strict=True)
        ],
        axis=1,
    )
    target, q = (np.diff(values, axis=0) for values in (expected_rad, q_rad[start:stop]))
    moving = np.ptp(target_rad[start:stop], axis=0) > _LEAST_MOTION_RAD
    moving &= (target.std(axis=0) > 0) & (q.std(axis=0) > 0)
    if len(q) < _LEAST_ROWS or not moving.any():
        return None
    target, q = ((values - values.mean(axis=0))[:, moving] for values in (target, q))
    target, q = target / np.linalg.norm(target, axis=0), q / np.linalg.norm(q, axis=0)
    lags = min(round(MAX_LAG_S / period_s), len(q) // 2)
    size = 2 * len(q)
    product = np.fft.irfft(np.fft.rfft(q, size, axis=0) * np.conj(np.fft.rfft(target, size, axis=0)), size, axis=0)
    correlation = product[: lags + 1].mean(axis=1)
    best = int(np.argmax(correlation))
    if correlation[best] < _LEAST_CORRELATION:
        return None
    return period_s * (best + _parabola_peak(correlation, best))


def _lagged(values: np.ndarray, lag_rows: float) -> np.ndarray:
    """The response at each row of a first-order lag to values held from their row to the next."""
    keep = np.exp(-1 / lag_rows) if lag_rows > 0 else 0.0
    response = lfilter([0.0, 1 - keep], [1.0, -keep], values - values[0])
    return values[0] + np.asarray(response)


def _parabola_peak(values: np.ndarray, best: int) -> float:
    """Where between the samples the peak is, from -0.5 to 0.5."""
    if not 0 < best < len(values) - 1:
        return 0.0
    left, middle, right = values[best - 1 : best + 2]
    curvature = left - 2 * middle + right
    return float(np.clip(0.5 * (left - right) / curvature, -0.5, 0.5)) if curvature < 0 else 0.0
