"""The words of every defect that a json can have."""

import pytest
from tests.recordings.words import assert_words

KNEE = "left_knee_joint"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["the json is empty"]),
        ("[]", ["holds a list", "an object"]),
        ("null", ["holds null"]),
        ('{"a": 1, // why\n "b": 2}', ["line 1, character 10: not valid json", "Json has no comments"]),
        ('{"a": 1,}', ["Remove the comma after the last entry"]),
        ("{'a': 1}", ["double quotes"]),
        ('{"a": 1', ["The file is cut off"]),
        ('{"a": "x', ["Close the string with a double quote"]),
        ('{"a": NaN}', ["NaN is not a json number"]),
        ('{"a": 1, "a": 2}', ["the key 'a' is given twice"]),
        ("[" * 100_000, ["not valid json"]),
        ('{"a": ' + "9" * 5000 + "}", ["not valid json"]),
        ('{"a": "' + "x" * 300_000 + '"}', ["300,009 characters", "the rows belong in the csv"]),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else "",
)
def test_json_that_is_not_valid(run, text, words):
    run.json.write_text(text)
    assert_words(run.error(), f"{run.json}: ", *words)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"format": "haloid-recording-2"}, ["key 'format'", "another version", "update haloid"]),
        ({"format": "haloid-result-1"}, ["another of haloid's files"]),
        ({"format": 1}, ["found 1", "Expected 'haloid-recording-1'"]),
        ({"robot": "G1"}, ["key 'robot': 'G1' is neither a known robot", "Did you mean 'g1'?"]),
        ({"robot": "robots/none.xml"}, ["'robots/none.xml'", "Correct the name or the path"]),
        ({"robot": "x" * 5000}, ["key 'robot'", "xxx…"]),
        ({"robot": "a\0b"}, ["key 'robot'", r"'a\x00b'"]),
        ({"robot": "run.csv"}, ["nor a model file relative", "MJCF (.xml)"]),
        ({"robot": 5}, ["key 'robot': found 5", "a known robot's name"]),
        ({"clamp": "left_ankel_roll_link"}, ["key 'clamp'", "has no link", "Did you mean 'left_ankle_roll_link'?"]),
        ({"clamp": ["pelvis"]}, ["key 'clamp': found ['pelvis']", "or null"]),
        ({"clamp": None}, ["key 'clamp': found null, but the robot's base floats", '"pelvis"']),
        ({"support": "tripple"}, ["key 'support': found 'tripple'", 'Expected "single" or "double"']),
        ({"support": "Singel"}, ["Did you mean 'single'?"]),
        ({"actuation": "positions"}, ["key 'actuation'", "Did you mean 'position'?"]),
        ({"actuation": True}, ["key 'actuation': found True"]),
        ({"payload": 3.5}, ["key 'payload': found 3.5", "free text"]),
        ({"note": None}, ["key 'note': found None"]),
        ({"kp": 99.1}, ["key 'kp': found 99.1", "gains by joint"]),
        ({"kp": {KNEE: "99"}}, ["key 'kp'", "gains by joint"]),
        ({"kp": {KNEE: 10**400}}, ["key 'kp'", "gains by joint"]),
        ({"kp": {"left_knee": 9.0}}, ["key 'kp'", "no actuated joint 'left_knee'", f"Did you mean '{KNEE}'?"]),
        ({"kd": {KNEE: 9.0}}, ["key 'kd': no gain for 'left_hip_pitch_joint'", "or a column kd:left_hip_pitch_joint"]),
        ({"kp": {}}, ["key 'kp': the gains are missing", "kp:JOINT columns"]),
        ({"clamp_pose": [0, 0, 0]}, ["key 'clamp_pose': found [0, 0, 0]", "seven numbers"]),
        ({"clamp_pose": [0, 0, 0, 1, 0, 0, "0"]}, ["key 'clamp_pose'", "seven numbers"]),
        ({"clamp_pose": [0, 0, 0, 1, 1, 0, 0]}, ["key 'clamp_pose': found a quaternion of length 1.414", "w, x, y, z"]),
        ({"suport": "double", "support": ...}, ["key 'suport': the key is unknown", "Did you mean 'support'?"]),
        ({"clmap": "pelvis", "clamp": ...}, ["key 'clamp': the key is missing", "Rename 'clmap' to 'clamp'"]),
        ({"robot": ...}, ["key 'robot': the key is missing", "Add 'robot'"]),
        ({"kd": ...}, ["key 'kd': the gains are missing", 'Add "kd": {"JOINT": value']),
    ],
    ids=str,
)
def test_json_with_a_wrong_value(run, values, words):
    run.set_meta(**{key: value for key, value in values.items() if value is not ...})
    for key in (key for key, value in values.items() if value is ...):
        run.drop_meta(key)
    assert_words(run.error(), f"{run.json}: key ", *words)


def test_a_negative_gain_is_named(run, recording):
    gains = dict(zip(recording.joint_names, recording.kp.tolist(), strict=True))
    run.set_meta(kp=gains | {KNEE: -3.0})
    assert_words(run.error(), f"{run.json}: key 'kp.{KNEE}': found -3.0", "N·m/rad between 0", "Correct the gain")


def test_unknown_keys_that_resemble_none_are_ignored(run):
    run.set_meta(recorded_by="me", payload_kg=3.0)
    run.read()


def test_a_robot_file_that_mujoco_refuses(run, tmp_path):
    (tmp_path / "robot.xml").write_text("<mujoco><worldbody>")
    run.set_meta(robot="robot.xml")
    assert_words(run.error(), f"{run.json}: key 'robot': robot ", "cannot be loaded", "robot.xml")
