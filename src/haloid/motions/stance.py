"""Motions, stance: what touches the ground, told from how low and how slow it is, and when a foot stands.

In: heights and velocities of points, or the soles' points over time. Out: which of them touch, or phases, each from its
first frame to past its last. There is one rule; those who use it differ in how low and how slow they ask a point to be:
a clip with a wrong height is judged by speed alone, a foot that slides by its vertical speed alone.
"""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import binary_closing, gaussian_filter1d

from haloid.motions.finding import spans


@dataclass(frozen=True)
class Touch:
    """A point touches the ground if it is below and slower than all of these."""

    low_m: float = np.inf
    slow_m_s: float = np.inf
    slow_vertical_m_s: float = np.inf


SURELY, ROUGHLY = Touch(0.03, 0.15), Touch(0.05, 0.35)
"""A foot stands: the sole's lowest point, and the velocity of its middle."""
_SMOOTHING_S, _GAP_S, _SHORTEST_S = 0.03, 0.06, 0.1


def touches(height_m: np.ndarray, velocity_m_s: np.ndarray, limits: Touch) -> np.ndarray:
    """(…) bool, of (…) heights and (…, 3) velocities."""
    slow = np.linalg.norm(velocity_m_s, axis=-1) < limits.slow_m_s
    return (height_m < limits.low_m) & slow & (np.abs(velocity_m_s[..., 2]) < limits.slow_vertical_m_s)


def stance_phases(soles_w_m: np.ndarray, fps: float) -> list[tuple[int, int]]:
    """Phases of one foot from its soles' (T, points, 3).

    With hysteresis: a phase holds a frame in which the foot surely stands, and all around it in which it roughly does.
    Short gaps are closed.
    """
    smooth = gaussian_filter1d(soles_w_m, _SMOOTHING_S * fps, axis=0, mode="nearest")
    velocity_m_s = np.gradient(smooth.mean(axis=1), 1 / fps, axis=0)
    height_m = smooth[..., 2].min(axis=1)
    surely, roughly = (touches(height_m, velocity_m_s, limits) for limits in (SURELY, ROUGHLY))
    gap = round(_GAP_S * fps)
    roughly = np.asarray(binary_closing(np.pad(roughly, gap, mode="edge"), np.ones(gap + 1)))[gap:][: len(soles_w_m)]
    phases = [(first, last + 1) for first, last in spans(roughly)]
    return [(start, stop) for start, stop in phases if stop - start >= _SHORTEST_S * fps and surely[start:stop].any()]
