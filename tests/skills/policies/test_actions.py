"""From network output to action, against numpy and scipy."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

pytest.importorskip("torch")

import torch

from haloid.skills.policies.actions import (
    FEEDBACK_LIMIT,
    ControllerActions,
    FeedforwardActions,
    MjlabActions,
    controller_action_tables,
    feedforward_tables,
    term_columns,
)
from haloid.skills.task.observations import Sensed, actor_observation, observation_terms
from haloid.skills.task.reference import Poses, Reference, reference_of

ROBOTS = 32


@pytest.fixture
def reference(robot, motion) -> Reference:
    return reference_of(robot, [motion])


def near(frame: Poses, spread: float) -> Poses:
    """Robots near their frames, in double precision."""
    random = np.random.default_rng(3)
    bodies = frame.body_quat_w.shape[1]
    turn = Rotation.from_rotvec(random.normal(size=(ROBOTS * bodies, 3)) * spread)
    quat = turn * Rotation.from_quat(frame.body_quat_w.reshape(-1, 4), scalar_first=True)
    return Poses(
        frame.joint_pos + random.normal(size=frame.joint_pos.shape) * spread,
        frame.joint_vel + random.normal(size=frame.joint_vel.shape) * spread,
        frame.body_pos_w.astype(float),
        quat.as_quat(scalar_first=True).reshape(ROBOTS, bodies, 4),
        frame.body_lin_vel_w,
        frame.body_ang_vel_w,
    )


@pytest.mark.parametrize("estimated", [False, True])
@pytest.mark.parametrize(("gain_size", "clamped"), [(0.005, False), (5.0, True)])
def test_the_controller_acts_on_the_errors_it_is_told_of(robot, reference, estimated, gain_size, clamped):
    """target = feedforward + gain·e, e of the poses themselves, not of the observation; outputs are ignored.

    Half of the robots have sent a target before.
    """
    random, frames = np.random.default_rng(4), len(reference)
    target, gain = random.normal(size=(frames, 29)), random.normal(size=(frames, 29, 93)) * gain_size
    last_target, last_action = random.normal(size=(frames, 29)), random.normal(size=(ROBOTS, 29))
    last_action[::2] = 0.0
    actions = ControllerActions(controller_action_tables(robot, reference, target, gain, last_target), 29, estimated)

    time_step = random.integers(0, frames, ROBOTS)
    frame = reference.frames.at(time_step)
    poses, anchor = near(frame, 0.1), robot.description.tracked_links.index("torso_link")
    spin_b = random.normal(size=(ROBOTS, 3))
    sensed = Sensed(np.zeros((ROBOTS, 3)), spin_b, last_action, np.zeros((ROBOTS, 29)))
    terms = observation_terms(poses, sensed, frame, robot.default_joint_pos_rad, anchor)
    observation = actor_observation(terms, np.zeros((ROBOTS, 29)), estimated, None)
    output = random.normal(size=(ROBOTS, 29)).astype(np.float32)
    found = actions(torch.from_numpy(observation), torch.from_numpy(time_step), torch.from_numpy(output)).numpy()

    measured, wanted = (Rotation.from_quat(p.body_quat_w[:, anchor], scalar_first=True) for p in (poses, frame))
    turn = (measured.inv() * wanted).as_rotvec()
    angle = np.linalg.norm(turn, axis=1, keepdims=True)
    root = Rotation.from_quat(frame.body_quat_w[:, 0], scalar_first=True)
    error = [np.sin(angle) * turn / angle, root.inv().apply(frame.body_ang_vel_w[:, 0]) - spin_b]
    error += [frame.joint_pos - poses.joint_pos, frame.joint_vel - poses.joint_vel]
    sent = robot.default_joint_pos_rad + robot.action_scale_rad * last_action
    error.append(np.where(np.arange(ROBOTS)[:, None] % 2, last_target[time_step] - sent, 0.0))
    feedback = np.einsum("nij,nj->ni", gain[time_step], np.concatenate(error, axis=1))
    limit = FEEDBACK_LIMIT * robot.action_scale_rad
    assert (np.abs(feedback) > limit).any() == clamped
    expected = target[time_step] + np.clip(feedback, -limit, limit)
    found_target = robot.default_joint_pos_rad + robot.action_scale_rad * found
    np.testing.assert_allclose(found_target, expected, atol=2e-5)


def test_a_robot_in_its_frame_gets_the_feedforward_target_alone(robot, reference):
    target, gain = np.random.default_rng(5).normal(size=(180, 29)), np.ones((180, 29, 93))
    actions = ControllerActions(controller_action_tables(robot, reference, target, gain, target), 29, False)
    time_step = np.arange(0, 160, 5)
    frame = reference.frames.at(time_step)
    root = Rotation.from_quat(frame.body_quat_w[:, 0], scalar_first=True)
    spin_b, nothing = root.inv().apply(frame.body_ang_vel_w[:, 0]), np.zeros((ROBOTS, 29))
    terms = observation_terms(
        frame, Sensed(np.zeros((ROBOTS, 3)), spin_b, nothing, nothing), frame, robot.default_joint_pos_rad, 7
    )
    observation = torch.from_numpy(actor_observation(terms, nothing, False, None))
    found = actions(observation, torch.from_numpy(time_step), torch.zeros(ROBOTS, 29)).numpy()
    np.testing.assert_allclose(
        found, (target[time_step] - robot.default_joint_pos_rad) / robot.action_scale_rad, atol=5e-4
    )


def test_the_network_corrects_the_feedforward_targets_of_its_joints(robot, reference):
    """target = feedforward + mjlab's scale · output, whatever is observed."""
    random, frames = np.random.default_rng(6), len(reference)
    target, learned = random.normal(size=(frames, 29)), ("right_knee_joint", "waist_yaw_joint")
    actions = FeedforwardActions(feedforward_tables(robot, target, learned))
    assert actions.outputs == 2
    time_step, output = random.integers(0, frames, ROBOTS), random.normal(size=(ROBOTS, 2)).astype(np.float32)
    found = actions(torch.randn(ROBOTS, 154), torch.from_numpy(time_step), torch.from_numpy(output)).numpy()
    expected = target[time_step]
    for column, name in enumerate(learned):
        row = robot.joint_names.index(name)
        expected[:, row] += robot.action_scale_rad[row] * output[:, column]
    np.testing.assert_allclose(robot.default_joint_pos_rad + robot.action_scale_rad * found, expected, atol=2e-5)


def test_in_mjlabs_mode_the_output_is_the_action():
    output = torch.randn(3, 29)
    actions = MjlabActions(29)
    assert actions.outputs == 29
    assert torch.equal(actions(torch.zeros(3, 154), torch.zeros(3, dtype=torch.long), output), output)


@pytest.mark.parametrize(("estimated", "width"), [(False, 154), (True, 160)])
def test_columns_end_where_the_observation_does(estimated, width):
    columns = term_columns(29, estimated)
    assert columns.width == width
    assert columns.slices["actions"] == slice(width - 29, width)
    assert columns.slices["command"] == slice(0, 58)
