"""The reference carried along with the robot, against scipy."""

from dataclasses import replace

import numpy as np
from scipy.spatial.transform import Rotation

from haloid.skills.task.reference import Poses
from haloid.skills.task.rewards import WEIGHTS
from haloid.skills.task.terms import Moment, TrackingTerms, carried_along

ANCHOR = 2
NO_JOINTS = (np.zeros((3, 0)),) * 3
"""Actions, last actions and torques."""


def some_poses(robots: int, seed: int) -> Poses:
    random, bodies = np.random.default_rng(seed), 5
    quat = Rotation.random(robots * bodies, np.random.default_rng(seed)).as_quat(scalar_first=True)
    empty = np.zeros((robots, 0))
    velocity = np.zeros((robots, bodies, 3))
    return Poses(
        empty, empty, random.normal(size=(robots, bodies, 3)), quat.reshape(robots, bodies, 4), velocity, velocity
    )


def test_bodies_turn_about_the_anchor_by_its_heading():
    robot, frame = some_poses(20, 1), some_poses(20, 2)
    pos, quat = carried_along(robot, frame, ANCHOR)
    for row in range(20):
        actual, wanted = (
            Rotation.from_quat(poses.body_quat_w[row, ANCHOR], scalar_first=True) for poses in (robot, frame)
        )
        turn = Rotation.from_euler("z", (actual * wanted.inv()).as_euler("xyz")[2])
        there = np.append(robot.body_pos_w[row, ANCHOR, :2], frame.body_pos_w[row, ANCHOR, 2])
        expected = there + turn.apply(frame.body_pos_w[row] - frame.body_pos_w[row, ANCHOR])
        np.testing.assert_allclose(pos[row], expected, atol=1e-12)
        bodies = turn * Rotation.from_quat(frame.body_quat_w[row], scalar_first=True)
        difference = Rotation.from_quat(quat[row], scalar_first=True) * bodies.inv()
        np.testing.assert_allclose(difference.magnitude(), 0, atol=1e-7)


def test_a_robot_that_is_only_elsewhere_and_turned_is_where_it_should_be():
    frame = some_poses(20, 3)
    turn = Rotation.from_euler("z", 1.1)
    quat = turn * Rotation.from_quat(frame.body_quat_w.reshape(-1, 4), scalar_first=True)
    moved = Poses(
        frame.joint_pos,
        frame.joint_vel,
        turn.apply(frame.body_pos_w.reshape(-1, 3)).reshape(20, 5, 3) + np.array([3.0, -2.0, 0.0]),
        quat.as_quat(scalar_first=True).reshape(20, 5, 4),
        frame.body_lin_vel_w,
        frame.body_ang_vel_w,
    )
    pos, quat = carried_along(moved, frame, ANCHOR)
    np.testing.assert_allclose(pos, moved.body_pos_w, atol=1e-12)
    np.testing.assert_allclose(np.abs(np.sum(quat * moved.body_quat_w, axis=-1)), 1.0, atol=1e-12)


def test_a_robot_that_drifts_too_far_away_ends_its_episode_where_that_is_asked_for():
    frame = some_poses(3, 4)
    away = np.array([0.0, 0.49, 0.51])[:, None, None] * np.array([0.6, 0.8, 0.0])
    robot = replace(frame, body_pos_w=frame.body_pos_w + away)
    moment = Moment(robot, frame, *NO_JOINTS)
    terms = TrackingTerms(ANCHOR, np.array([0]), np.zeros((0, 2)), WEIGHTS, farthest_m=0.5)
    assert terms(moment, 1.0).termination_terms["drift"].tolist() == [False, False, True]
    assert not terms(moment, 1.2).termination_terms["drift"].any()
    assert "drift" not in replace(terms, farthest_m=None)(moment, 1.0).termination_terms


def test_a_foot_may_be_put_down_where_only_distance_ends_an_episode():
    frame = some_poses(3, 4)
    lower = np.zeros_like(frame.body_pos_w)
    lower[:, 0, 2] = 0.2, 0.4, 0.6
    moment = Moment(
        replace(frame, body_pos_w=frame.body_pos_w - lower), frame, np.zeros((3, 0)), np.zeros((3, 0)), np.zeros((3, 0))
    )
    terms = TrackingTerms(ANCHOR, np.array([0]), np.zeros((0, 2)), WEIGHTS)
    assert terms(moment, 1.0).termination_terms["ee_body_pos"].tolist() == [False, True, True]
    assert replace(terms, farthest_m=0.5)(moment, 1.0).termination_terms["ee_body_pos"].tolist() == [False, False, True]
