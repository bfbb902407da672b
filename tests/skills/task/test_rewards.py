"""Rewards of errors that are known; equality with mjlab is tested in test_equal_to_mjlab.py."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from haloid.skills.task.reference import Poses
from haloid.skills.task.rewards import WEIGHTS, reward_terms

BODIES, ANCHOR = 4, 1
LIMITS = np.array([[-1.0, 1.0], [-0.5, 2.0]])


@pytest.fixture
def frame() -> Poses:
    random = np.random.default_rng(1)
    quat = Rotation.random(3 * BODIES, np.random.default_rng(1)).as_quat(scalar_first=True).reshape(3, BODIES, 4)
    vectors = (random.normal(size=(3, BODIES, 3)) for _ in range(3))
    pos, lin, ang = vectors
    return Poses(np.zeros((3, 2)), np.zeros((3, 2)), pos, quat, lin, ang)


def rewarded(robot: Poses, frame: Poses, action: np.ndarray | None = None) -> dict[str, np.ndarray]:
    now = np.zeros((3, 2)) if action is None else action
    carried = frame.body_pos_w, frame.body_quat_w
    return reward_terms(robot, frame, carried, now, np.zeros((3, 2)), LIMITS, ANCHOR)


def test_a_robot_in_its_frame_gets_all_there_is(frame):
    terms = rewarded(frame, frame)
    assert set(terms) == set(WEIGHTS)
    assert sum(WEIGHTS[name] * term for name, term in terms.items()) == pytest.approx([5.0, 5.0, 5.0])


def test_one_body_that_is_off_counts_a_quarter_and_the_anchor_alone_for_the_root(frame):
    moved = frame.body_pos_w.copy()
    moved[0, 3] += [0.0, 0.3, 0.4]
    moved[1, ANCHOR] += [0.3, 0.0, 0.0]
    terms = rewarded(replace(frame, body_pos_w=moved), frame)
    assert terms["motion_body_pos"] == pytest.approx([np.exp(-(0.25 / 4) / 0.09), np.exp(-0.25), 1.0])
    assert terms["motion_global_root_pos"] == pytest.approx([1.0, np.exp(-1.0), 1.0])
    assert terms["motion_body_ori"] == pytest.approx([1.0, 1.0, 1.0])


def test_angles_and_velocities(frame):
    turned = frame.body_quat_w.copy()
    turn = Rotation.from_rotvec([0.0, 0.4, 0.0])
    turned[0, ANCHOR] = (turn * Rotation.from_quat(turned[0, ANCHOR], scalar_first=True)).as_quat(scalar_first=True)
    robot = replace(
        frame,
        body_quat_w=turned,
        body_lin_vel_w=frame.body_lin_vel_w + np.array([0.6, 0.8, 0.0]),
        body_ang_vel_w=frame.body_ang_vel_w + np.array([0.0, 0.0, 3.14]),
    )
    terms = rewarded(robot, frame)
    assert terms["motion_global_root_ori"] == pytest.approx([np.exp(-1.0), 1.0, 1.0])
    assert terms["motion_body_ori"] == pytest.approx([np.exp(-0.25), 1.0, 1.0])
    assert terms["motion_body_lin_vel"] == pytest.approx(np.exp([-1.0] * 3))
    assert terms["motion_body_ang_vel"] == pytest.approx(np.exp([-1.0] * 3))


def test_hasty_actions_and_joints_beyond_their_limits_cost(frame):
    robot = replace(frame, joint_pos=np.array([[1.2, -0.8], [0.9, 1.9], [-1.5, 0.0]]))
    terms = rewarded(robot, frame, np.array([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]]))
    assert terms["joint_limit"] == pytest.approx([0.2 + 0.3, 0.0, 0.5])
    assert terms["action_rate_l2"] == pytest.approx([25.0, 0.0, 1.0])
    assert WEIGHTS["joint_limit"] == -10.0
    assert WEIGHTS["action_rate_l2"] == -0.1
