"""When an episode has failed; equality with mjlab is tested in test_equal_to_mjlab.py."""

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from haloid.skills.task.reference import Poses
from haloid.skills.task.terminations import termination_terms

ANCHOR, ENDS = 0, np.array([1, 2])


def upright(robots: int) -> Poses:
    quat = np.tile([1.0, 0.0, 0.0, 0.0], (robots, 4, 1))
    velocity, joints = np.zeros((robots, 4, 3)), np.zeros((robots, 2))
    return Poses(joints, joints, np.zeros((robots, 4, 3)), quat, velocity, velocity)


def ends(robot: Poses, frame: Poses, factor: float = 1.0) -> dict[str, list[bool]]:
    terms = termination_terms(robot, frame, frame.body_pos_w, ANCHOR, ENDS, factor)
    return {name: term.tolist() for name, term in terms.items()}


def test_heights_count_and_places_do_not():
    frame, moved = upright(5), np.zeros((5, 4, 3))
    moved[0, ANCHOR, 2], moved[1, ANCHOR, 2], moved[2, 2, 2] = 0.26, -0.24, -0.26
    moved[3, 3, 2] = 9.0  # a body that is no end effector
    moved[4, :, :2] = 9.0
    assert ends(replace(frame, body_pos_w=moved), frame) == {
        "anchor_pos": [True, False, False, False, False],
        "anchor_ori": [False] * 5,
        "ee_body_pos": [False, False, True, False, False],
    }


def test_leaning_counts_and_turning_does_not():
    """cos(angle) off by 0.8 is an angle of 78.5°."""
    angles = [("x", 78.0), ("y", 79.0), ("y", -79.0), ("z", 170.0)]
    frame, quat = upright(4), upright(4).body_quat_w.copy()
    for row, (axis, angle) in enumerate(angles):
        quat[row, ANCHOR] = Rotation.from_euler(axis, angle, degrees=True).as_quat(scalar_first=True)
    assert ends(replace(frame, body_quat_w=quat), frame)["anchor_ori"] == [False, True, True, False]
    assert ends(replace(frame, body_quat_w=quat), frame, factor=1.5)["anchor_ori"] == [False] * 4


def test_a_curriculum_widens_every_threshold():
    frame, moved = upright(2), np.zeros((2, 4, 3))
    moved[:, 0, 2] = moved[:, 1, 2] = 0.37, 0.38
    terms = ends(replace(frame, body_pos_w=moved), frame, factor=1.5)
    assert terms["anchor_pos"] == terms["ee_body_pos"] == [False, True]
