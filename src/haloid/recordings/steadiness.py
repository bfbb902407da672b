"""Steadiness: whether time stamps scatter around the ticks of a steady loop, or the loop itself runs unevenly.

A stamp that comes late makes one step longer and the next one shorter: the steps of a steady loop correlate with their
successors by −1/2. A loop that takes as long as its work takes has independent steps. The stamps of
the former are replaced by even times, those of the latter are right.
"""

import numpy as np

GAP_PERIODS = 1.5
"""A step of this many periods or more has lost rows."""
_EXACT = 0.005
"""Steps that scatter by no more than this share of the period (rms) are even, whatever their order."""
_LATE_STAMPS_CORRELATION = -0.25
"""Halfway between the correlation of late stamps and that of an uneven loop."""


def is_steady(steps_s: np.ndarray, period_s: float) -> bool:
    """`steps_s` are the times between successive samples; those across a gap do not count.

    >>> is_steady(np.array([8, 11, 13, 9, 8, 8, 12, 13]), period_s=10)
    False
    """
    off = steps_s / period_s - 1
    within = steps_s < GAP_PERIODS * period_s
    if not within.any():
        return True
    off = off - off[within].mean()
    pairs = within[1:] & within[:-1]
    spread = float(np.mean(off[within] ** 2))
    if spread <= _EXACT**2 or not pairs.any():
        return True
    return float(np.mean((off[1:] * off[:-1])[pairs])) < _LATE_STAMPS_CORRELATION * spread
