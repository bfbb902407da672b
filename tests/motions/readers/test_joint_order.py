"""Orders of joints, against the published ones, and 23 joints on 29."""

import logging
from dataclasses import replace

import numpy as np
from tests.motions.clips import G1_JOINTS, G1_JOINTS_23, g1, swaying

from haloid.motions.readers.joint_order import breadth_first, names_of_columns, on_robot
from haloid.robots.load import scalar_joints

SDK_INDEX_OF_ISAAC_SLOT = [
    *(0, 6, 12, 1, 7, 13, 2, 8, 14, 3, 9, 15, 22, 4, 10, 16, 23),
    *(5, 11, 17, 24, 18, 25, 19, 26, 20, 27, 21, 28),
]


def test_the_names_are_the_models_and_isaacs_order_is_the_published_one():
    model = g1()
    assert scalar_joints(model) == G1_JOINTS
    assert breadth_first(model, G1_JOINTS) == tuple(G1_JOINTS[index] for index in SDK_INDEX_OF_ISAAC_SLOT)


def test_the_sister_leaves_out_six_joints_and_is_shallower():
    left_out = [index for index, name in enumerate(G1_JOINTS) if name not in G1_JOINTS_23]
    assert left_out == [13, 14, 20, 21, 27, 28]
    # without waist roll and pitch the shoulders follow the waist at once
    assert breadth_first(g1(), G1_JOINTS_23)[3:9] == (
        "left_hip_roll_joint",
        "right_hip_roll_joint",
        "left_shoulder_pitch_joint",
        "right_shoulder_pitch_joint",
        "left_hip_yaw_joint",
        "right_hip_yaw_joint",
    )


def test_a_number_of_columns_no_robot_has_is_nobodys():
    assert names_of_columns(28, g1()) is None


def test_23_joints_go_to_their_places_among_29():
    model = g1()
    frames = swaying(model)
    columns = [G1_JOINTS.index(name) for name in reversed(G1_JOINTS_23)]
    fewer = replace(frames, joint_names=G1_JOINTS_23[::-1], joint_pos_rad=frames.joint_pos_rad[:, columns])
    whole = on_robot(fewer, model)
    assert whole.joint_names == G1_JOINTS
    for column, name in enumerate(G1_JOINTS):
        expected = frames.joint_pos_rad[:, column] if name in G1_JOINTS_23 else np.zeros(len(frames))
        np.testing.assert_array_equal(whole.joint_pos_rad[:, column], expected)


def test_joints_the_robot_lacks_are_left_out_with_a_warning(caplog):
    model = g1()
    frames = swaying(model)
    more = replace(
        frames,
        joint_names=(*frames.joint_names, "left_thumb_joint", "right_thumb_joint"),
        joint_pos_rad=np.column_stack([frames.joint_pos_rad, np.full(len(frames), 0.5), np.zeros(len(frames))]),
    )
    with caplog.at_level(logging.WARNING):
        assert on_robot(more, model).joint_names == G1_JOINTS
    assert "left_thumb_joint (to 0.50 rad)" in caplog.text
    assert "right_thumb_joint" not in caplog.text
