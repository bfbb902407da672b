"""Own motions are damaged as public clips are (soles tilted, floating, trembling), and come back."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d
from tests.motions.clips import REAL_MOTIONS
from tests.motions.own.ground import MODEL, ground_of

from haloid.motions.load import read_frames
from haloid.motions.own import own_motion
from haloid.motions.repair import repair
from haloid.motions.resample import resample
from haloid.trajectories.trajectory import FloatingTrajectory


@cache
def _known(name: str) -> FloatingTrajectory:
    return own_motion(name)


def _damaged(frames: FloatingTrajectory, toe_down_rad: float = 0.2, float_m: float = 0.03) -> FloatingTrajectory:
    """Toes down, everything too high, and every joint trembles by a few milliradians."""
    joints = frames.joint_pos_rad.copy()
    trembling = np.random.default_rng(1).normal(size=joints.shape)
    joints += 0.004 * gaussian_filter1d(trembling, 3, axis=0) / gaussian_filter1d(trembling, 3, axis=0).std()
    for side in ("left", "right"):
        joints[:, frames.joint_names.index(f"{side}_ankle_pitch_joint")] += toe_down_rad
    return replace(frames, joint_pos_rad=joints, root_pos_w_m=frames.root_pos_w_m + np.array([0.0, 0.0, float_m]))


def _stands_as_it_says(repaired) -> None:
    """Where contact is stated, all four points of the sole are on the ground and nothing slides."""
    ground = ground_of(repaired.frames)
    for side in (0, 1):
        stands = repaired.contacts[:, side]
        assert np.abs(ground.soles_m[stands, side, :, 2]).max() < 1e-4
        both = stands[1:] & stands[:-1]
        assert np.abs(np.diff(ground.soles_m[:, side], axis=0)[both]).max() < 1e-5
    assert ground.soles_m[..., 2].min() > -1e-3


@pytest.mark.parametrize("name", ["squat", pytest.param("walk", marks=pytest.mark.slow)])
def test_a_damaged_motion_comes_back(name):
    known = _known(name)
    damaged = _damaged(known)
    repaired = repair(damaged)
    _stands_as_it_says(repaired)
    assert repaired.greatest_miss_m < 1e-6
    was_down = ground_of(known).is_down
    assert (repaired.contacts == was_down).mean() > 0.93
    before = np.abs(damaged.joint_pos_rad[:, :12] - known.joint_pos_rad[:, :12])
    after = np.abs(repaired.frames.joint_pos_rad[:, :12] - known.joint_pos_rad[:, :12])
    assert before.max() > 0.2
    assert np.sqrt(np.mean(after**2)) < 0.03
    speed = np.abs(np.diff(repaired.frames.joint_pos_rad, axis=0)).max() * known.rate_hz
    assert speed < np.abs(np.diff(known.joint_pos_rad, axis=0)).max() * known.rate_hz + 5.0


def test_what_is_whole_is_left_as_it_is():
    known = _known("squat")
    repaired = repair(known)
    assert repaired.contacts.all()
    assert repaired.greatest_change_m < 1e-5
    assert repaired.greatest_change_rad < 1e-4
    assert repaired.greatest_lowering_m < 1e-6
    assert np.abs(repaired.frames.joint_pos_rad - known.joint_pos_rad).max() < 1e-4


@pytest.mark.slow
def test_a_jump_stays_a_jump():
    known = _known("yaw-jump")
    repaired = repair(_damaged(known, float_m=0.0))
    in_the_air = ~repaired.contacts.any(axis=1)
    assert 0.15 < in_the_air.sum() / known.rate_hz < 0.45


def test_arms_and_waist_and_the_pelvis_turns_are_not_touched():
    damaged = _damaged(_known("squat"))
    repaired = repair(damaged)
    assert np.array_equal(repaired.frames.joint_pos_rad[:, 12:], damaged.joint_pos_rad[:, 12:])
    assert np.array_equal(repaired.frames.root_quat_wxyz, damaged.root_quat_wxyz)
    assert np.array_equal(repaired.frames.root_pos_w_m[:, :2], damaged.root_pos_w_m[:, :2])


@pytest.mark.parametrize("path", ["g1-moves/B_HandsUp.csv", "asap/jump_degree_level1.pkl"])
def test_real_clips_stand_on_flat_soles(path):
    if not (REAL_MOTIONS / path).is_file():
        pytest.skip("the public clips are not here")
    fps_in = 60.0 if path.endswith(".csv") else None
    clip = resample(read_frames(REAL_MOTIONS / path, MODEL, fps_in=fps_in), 50.0)
    repaired = repair(clip)
    assert repaired.contacts.any(axis=1).mean() > 0.7
    _stands_as_it_says(repaired)
