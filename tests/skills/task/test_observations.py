"""What the policy sees; equality with mjlab is tested in test_equal_to_mjlab.py."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from haloid.skills.task.observations import (
    NOISE,
    History,
    Sensed,
    actor_observation,
    actor_term_names,
    critic_observation,
    history_lengths,
    observation_terms,
    term_columns,
)
from haloid.skills.task.reference import Poses

ROBOTS, JOINTS, BODIES, ANCHOR = 64, 29, 14, 7


def some_poses(seed: int) -> Poses:
    random = np.random.default_rng(seed)
    quat = Rotation.random(ROBOTS * BODIES, np.random.default_rng(seed)).as_quat(scalar_first=True)
    return Poses(
        random.normal(size=(ROBOTS, JOINTS)),
        random.normal(size=(ROBOTS, JOINTS)),
        random.normal(size=(ROBOTS, BODIES, 3)),
        quat.reshape(ROBOTS, BODIES, 4),
        random.normal(size=(ROBOTS, BODIES, 3)),
        random.normal(size=(ROBOTS, BODIES, 3)),
    )


@pytest.fixture
def terms() -> dict[str, np.ndarray]:
    random = np.random.default_rng(9)
    sensed = Sensed(*(random.normal(size=(ROBOTS, width)) for width in (3, 3, JOINTS, JOINTS)))
    return observation_terms(some_poses(1), sensed, some_poses(2), np.full(JOINTS, 0.5), ANCHOR)


def test_the_anchors_error_is_in_the_anchors_axes(terms):
    robot, frame = some_poses(1), some_poses(2)
    actual, wanted = (Rotation.from_quat(p.body_quat_w[:, ANCHOR], scalar_first=True) for p in (robot, frame))
    offset = frame.body_pos_w[:, ANCHOR] - robot.body_pos_w[:, ANCHOR]
    np.testing.assert_allclose(terms["motion_anchor_pos_b"], actual.inv().apply(offset), atol=1e-12)
    matrix = (actual.inv() * wanted).as_matrix()
    np.testing.assert_allclose(terms["motion_anchor_ori_b"], matrix[:, :, :2].reshape(-1, 6), atol=1e-12)


def test_the_critic_sees_every_body_in_the_anchors_frame(terms):
    robot = some_poses(1)
    for row in (0, 5):
        anchor = Rotation.from_quat(robot.body_quat_w[row, ANCHOR], scalar_first=True)
        bodies = Rotation.from_quat(robot.body_quat_w[row], scalar_first=True)
        pos = anchor.inv().apply(robot.body_pos_w[row] - robot.body_pos_w[row, ANCHOR])
        np.testing.assert_allclose(terms["body_pos"][row], pos.ravel(), atol=1e-12)
        matrices = (anchor.inv() * bodies).as_matrix()[:, :, :2]
        np.testing.assert_allclose(terms["body_ori"][row], matrices.ravel(), atol=1e-12)


@pytest.mark.parametrize(("estimated", "width"), [(False, 154), (True, 160)])
def test_noise_is_uniform_in_its_own_width_and_the_critic_sees_none(terms, estimated, width):
    bias = np.full((ROBOTS, JOINTS), 0.003, dtype=np.float32)
    clean = actor_observation(terms, bias, estimated, None)
    noisy = actor_observation(terms, bias, estimated, np.random.default_rng(1), noise_scale=0.5)
    assert clean.shape == noisy.shape == (ROBOTS, width)
    column = 0
    for name in actor_term_names(estimated):
        columns = slice(column, column + terms[name].shape[1])
        column = columns.stop
        shift = 0.003 if name == "joint_pos" else 0.0
        np.testing.assert_allclose(clean[:, columns], terms[name] + shift, atol=1e-6)
        greatest, least = np.max(noisy[:, columns] - clean[:, columns]), np.min(noisy[:, columns] - clean[:, columns])
        half = 0.5 * NOISE.get(name, 0.0)
        assert half * 0.9 <= greatest <= half + 1e-6
        assert -half - 1e-6 <= least <= -half * 0.9
    assert column == width
    critic = critic_observation(terms)
    assert critic.shape == (ROBOTS, 286)
    np.testing.assert_array_equal(critic, np.concatenate(list(terms.values()), axis=1).astype(np.float32))


def test_a_history_goes_from_the_oldest_reading_to_the_newest_term_by_term():
    """As mjlab lays it out: the first reading is used for those before it, and the command is seen only once."""
    columns = term_columns(1, state_estimation=False)
    history = History(2, 3, columns)
    readings = [np.arange(columns.width) + 100.0 * number + 1000.0 * np.arange(2)[:, None] for number in (1, 2, 3)]
    first, second = (history.after(reading.astype(np.float32)) for reading in readings[:2])
    spin, command = columns.slices["base_ang_vel"], columns.slices["command"]
    width = sum(
        (1 if name == "command" else 3) * (column.stop - column.start) for name, column in columns.slices.items()
    )
    assert first.shape == second.shape == (2, width)
    np.testing.assert_array_equal(second[:, :2], readings[1][:, command])
    at = 2 + 3 * 6  # after the command and three readings of the anchor's six numbers
    expected = np.concatenate([readings[number][:, spin] for number in (0, 0, 1)], axis=1)
    np.testing.assert_array_equal(second[:, at : at + 9], expected)

    history.forget(np.array([1]))
    third = history.after(readings[2].astype(np.float32))
    np.testing.assert_array_equal(third[1, at : at + 9], np.tile(readings[2][1, spin], 3))
    expected = np.concatenate([readings[number][0, spin] for number in (0, 1, 2)])
    np.testing.assert_array_equal(third[0, at : at + 9], expected)


def test_one_reading_is_no_history():
    columns = term_columns(2, state_estimation=True)
    observation = np.ones((1, columns.width), dtype=np.float32)
    assert History(1, 1, columns).after(observation) is observation
    assert history_lengths(["command", "joint_pos"], 1) == [0, 0]
    assert history_lengths(["command", "joint_pos"], 4) == [0, 4]
