"""Motions, resampling: the same clip at another number of frames per second.

In: a trajectory at one rate. Out: its poses at another, from the clip's first instant to the last not beyond its end.
Joints and the root's position follow cubic splines through the old frames; the root's rotation follows a rotation
spline, whose angular velocity is continuous too (scipy's RotationSpline). Where old and new frames share an instant
they are equal.
"""

from dataclasses import replace

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

from haloid.errors import HaloidError
from haloid.trajectories.motion import continuous_quats
from haloid.trajectories.trajectory import FloatingTrajectory

_INSTANT = 1e-9
"""Of a frame: instants closer than this are the same."""


def resample(frames: FloatingTrajectory, fps: float) -> FloatingTrajectory:
    """The frames at `fps`; at their own rate, the frames themselves."""
    if not 0 < fps < np.inf:
        raise HaloidError(f"found {fps:g} frames per second; expected a rate above 0, such as 50")
    if fps == frames.rate_hz:
        return frames
    if len(frames) < 2:
        raise HaloidError(f"a motion needs at least two frames to be resampled; found {len(frames)}")
    old_s = np.arange(len(frames)) / frames.rate_hz
    count = int(old_s[-1] * fps + _INSTANT) + 1
    if count < 2:
        raise HaloidError(
            f"at {fps:g} frames per second a clip of {old_s[-1]:.3g} s has one frame; a motion needs two: raise "
            "the rate"
        )
    new_s = np.minimum(np.arange(count) / fps, old_s[-1])
    rotation = Rotation.from_quat(frames.root_quat_wxyz, scalar_first=True)
    quat_wxyz = RotationSpline(old_s, rotation)(new_s).as_quat(scalar_first=True)
    return replace(
        frames.poses(),
        rate_hz=fps,
        root_pos_w_m=CubicSpline(old_s, frames.root_pos_w_m)(new_s),
        root_quat_wxyz=continuous_quats(quat_wxyz),
        joint_pos_rad=CubicSpline(old_s, frames.joint_pos_rad)(new_s),
    )
