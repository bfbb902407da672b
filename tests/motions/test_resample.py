"""Resampling: exact where instants agree, close to the truth between them, and never beyond the clip."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from tests.motions.clips import g1, swaying

from haloid.errors import HaloidError
from haloid.motions.resample import resample
from haloid.trajectories.motion import motion_of

MODEL = g1()


def _angle_rad(a_wxyz: np.ndarray, b_wxyz: np.ndarray) -> np.ndarray:
    a, b = (Rotation.from_quat(quat, scalar_first=True) for quat in (a_wxyz, b_wxyz))
    return (a.inv() * b).magnitude()


def test_the_same_rate_changes_nothing():
    frames = swaying(MODEL)
    assert resample(frames, 30.0) is frames


def test_velocities_of_the_old_rate_are_dropped():
    old = motion_of(swaying(MODEL), MODEL).trajectory
    new = resample(old, 100.0)
    assert old.joint_vel_rad_s is not None and old.root_lin_vel_w_m_s is not None
    assert new.joint_vel_rad_s is None and new.root_lin_vel_w_m_s is None and new.root_ang_vel_b_rad_s is None
    np.testing.assert_array_equal(new.joint_pos_rad, resample(swaying(MODEL), 100.0).joint_pos_rad)


def test_frames_between_are_those_of_the_smooth_truth():
    truth = swaying(MODEL, frames=298, fps=100)
    between = resample(swaying(MODEL, frames=90, fps=30), 100)
    assert len(between) == 297
    inner = slice(10, 287)  # a spline knows less at its ends
    np.testing.assert_allclose(between.joint_pos_rad[inner], truth.joint_pos_rad[:297][inner], atol=1e-6)
    np.testing.assert_allclose(between.root_pos_w_m[inner], truth.root_pos_w_m[:297][inner], atol=1e-6)
    assert _angle_rad(between.root_quat_wxyz, truth.root_quat_wxyz[:297])[inner].max() < 1e-5


def test_quaternions_that_change_sign_are_the_same_rotation():
    frames = swaying(MODEL)
    flipped = replace(frames, root_quat_wxyz=frames.root_quat_wxyz * np.where(np.arange(90) % 3 == 0, -1, 1)[:, None])
    assert _angle_rad(resample(flipped, 50).root_quat_wxyz, resample(frames, 50).root_quat_wxyz).max() < 1e-6


@settings(max_examples=30, deadline=None)
@given(count=st.integers(2, 40), old=st.sampled_from([24.0, 29.87, 30.0, 60.0, 120.0]), new=st.floats(20, 200))
def test_old_instants_are_kept_and_the_end_is_not_passed(count: int, old: float, new: float):
    frames = swaying(MODEL, frames=count, fps=old)
    length_s = (count - 1) / old
    if length_s * new < 1:
        with pytest.raises(HaloidError, match="has one frame"):
            resample(frames, new)
        return
    result = resample(frames, new)
    assert (len(result) - 1) / new <= length_s * (1 + 1e-9)
    assert len(result) / new > length_s * (1 - 1e-9)
    np.testing.assert_allclose(result.joint_pos_rad[0], frames.joint_pos_rad[0], atol=1e-12)
    twice = resample(frames, 2 * old)
    np.testing.assert_allclose(twice.root_pos_w_m[::2], frames.root_pos_w_m, atol=1e-12)
    assert _angle_rad(twice.root_quat_wxyz[::2], frames.root_quat_wxyz).max() < 1e-7


def test_rates_that_are_none():
    with pytest.raises(HaloidError, match="found 0 frames per second; expected a rate above 0"):
        resample(swaying(MODEL), 0)
