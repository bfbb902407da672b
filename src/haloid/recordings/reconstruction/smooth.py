"""Smoothing: joint angles and velocities at any time, from readings with noise, outliers and lost rows.

In: a recording. Out: a cubic smoothing spline f of every joint, which minimises

    Σ wᵢ (qᵢ − f(tᵢ))² + λ ∫ f″(t)² dt,   λ = (√2 − 1) / (dt · (2π·bandwidth)⁴)

On even rows that is the zero-phase filter 1 / (1 + (√2 − 1)(frequency / bandwidth)⁴): at its bandwidth a sine keeps
1/√2 of its amplitude, at a third of it 99.5 %. The weights w are Huber's: 1 within three standard deviations of the
residuals, less beyond, so that a wrong reading pulls like a noisy one. Velocities are the spline's derivative.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.linalg import solveh_banded

from haloid.errors import HaloidError
from haloid.recordings.errors import RecordingError
from haloid.recordings.recording import Recording

DEFAULT_BANDWIDTH_HZ = 6.0
_HUBER_DEVIATIONS = 3.0
_OUTLIER_DEVIATIONS = 6.0
_LEAST_DEVIATION_RAD = 1e-4
"""The step of a 16-bit encoder: residuals of a resting joint do not measure noise."""
_MAX_REWEIGHTINGS = 50
_MAX_BANDWIDTH_PER_RATE = 0.25
"""A spline that follows single rows cannot detect a wrong one."""


@dataclass(frozen=True)
class SmoothPath:
    """Angles as functions of time between the first and the last row, columns in the order of `joint_names`."""

    joint_names: tuple[str, ...]
    start_s: float
    end_s: float
    bandwidth_hz: float
    """Frequency at which a sine keeps 1/√2 of its amplitude."""
    outliers: int
    """Readings more than six standard deviations off."""
    spline: CubicSpline

    def q_rad(self, time_s: np.ndarray) -> np.ndarray:
        """(T, n)"""
        return self.spline(time_s)

    def dq_rad_s(self, time_s: np.ndarray) -> np.ndarray:
        """(T, n)"""
        return self.spline(time_s, 1)


def smooth(recording: Recording, bandwidth_hz: float = DEFAULT_BANDWIDTH_HZ) -> SmoothPath:
    """Smooths every joint; lost rows are bridged where the gap is shorter than half a period of the bandwidth."""
    time_s, dt_s = recording.time_s, recording.control_dt_s
    _check_bandwidth(bandwidth_hz, 1 / dt_s)
    _check_gaps(recording, bandwidth_hz)
    stiffness = (math.sqrt(2) - 1) / (dt_s * (2 * math.pi * bandwidth_hz) ** 4)
    knots_rad, outliers = np.empty_like(recording.q_rad), 0
    for column, readings_rad in enumerate(recording.q_rad.T):
        knots_rad[:, column], beyond = _robust(time_s, readings_rad, stiffness)
        outliers += beyond
    return SmoothPath(
        joint_names=recording.joint_names,
        start_s=float(time_s[0]),
        end_s=float(time_s[-1]),
        bandwidth_hz=bandwidth_hz,
        outliers=outliers,
        spline=CubicSpline(time_s, knots_rad, bc_type="natural"),
    )


def _robust(time_s: np.ndarray, readings_rad: np.ndarray, stiffness: float) -> tuple[np.ndarray, int]:
    """One joint's spline at the rows by iteratively reweighted least squares, and the number of outliers."""
    weights = np.ones(len(time_s))
    for _ in range(_MAX_REWEIGHTINGS):
        distance_rad = np.abs(readings_rad - _spline_at_rows(time_s, readings_rad, weights, stiffness))
        deviation_rad = max(1.4826 * float(np.median(distance_rad)), _LEAST_DEVIATION_RAD)
        limit_rad = _HUBER_DEVIATIONS * deviation_rad
        before, weights = weights, limit_rad / np.maximum(distance_rad, limit_rad)
        if np.abs(weights - before).max() < 1e-3:
            break
    knots_rad = _spline_at_rows(time_s, readings_rad, weights, stiffness)
    distance_rad = np.abs(readings_rad - knots_rad)
    return knots_rad, int(np.count_nonzero(distance_rad > _OUTLIER_DEVIATIONS * deviation_rad))


def _spline_at_rows(time_s: np.ndarray, readings: np.ndarray, weights: np.ndarray, stiffness: float) -> np.ndarray:
    """f = q − λ W⁻¹ Q γ with (R + λ Qᵀ W⁻¹ Q) γ = Qᵀ q, Reinsch's form of the smoothing spline.

    Q takes second divided differences, γ is f″ at the inner rows and R is their Gram matrix; all are banded.
    """
    steps_s = np.diff(time_s)
    before, after = 1 / steps_s[:-1], 1 / steps_s[1:]
    middle, inverse = -before - after, 1 / weights
    bands = np.zeros((3, len(time_s) - 2))  # diagonal, first and second below it
    bands[0] = before**2 * inverse[:-2] + middle**2 * inverse[1:-1] + after**2 * inverse[2:]
    bands[1, :-1] = middle[:-1] * before[1:] * inverse[1:-2] + after[:-1] * middle[1:] * inverse[2:-1]
    bands[2, :-2] = after[:-2] * before[2:] * inverse[2:-2]
    bands *= stiffness
    bands[0] += (steps_s[:-1] + steps_s[1:]) / 3
    bands[1, :-1] += steps_s[1:-1] / 6
    curvature = solveh_banded(
        bands, before * readings[:-2] + middle * readings[1:-1] + after * readings[2:], lower=True
    )
    pull = np.zeros(len(time_s))
    pull[:-2] += before * curvature
    pull[1:-1] += middle * curvature
    pull[2:] += after * curvature
    return readings - stiffness * inverse * pull


def _check_bandwidth(bandwidth_hz: float, rate_hz: float) -> None:
    most_hz = _MAX_BANDWIDTH_PER_RATE * rate_hz
    if not 0 < bandwidth_hz <= most_hz * (1 + 1e-6):
        raise HaloidError(
            f"the bandwidth is {bandwidth_hz:g} Hz; expected more than 0 and at most {most_hz:g} Hz, a quarter of the "
            f"recording's {rate_hz:g} rows per second. Lower it, or record at a higher rate"
        )


def _check_gaps(recording: Recording, bandwidth_hz: float) -> None:
    longest_s = 0.5 / bandwidth_hz
    steps_s = np.diff(recording.time_s)
    row = int(np.argmax(steps_s))
    if steps_s[row] > longest_s:
        raise RecordingError(
            recording.name,
            f"{recording.time_s[row]:.2f} s",
            found=f"no rows for {steps_s[row]:.3g} s: the motion in between is unknown",
            expected=f"no gap longer than {longest_s:.3g} s, half a period of the bandwidth of {bandwidth_hz:g} Hz",
            next_step="Cut the recording there, or lower the bandwidth if the motion is slow.",
        )
