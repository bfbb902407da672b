"""Reading: what is accepted, and files that are not there."""

import json
import logging
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.recordings.words import assert_words

from haloid.recordings.errors import RecordingError
from haloid.recordings.files.read import read_recording
from haloid.recordings.files.write import write_recording

KNEE = "left_knee_joint"
ARM_XML = """
<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <body name="upper"><inertial pos="0 0 .1" mass="1" diaginertia=".01 .01 .01"/>
      <joint name="shoulder" axis="0 1 0" range="-2 2" limited="true"/>
      <body name="lower" pos="0 0 .2"><inertial pos="0 0 .1" mass="1" diaginertia=".01 .01 .01"/>
        <joint name="elbow" axis="0 1 0"/>
        <body name="tip" pos="0 0 .2"><inertial pos="0 0 .1" mass="1" diaginertia=".01 .01 .01"/>
          <joint name="spring" axis="0 1 0"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="shoulder"/><motor joint="elbow"/></actuator>
</mujoco>
"""


def test_columns_come_in_model_order_whatever_the_file_has(run, recording):
    rows = run.rows()
    order = np.random.default_rng(0).permutation(len(rows[0]))
    run.write_rows([[row[i] for i in order] for row in rows])
    read = run.read()
    assert read.joint_names == recording.joint_names
    np.testing.assert_array_equal(read.q_rad, recording.q_rad)
    np.testing.assert_array_equal(read.target_rad, recording.target_rad)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r\r\n"),
        lambda text: text + "\n\n",
        lambda text: text.replace("\n", ",\n"),
        lambda text: text.replace("\n", ",\n", 1),
        lambda text: text.replace(",", ", "),
        lambda text: text + "," * 58 + "\n",
        lambda text: ",".join(f'"{name}"' for name in text.split("\n")[0].split(",")) + text[text.index("\n") :],
    ],
    ids=["bom", "crlf", "crcrlf", "blank-end", "trailing-comma", "header-comma", "spaces", "commas", "quotes"],
)
def test_habits_of_spreadsheets_are_accepted(run, recording, spoil):
    run.csv.write_bytes(spoil(run.csv.read_text()).encode())
    np.testing.assert_array_equal(run.read().q_rad, recording.q_rad)


@pytest.mark.parametrize("name", ["run.csv", "run.json", "run"])
def test_a_pair_is_found_by_any_of_its_names(run, name):
    read = read_recording(run.csv.with_name(name))
    assert (read.name, read.source) == ("run", run.csv)


def test_other_columns_are_kept_and_text_is_ignored(run, caplog):
    run.add_column("force:foot", [str(i) for i in range(60)])
    run.add_column("imu", ["", "nan", *["1.5"] * 58])
    run.add_column("phase", ["stand"] * 60)
    extra = run.read().extra
    np.testing.assert_array_equal(extra["force:foot"], np.arange(60))
    np.testing.assert_array_equal(extra["imu"], [np.nan, np.nan, *[1.5] * 58])
    assert list(extra) == ["force:foot", "imu"]
    assert_words(caplog.text, "run.csv: ignoring columns that hold text: 'phase'")


def test_gains_in_columns_win_over_the_json(run, recording):
    run.add_column(f"kp:{KNEE}", ["77.0"] * 60)
    knee = recording.joint_names.index(KNEE)
    kp = run.read().kp
    assert kp.shape == (60, 29)
    assert (kp[:, knee] == 77.0).all()
    np.testing.assert_array_equal(np.delete(kp, knee, axis=1)[5], np.delete(recording.kp, knee))


def test_optional_columns_of_some_joints_only_are_kept_aside(run, caplog):
    run.add_column(f"dq:{KNEE}", ["0.5"] * 60)
    read = run.read()
    assert read.dq_rad_s is None
    assert f"dq:{KNEE}" in read.extra
    assert_words(caplog.text, f"ignoring 'dq:{KNEE}'")


def test_torque_mode_needs_no_targets_and_no_gains(run, recording, tmp_path):
    torque = replace(recording, actuation="torque", target_rad=None, kp=None, kd=None, tau_nm=recording.q_rad * 5)
    read = read_recording(write_recording(torque, tmp_path / "torque"))
    np.testing.assert_array_equal(read.tau_nm, torque.tau_nm)
    assert read.kp is None
    assert read.target_rad is None


def test_optional_keys_have_defaults(run):
    defaults = {"support": "single", "actuation": "position", "payload": "unknown", "note": ""}
    for key in defaults:
        run.drop_meta(key)
    read = run.read()
    assert {key: getattr(read, key) for key in defaults} == defaults


def test_a_robot_file_is_seen_from_the_json(run, tmp_path, monkeypatch):
    (tmp_path / "arms").mkdir()
    (tmp_path / "arms" / "arm.xml").write_text(ARM_XML)
    time_s = np.arange(60) / 50
    columns = {"time": time_s, "q:elbow": np.sin(time_s), "q:shoulder": np.cos(time_s), "q:spring": time_s}
    columns |= {"target:elbow": np.sin(time_s), "target:shoulder": np.cos(time_s)}
    rows = np.stack(list(columns.values()), axis=1)
    np.savetxt(run.csv, rows, delimiter=",", header=",".join(columns), comments="", fmt="%.17g")
    run.set_meta(robot="arms/arm.xml", clamp=None, kp={"elbow": 9.0, "shoulder": 8.0}, kd={"elbow": 1, "shoulder": 2})
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    read = read_recording(Path("..") / "run.csv")
    assert read.robot == str((tmp_path / "arms" / "arm.xml").resolve())
    assert read.joint_names == ("shoulder", "elbow")
    assert list(read.extra) == ["q:spring"]
    np.testing.assert_array_equal(read.kp, [8.0, 9.0])
    again = read_recording(write_recording(read, tmp_path / "elsewhere" / "copy.csv"))
    assert again.robot == read.robot
    assert json.loads((tmp_path / "elsewhere" / "copy.json").read_text())["robot"] == "../arms/arm.xml"


def test_a_csv_without_json(run):
    run.json.unlink()
    assert_words(run.error(), f"{run.csv}: there is no run.json beside the csv", "Write run.json")


@pytest.mark.parametrize("name", ["none.csv", "none.npz", "none", "none.json", "x" * 5000, "a\0b", ""])
def test_a_path_that_does_not_exist(tmp_path, name):
    with pytest.raises(RecordingError) as caught:
        read_recording(tmp_path / name)
    assert_words(str(caught.value), "there is no file", "Check the path")


def test_both_forms_side_by_side_need_the_suffix(run, recording):
    write_recording(recording, run.csv.with_suffix(".npz"))
    with pytest.raises(RecordingError, match=r"both run.csv and run.npz exist.*Give the name with its suffix"):
        read_recording(run.csv.with_suffix(""))


def test_neither_a_folder_nor_a_pipe_is_opened(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    for name in ("folder.csv", "pipe.csv"):
        with pytest.raises(RecordingError, match="there is no file"):
            read_recording(tmp_path / name)


def test_a_good_recording_gives_no_warning(run, caplog):
    with caplog.at_level(logging.WARNING):
        run.read()
    assert caplog.text == ""
