"""Validation of recordings from any source: shapes, choices, joints, extra columns, still encoders."""

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from tests.recordings.words import assert_words

from haloid.recordings.checks.validate import validate
from haloid.recordings.errors import RecordingError
from haloid.robots.load import load_spec


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return load_spec("g1").compile()


def test_a_good_recording_passes_in_silence(recording, model, caplog):
    validate(recording)
    validate(recording, model)
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"q_rad": np.zeros((60, 28))}, ["column 'q': found shape (60, 28)", "shape (60, 29)"]),
        ({"time_s": np.zeros((60, 1))}, ["column 'time': found shape (60, 1)"]),
        ({"time_s": np.array(3.0)}, ["column 'time': found shape ()"]),
        ({"target_rad": [[0.0] * 29] * 60}, ["column 'target': found shape (60, 29) and type list"]),
        ({"kp": np.ones(28)}, ["column 'kp'", "shape (29,) or (60, 29)"]),
        ({"dq_rad_s": np.full((60, 29), "a")}, ["column 'dq'", "type <U1"]),
        ({"tau_nm": np.full((60, 29), None)}, ["column 'tau'", "type object"]),
        ({"extra": {"imu": np.zeros(59)}}, ["column 'imu': found shape (59,)"]),
        ({"joint_names": ("a",) * 29}, ["each named once"]),
        ({"target_rad": None}, ["there are no 'target:' columns", "Add the position targets"]),
        ({"target_rad": None, "tau_nm": np.zeros((60, 29))}, ["but 'tau:' columns", 'set "actuation" to "torque"']),
        ({"actuation": "torque"}, ["there are no 'tau:' columns"]),
        ({"actuation": "velocity"}, ["key 'actuation': found 'velocity'", '"position" or "torque"']),
        ({"kd": None}, ["key 'kd': the gains are missing"]),
        ({"clamp": None, "clamp_pose": np.eye(7)[3]}, ["key 'clamp_pose': found a pose, but no clamped link"]),
        ({"clamp_pose": np.zeros(6)}, ["key 'clamp_pose': found [0.0"]),
        ({"clamp_pose": np.zeros(7)}, ["a quaternion of length 0"]),
        ({"kp": np.full(29, np.nan)}, ["key 'kp.left_hip_pitch_joint': found nan (and 28 more such cells)"]),
        ({"dq_rad_s": np.full((60, 29), np.inf)}, ["column 'dq:left_hip_pitch_joint', row 1: found inf", "removed"]),
        ({"extra": {"time": np.zeros(60)}}, ["column 'time'", "Rename"]),
        ({"extra": {"meta": np.zeros(60)}}, ["column 'meta': an extra column of that name"]),
        ({"extra": {" x": np.zeros(60)}}, ["column ' x': an extra column", "printable"]),
        ({"extra": {"a\nb": np.zeros(60)}}, [r"column 'a\nb': an extra column"]),
        ({"extra": {"q:left_knee_joint": np.zeros(60)}}, ["column 'q:left_knee_joint': an extra column"]),
        ({"extra": {"q:left_thumb": np.zeros(60)}}, ["column 'q:left_thumb': an extra column"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_defects_of_arrays(recording, changes, words):
    with pytest.raises(RecordingError) as caught:
        validate(replace(recording, **changes))
    assert_words(str(caught.value), "recording 'swing': ", *words)


def test_joints_are_checked_against_the_model(recording, model):
    names = recording.joint_names
    for joint_names, words in (
        (names[::-1], "the joints are in another order"),
        (("left_hip_pitch", *names[1:]), "no joint 'left_hip_pitch'"),
    ):
        with pytest.raises(RecordingError, match=words):
            validate(replace(recording, joint_names=joint_names), model)
    short = replace(recording, joint_names=names[:28], q_rad=recording.q_rad[:, :28], kp=np.ones(28), kd=np.ones(28))
    with pytest.raises(RecordingError, match="joints are missing: 'right_wrist_yaw_joint'"):
        validate(replace(short, target_rad=short.q_rad), model)


def test_a_frozen_encoder_is_a_warning(recording, caplog):
    q_rad = recording.q_rad.copy()
    q_rad[:, 3] = 0.5
    validate(replace(recording, q_rad=q_rad))
    assert_words(caplog.text, "the encoder never changes: 'q:left_knee_joint'")


def test_repeated_samples_are_a_warning(recording, caplog):
    validate(replace(recording, q_rad=recording.q_rad[np.arange(60) // 2]))
    assert_words(caplog.text, "51 % of the rows repeat the angles of the row before")


def test_the_message_names_the_file_it_came_from(recording):
    q_rad = recording.q_rad.copy()
    q_rad[11, 3] = np.nan
    for source, place in (
        ("a/run.csv", "a/run.csv: column 'q:left_knee_joint', row 12 (line 13)"),
        ("run.npz", "row 12:"),
    ):
        with pytest.raises(RecordingError) as caught:
            validate(replace(recording, q_rad=q_rad, source=Path(source)))
        assert_words(str(caught.value), source, place)
    with pytest.raises(RecordingError, match=r"a/run\.json: key 'support'"):
        validate(replace(recording, support="none", source=Path("a/run.csv")))
