"""Motions, grounding: a clip that floats, or sinks, is put on the ground.

In: a trajectory. Out: its poses, the root higher or lower and otherwise as it was. With `clip`, all frames move
alike and the lowest point of the soles over the whole clip ends at height 0. With `contact`, the lowest point of the
soles ends at 0 wherever a foot stands; while none does, as in a jump, the correction is interpolated in time and
large enough to keep the soles out of the ground. It is smoothed, so that the root does not jerk.
"""

from dataclasses import replace
from typing import Literal

import mujoco
import numpy as np
from scipy.ndimage import binary_opening, gaussian_filter1d

from haloid.motions.stance import Touch, touches
from haloid.motions.surface import surface_of
from haloid.trajectories.motion import motion_of
from haloid.trajectories.trajectory import FloatingTrajectory

Grounding = Literal["clip", "contact"]

STANDING = Touch(slow_m_s=0.4)
"""A foot whose lowest point is slower than this stands, whatever the clip's height,"""
STANDING_S = 0.15
"""if it lasts this long: at the top of a jump a foot is slow for 0.08 s."""
SMOOTHING_S = 0.06


def ground(frames: FloatingTrajectory, model: mujoco.MjModel, by: Grounding = "clip") -> FloatingTrajectory:
    surface = surface_of(model)
    soles_w_m = surface.lowest_w_m(motion_of(frames, model))[:, surface.sole_rows]
    lowest_m = soles_w_m[..., 2].min(axis=1)
    raise_m = -lowest_m.min() if by == "clip" else _by_contact(soles_w_m, lowest_m, frames.rate_hz)
    return replace(frames.poses(), root_pos_w_m=frames.root_pos_w_m + np.multiply.outer(raise_m, [0.0, 0.0, 1.0]))


def _by_contact(soles_w_m: np.ndarray, lowest_m: np.ndarray, fps: float) -> np.ndarray:
    """(T,) what to add to the heights."""
    velocity_m_s = np.gradient(soles_w_m, 1 / fps, axis=0)
    lowest_point = soles_w_m[..., 2].argmin(axis=1)
    touching = touches(lowest_m, velocity_m_s[np.arange(len(lowest_m)), lowest_point], STANDING)
    standing = np.flatnonzero(binary_opening(touching, np.ones(int(np.ceil(STANDING_S * fps)))))
    if standing.size == 0:
        return np.full(len(lowest_m), -lowest_m.min())
    raise_m = np.interp(np.arange(len(lowest_m)), standing, -lowest_m[standing])
    raise_m = np.maximum(raise_m, -lowest_m)
    return gaussian_filter1d(raise_m, SMOOTHING_S * fps, mode="nearest")
