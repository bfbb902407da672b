"""Motions, stance: when a foot stands, told from how low and how slow its sole is.

In: the soles' points over time. Out: phases, each from its first frame to past its last. With hysteresis: a phase holds
a frame in which the sole is surely down and still, and all around it in which it is roughly so. Short gaps are closed.
"""

import numpy as np
from scipy.ndimage import binary_closing, gaussian_filter1d

LOW_M = (0.03, 0.05)
"""Height of the sole's lowest point: surely down, and roughly."""
SLOW_M_S = (0.15, 0.35)
"""Speed of the sole's middle: surely still, and roughly."""
_SMOOTHING_S, _GAP_S, _SHORTEST_S = 0.03, 0.06, 0.1


def stance_phases(soles_w_m: np.ndarray, fps: float) -> list[tuple[int, int]]:
    """Phases of one foot from its soles' (T, points, 3)."""
    smooth = gaussian_filter1d(soles_w_m, _SMOOTHING_S * fps, axis=0, mode="nearest")
    speed_m_s = np.linalg.norm(np.gradient(smooth.mean(axis=1), 1 / fps, axis=0), axis=1)
    height_m = smooth[..., 2].min(axis=1)
    surely, roughly = ((height_m < low) & (speed_m_s < slow) for low, slow in zip(LOW_M, SLOW_M_S, strict=True))
    gap = round(_GAP_S * fps)
    roughly = np.asarray(binary_closing(np.pad(roughly, gap, mode="edge"), np.ones(gap + 1)))[gap:][: len(soles_w_m)]
    edges = np.flatnonzero(np.diff(np.concatenate([[0], roughly, [0]])))
    spans = zip(edges[::2], edges[1::2], strict=True)
    long_enough = [(int(start), int(stop)) for start, stop in spans if stop - start >= _SHORTEST_S * fps]
    return [(start, stop) for start, stop in long_enough if surely[start:stop].any()]
