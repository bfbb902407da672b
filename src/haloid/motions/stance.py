"""Motions, stance: what touches the ground, judged by how low and how slow it is, and when a foot stands.

In: heights and velocities of points, or the soles' points over time. Out: which of them touch, or phases, each from its
first frame to past its last. There is one rule; its users differ in how low and how slow a point has to be:
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
FALLING_M_S2 = 4.0
"""A root that accelerates downwards by more than this falls: the robot is in flight."""
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


def without_gaps(
    phases: dict[str, list[tuple[int, int]]], root_height_m: np.ndarray, fps: float
) -> dict[str, list[tuple[int, int]]]:
    """The phases with those gaps closed in which no foot stands and the robot does not fall either.

    Half of such a gap goes to the foot that stood before, half to the one that stands after; if they are one, it never
    left the ground.
    """
    stretched = {side: [list(phase) for phase in found] for side, found in phases.items()}
    stands = np.zeros(len(root_height_m), bool)
    for start, stop in (phase for found in phases.values() for phase in found):
        stands[start:stop] = True
    if not stands.any():
        return phases
    for start, stop in ((first, last + 1) for first, last in spans(~stands)):
        if _falls(root_height_m[max(start - 1, 0) : stop + 1], fps):
            continue
        first, last = start == 0, stop == len(stands)
        middle = start if first else stop if last else (start + stop) // 2
        for phase in (phase for found in stretched.values() for phase in found):
            if phase[1] == start:
                phase[1] = middle
            if phase[0] == stop:
                phase[0] = middle
    return {side: _joined(found) for side, found in stretched.items()}


def _joined(phases: list[list[int]]) -> list[tuple[int, int]]:
    """Phases of one foot, those that touch as one."""
    joined: list[tuple[int, int]] = []
    for start, stop in phases:
        if joined and joined[-1][1] == start:
            joined[-1] = joined[-1][0], stop
        else:
            joined.append((start, stop))
    return joined


def _falls(height_m: np.ndarray, fps: float) -> bool:
    """Whether a parabola through the heights opens downwards like a fall."""
    if len(height_m) < 4:
        return False
    times_s = np.arange(len(height_m)) / fps
    return bool(2 * np.polyfit(times_s, height_m, 2)[0] < -FALLING_M_S2)
