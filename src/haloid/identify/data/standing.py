"""Standing: first guesses of the states of a robot whose other foot rests on the floor (HALO III-A).

In: smoothed angles and velocities at the fragments' starts. Out: nearer ones at which the foot is on the floor and at
rest. Encoder noise of half a milliradian lifts a foot by a millimetre, and a model that starts in the air or deep in
the floor bounces first; the foot-height correction takes that away. A sole that carries is itself a little
tilted in the soft floor, so only the share of the correction is applied that the heights' scatter shows to be the
encoders'. The states stay unknowns of the fit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from haloid.recordings.reconstruction.foot_height import FootHeight, put_on_floor
from haloid.recordings.reconstruction.resting_foot import resting_foot
from haloid.recordings.recording import Recording

_DEPTH_M, _DEPTH_STD_M = 2e-4, 2e-4
"""How deep the points of a loaded sole are in MuJoCo's soft floor."""


def standing_states(
    recording: Recording, rows: np.ndarray, q_rad: np.ndarray, dq_rad_s: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Angles and velocities, (S, n) in the recording's joint order, corrected towards a foot at rest on the floor."""
    foot = resting_foot(recording)
    pressed = replace(foot, floor_m=foot.floor_m - _DEPTH_M)
    found = put_on_floor(pressed, recording.time_s[rows], q_rad, FootHeight(), recording.name)
    scatter_m = float(np.sqrt(np.mean(found.heights_before_m**2)))
    share = max(0.0, 1 - (_DEPTH_STD_M / max(scatter_m, 1e-9)) ** 2)
    at_rest = dq_rad_s.copy()
    for row, angles_rad in enumerate(found.q_rad):
        slopes = foot.twist(angles_rad)
        at_rest[row] -= share * np.linalg.pinv(slopes) @ (slopes @ dq_rad_s[row])
    return q_rad + share * found.increment_rad, at_rest
