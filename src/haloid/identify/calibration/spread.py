"""How far a calibrated robot may read from what its model says: σ² = a² + (b · target speed)² for every joint.

A servo's model errs more in quick motion than in slow. Both numbers are fitted to the squared errors of the runs the
servos were fitted to; the interval is the prediction ± 1.96 σ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.optimize import nnls

from haloid.identify.replay import Replay
from haloid.recordings.recording import Recording

_SPEED_OVER_S = 0.5
_NORMAL_95 = 1.959964


@dataclass(frozen=True)
class Spread:
    rest_rad: np.ndarray
    """(n,) a"""
    by_speed_s: np.ndarray
    """(n,) b"""

    def std_rad(self, recording: Recording) -> np.ndarray:
        """(T, n)"""
        return np.sqrt(self.rest_rad**2 + self.by_speed_s**2 * _square_speed(recording))

    def inside(self, recording: Recording, played: Replay) -> np.ndarray:
        """(T', n) readings within their 95 % interval."""
        return np.abs(played.error_rad) <= _NORMAL_95 * self.std_rad(recording)[played.compared]


def fit_spread(recordings: Sequence[Recording], played: Sequence[Replay]) -> Spread:
    speed = np.concatenate([_square_speed(one)[run.compared] for one, run in zip(recordings, played, strict=True)])
    square = np.concatenate([run.error_rad for run in played]) ** 2
    found = []
    for j in range(square.shape[1]):
        design = np.column_stack([np.ones(len(speed)), speed[:, j]])
        weight = 1 / (np.median(square[:, j]) + design[:, 1] * np.mean(square[:, j]) / max(np.mean(speed[:, j]), 1e-9))
        weight = np.minimum(weight, 1e3 / np.mean(square[:, j])) if np.mean(square[:, j]) > 0 else np.ones(len(speed))
        found.append(nnls(design * weight[:, None], square[:, j] * weight)[0])
    rest, by_speed = np.sqrt(np.array(found)).T
    return Spread(rest, by_speed)


def _square_speed(recording: Recording) -> np.ndarray:
    """(T, n) mean square of the targets' speed over the half second before."""
    assert recording.target_rad is not None
    speed = np.gradient(recording.target_rad, recording.control_dt_s, axis=0)
    rows = max(1, round(_SPEED_OVER_S / recording.control_dt_s))
    return np.maximum(uniform_filter1d(speed**2, rows, axis=0, origin=(rows - 1) // 2, mode="nearest"), 0.0)
