"""The encoders' step: readings of a quantised encoder lie on a grid, and the grid is its least noise.

A joint at rest reads the same number again and again, which looks like no noise at all; its angle is known no better
than step/√12 nevertheless.
"""

import numpy as np

_SAME_RAD = 1e-9
"""Readings closer than this are one reading, written in two ways."""
_OFF_GRID = 0.1
"""How far, in steps, readings may lie off their grid: rounded to a few decimals they do."""
_LEAST_LEVELS = 20
"""This many different readings on one grid are no coincidence, even if none appears twice."""


def encoder_steps_rad(q_rad: np.ndarray) -> np.ndarray:
    """(n,) the grid of each column of (T, n) readings; 0 where there is none.

    >>> encoder_steps_rad(0.0015 * np.array([[0, 1, 1, 3, 4, 4, 2, 2, 0, 0]]).T).round(6).tolist()
    [0.0015]
    """
    steps = np.array([_step(column) for column in q_rad.T])
    still = np.ptp(q_rad, axis=0) <= _SAME_RAD
    if still.any() and (steps > 0).any():
        steps[still] = np.median(steps[steps > 0])  # it has the same kind of encoder
    return steps


def quantisation_noise_rad(steps_rad: np.ndarray) -> np.ndarray:
    """Standard deviation of an angle that is anywhere within one step."""
    return steps_rad / np.sqrt(12)


def _step(readings_rad: np.ndarray) -> float:
    levels = np.unique(readings_rad)
    gaps = np.diff(levels)
    gaps = gaps[gaps > _SAME_RAD]
    repeated = 2 * (len(gaps) + 1) <= len(readings_rad)
    if not len(gaps) or not (repeated or len(gaps) >= _LEAST_LEVELS):
        return 0.0
    step = float(gaps.min())
    for _ in range(3):  # the smallest gap is a rounded one; all of them together give the step
        count = np.maximum(np.round(gaps / step), 1)
        step = float(gaps.sum() / count.sum())
    return step if np.abs(gaps - np.round(gaps / step) * step).max() <= _OFF_GRID * step else 0.0
