"""The picture of a motion: what is drawn is where the robot is."""

import numpy as np
from matplotlib.collections import PolyCollection
from tests.motions.clips import g1, standing, swaying

from haloid.report.pictures.motion_picture import POSE_WIDTH_M, motion_picture
from haloid.trajectories.motion import motion_of


def test_poses_stand_on_the_ground_side_by_side():
    model = g1()
    figure = motion_picture(motion_of(standing(model, frames=101), model), model, "standing", poses=3)
    side, front = figure.axes[:2]
    for axes, width_m in ((side, 0.45), (front, 0.75)):
        strips = [c for c in axes.collections if isinstance(c, PolyCollection)]
        assert len(strips) == 3
        for place, strip in enumerate(strips):
            points = np.concatenate([path.vertices for path in strip.get_paths()])
            assert abs(points[:, 1].min()) < 0.01
            assert 1.2 < points[:, 1].max() < 1.4
            assert np.abs(points[:, 0] - place * POSE_WIDTH_M).max() < width_m
    assert [text.get_text() for text in side.texts] == ["0.00 s", "1.00 s", "2.00 s"]


def test_left_is_on_the_right_when_seen_from_the_front():
    model = g1()
    frames = standing(model)
    frames.joint_pos_rad[:, frames.joint_names.index("left_shoulder_roll_joint")] = 1.5
    figure = motion_picture(motion_of(frames, model), model, "pointing", poses=2)
    front = figure.axes[1]
    strip = next(c for c in front.collections if isinstance(c, PolyCollection))
    points = np.concatenate([path.vertices for path in strip.get_paths()])
    assert points[:, 0].max() > 0.34 > 0.3 > -points[:, 0].min()


def test_more_poses_where_more_happens():
    model = g1()
    frames = swaying(model, frames=100, fps=50)
    frames.joint_pos_rad[:70] = frames.joint_pos_rad[70]
    figure = motion_picture(motion_of(frames, model), model, "late", poses=8)
    times_s = [float(text.get_text().removesuffix(" s")) for text in figure.axes[0].texts]
    assert sum(time_s > 1.4 for time_s in times_s) >= 4
    assert (times_s[0], times_s[-1]) == (0.0, 1.98)
