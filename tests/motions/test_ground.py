"""Grounding: known heights of the soles, lifted, sunk and drifting clips."""

from dataclasses import replace

import numpy as np
import pytest
from tests.motions.clips import g1, standing, swaying

from haloid.motions.ground import ground
from haloid.motions.surface import surface_of
from haloid.trajectories.motion import motion_of

MODEL = g1()
SURFACE = surface_of(MODEL)


def _lowest_m(frames) -> np.ndarray:
    return SURFACE.lowest_w_m(motion_of(frames, MODEL))[:, SURFACE.sole_rows, 2].min(axis=1)


def test_the_feet_are_the_ankle_links_and_stand_on_the_ground_in_the_zero_pose():
    assert [MODEL.body(foot).name for foot in SURFACE.foot_ids] == ["left_ankle_roll_link", "right_ankle_roll_link"]
    assert len(SURFACE.sole_rows) == 8
    np.testing.assert_allclose(_lowest_m(standing(MODEL)), 0, atol=2e-3)


@pytest.mark.parametrize("offset_m", [-0.05, 0.0, 0.12])
def test_by_clip_all_frames_move_alike(offset_m: float):
    frames = swaying(MODEL)
    frames = replace(frames, root_pos_w_m=frames.root_pos_w_m + np.array([0, 0, offset_m]))
    grounded = ground(frames, MODEL)
    moved_m = grounded.root_pos_w_m - frames.root_pos_w_m
    np.testing.assert_allclose(moved_m, np.tile(moved_m[0], (len(frames), 1)), atol=1e-12)
    assert abs(_lowest_m(grounded).min()) < 1e-9


def test_by_contact_a_drift_goes_and_a_jump_stays():
    time_s = np.arange(200) / 50
    drift_m = 0.05 + 0.03 * np.sin(time_s)
    jump_m = np.where((time_s > 2) & (time_s < 2.5), 4.9 * (time_s - 2) * (2.5 - time_s), 0.0)
    frames = standing(MODEL, frames=200)
    frames = replace(frames, root_pos_w_m=frames.root_pos_w_m + np.outer(drift_m + jump_m, [0, 0, 1]))
    lowest_m = _lowest_m(ground(frames, MODEL, "contact"))
    on_ground = (time_s < 1.7) | (time_s > 2.8)
    assert np.abs(lowest_m[on_ground]).max() < 2e-3
    assert lowest_m.max() == pytest.approx(jump_m.max(), abs=0.08 * jump_m.max())
    assert lowest_m.min() > -0.01
