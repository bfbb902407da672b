"""Units and limits: degrees are recognised wherever they hide; what is slightly outside is a warning."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from tests.recordings.words import assert_words

from haloid.recordings.checks.validate import validate
from haloid.recordings.errors import RecordingError
from haloid.recordings.recording import Recording
from haloid.robots.load import load_spec


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return load_spec("g1").compile()


def error(recording: Recording, model: mujoco.MjModel | None = None) -> str:
    with pytest.raises(RecordingError) as caught:
        validate(recording, model)
    return str(caught.value)


def test_angles_in_degrees(recording, model):
    degrees = replace(recording, q_rad=np.rad2deg(recording.q_rad), target_rad=np.rad2deg(recording.target_rad))
    for message in (error(degrees), error(degrees, model)):
        assert_words(message, "recording 'swing': column 'q:", "row ", "looks like degrees", "pi/180")


def test_a_model_whose_radians_were_read_as_degrees(recording):
    model = load_spec("g1").compile()
    model.jnt_range[:] = np.deg2rad(model.jnt_range)
    message = error(recording, model)
    assert_words(message, "column 'q:", "the joint's limits [-0.0", '<compiler angle="radian"/>', "haloid robots check")


def test_targets_alone_in_degrees(recording, model):
    message = error(replace(recording, target_rad=np.rad2deg(recording.target_rad)), model)
    assert_words(message, "column 'target:", "row 1", "looks like degrees", "all targets")


def test_small_targets_in_degrees_are_recognised_by_the_encoders(recording, model):
    q_rad = 0.1 * np.sin(recording.time_s * 5)[:, None] * np.ones(29) + 0.05
    message = error(replace(recording, q_rad=q_rad, target_rad=np.rad2deg(q_rad)), model)
    assert_words(message, "the targets are 57 times the angles of the encoders", "look like degrees")


def test_velocities_in_degrees(recording, model):
    dq_rad_s = np.gradient(recording.q_rad, recording.time_s, axis=0)
    validate(replace(recording, dq_rad_s=dq_rad_s), model)
    message = error(replace(recording, dq_rad_s=np.rad2deg(dq_rad_s)), model)
    assert_words(message, "column 'dq:", "the velocities are 57 times", "Expected rad/s", "degrees per second")


def test_feed_forward_targets_outside_the_limits_are_fine(recording, model, caplog):
    validate(replace(recording, target_rad=recording.target_rad + 3.0), model)
    assert caplog.text == ""


def test_an_angle_slightly_outside_its_limits_is_a_warning(recording, model, caplog):
    knee = recording.joint_names.index("left_knee_joint")
    q_rad = recording.q_rad.copy()
    q_rad[11, knee] = model.joint("left_knee_joint").range[1] + 0.05
    validate(replace(recording, q_rad=q_rad), model)
    assert_words(caplog.text, "column 'q:left_knee_joint', row 12: ", "is outside the joint's limits [")


def test_an_angle_far_outside_its_limits_is_an_error(recording, model):
    knee = recording.joint_names.index("left_knee_joint")
    q_rad = recording.q_rad.copy()
    q_rad[11, knee] = model.joint("left_knee_joint").range[1] + 0.5
    assert_words(error(replace(recording, q_rad=q_rad), model), "row 12", "its sign and the order of the columns")


def test_a_wheel_may_turn(recording, model, caplog):
    wheel_model = load_spec("g1").compile()
    wheel_model.jnt_limited[wheel_model.joint("left_knee_joint").id] = 0
    knee = recording.joint_names.index("left_knee_joint")
    q_rad = recording.q_rad.copy()
    q_rad[:, knee] = recording.time_s * 30
    validate(replace(recording, q_rad=q_rad, target_rad=q_rad), wheel_model)
    assert_words(caplog.text, "more than two turns, or degrees, of 'left_knee_joint'")


@pytest.mark.parametrize(
    ("field", "channel", "value", "unit"),
    [
        ("dq_rad_s", "dq", 2e3, "rad/s"),
        ("tau_nm", "tau", -2e4, "N·m"),
        ("kp", "kp", -1.0, "N·m/rad"),
        ("kd", "kd", 1e9, "N·m·s/rad"),
    ],
)
def test_what_no_robot_can_do(recording, field, channel, value, unit):
    values = np.zeros((60, 29))
    values[11, 3] = value
    message = error(replace(recording, **{field: values}))
    assert_words(message, f"column '{channel}:left_knee_joint', row 12: found {value!r}", f"Expected {unit} between")
