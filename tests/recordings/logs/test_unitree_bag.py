"""Bags to recordings: the same numbers, one clock, and losses marked."""

import numpy as np
import pytest
from tests.recordings.logs.write_bag import USED, bag_content, payloads, write_mcap, write_rosbag2
from tests.recordings.words import assert_words

from haloid.recordings.errors import RecordingError
from haloid.recordings.logs.convert import LogOptions, read_log
from haloid.recordings.logs.log import MissingPackageError
from haloid.recordings.logs.unitree_messages import LAYOUTS, LOW_CMD

pytest.importorskip("mcap")
FLOAT32 = 3e-7
MIDWAY_RAD = 2e-5
"""A command comes 0.1 ms after a state, so readings at rows are between samples."""


def assert_is_swing(recording, swing, first_row: int = 0):
    rows = np.round((recording.time_s + 0.002 * first_row) / 0.002).astype(int)
    np.testing.assert_allclose(recording.target_rad, swing.target_rad[rows], atol=FLOAT32)
    at_s = recording.time_s + 0.002 * first_row + 0.0001
    for joint in (0, 12, 28):
        expected = np.interp(at_s, swing.time_s, swing.q_rad[:, joint])
        np.testing.assert_allclose(recording.q_rad[:, joint], expected, atol=MIDWAY_RAD)
    np.testing.assert_allclose(recording.kp, swing.kp, rtol=FLOAT32)


@pytest.mark.parametrize("tau_ff", [False, True])
def test_an_mcap_bag_is_read(swing, options, tmp_path, tau_ff):
    file = write_mcap(bag_content(swing, tau_ff=tau_ff), tmp_path / "run.mcap")
    recording = read_log(file, options)
    assert_is_swing(recording, swing)
    assert len(recording.time_s) == 999
    assert_words(recording.note, "1,000 states at 500 Hz by the robot's tick", "500 rows per second", "target = q_des")
    assert_words(recording.note, "command-to-motion delay")


def test_a_rosbag2_folder_is_read(swing, content, options, tmp_path):
    folder = write_rosbag2(content, tmp_path / "bag")
    assert_is_swing(read_log(folder, options), swing)
    assert_is_swing(read_log(folder / "bag_0.db3", options), swing)
    split = tmp_path / "split"
    split.mkdir()
    half = len(content.messages) // 2
    messages = content.messages
    for number, part in enumerate((messages[half:], messages[:half])):
        content.messages = part
        write_mcap(content, split / f"split_{1 - number}.mcap")
    assert_is_swing(read_log(split, options), swing)


def test_duplicates_disorder_and_jitter_change_nothing(swing, content, options, tmp_path):
    rng = np.random.default_rng(1)
    messages = [
        (topic, time_ns + int(rng.uniform(0, 400_000) * (topic == "/lowstate")), data)
        for topic, time_ns, data in content.messages
    ]
    messages += [messages[i] for i in (100, 101, 500, 501)]
    messages[300], messages[302] = messages[302], messages[300]
    content.messages = messages
    recording = read_log(write_mcap(content, tmp_path / "run.mcap"), options)
    assert len(recording.time_s) >= 998
    np.testing.assert_allclose(np.diff(recording.time_s), 0.002, rtol=1e-9)
    assert_words(recording.note, "2 duplicates removed, 0 lost")
    # the first state comes later than the first command
    np.testing.assert_allclose(recording.target_rad[:900], swing.target_rad[1:901], atol=1e-4)
    np.testing.assert_allclose(recording.q_rad[:900], swing.q_rad[1:901], atol=2e-3)


@pytest.mark.parametrize("topic", ["/lowstate", "/lowcmd"])
def test_lost_messages_are_gaps(content, options, tmp_path, topic):
    lost = set(content.of(topic)[400:405])
    content.messages = [message for i, message in enumerate(content.messages) if i not in lost]
    file = write_mcap(content, tmp_path / "run.mcap")
    with pytest.raises(RecordingError, match="--allow-gaps"):
        read_log(file, options)
    recording = read_log(file, options, allow_gaps=True)
    gaps = np.flatnonzero(np.diff(recording.time_s) > 1.5 * 0.002)
    assert len(gaps) == 1
    assert recording.time_s[gaps[0]] < 0.800 <= recording.time_s[gaps[0] + 1] - 5 * 0.002 + 0.001
    assert_words(recording.note, "5 lost", "rows left out")


def test_a_held_command_may_be_lost(swing, content, options, tmp_path):
    commands = content.of("/lowcmd")
    held = content.messages[commands[400]][2]
    for i in commands[400:420]:
        content.messages[i] = (*content.messages[i][:2], held)
    lost = set(commands[405:410])
    content.messages = [message for i, message in enumerate(content.messages) if i not in lost]
    recording = read_log(write_mcap(content, tmp_path / "run.mcap"), options)
    assert len(recording.time_s) == 999


def test_rows_start_where_a_slow_policys_commands_change(swing, content, tmp_path):
    commands = content.of("/lowcmd")
    for k, i in enumerate(commands):
        latest = commands[max(0, 10 * ((k - 3) // 10) + 3)]
        content.messages[i] = (*content.messages[i][:2], content.messages[latest][2])
    options = LogOptions(clamp="left_ankle_roll_link", rate_hz=50)
    recording = read_log(write_mcap(content, tmp_path / "run.mcap"), options)
    assert recording.control_dt_s == pytest.approx(0.02)
    np.testing.assert_allclose(recording.target_rad[:90], swing.target_rad[3::10][:90], atol=1e-6)
    assert "inside rows" not in recording.note


def test_rows_before_the_robot_is_driven_are_left_out(swing, content, options, tmp_path):
    off = payloads(LOW_CMD, np.zeros(1, LAYOUTS[LOW_CMD]), mode=0)[0]
    for i in content.of("/lowcmd")[:100]:
        content.messages[i] = (*content.messages[i][:2], off)
    recording = read_log(write_mcap(content, tmp_path / "run.mcap"), options)
    assert len(recording.time_s) == 899
    assert_is_swing(recording, swing, first_row=100)


def test_torque_mode(swing, content, options, tmp_path):
    torques = np.zeros(len(swing.time_s), LAYOUTS[LOW_CMD])
    torques["motor_cmd"]["tau"][:, :USED] = np.sin(swing.time_s)[:, None]
    for i, data in zip(content.of("/lowcmd"), payloads(LOW_CMD, torques), strict=True):
        content.messages[i] = (*content.messages[i][:2], data)
    recording = read_log(write_mcap(content, tmp_path / "run.mcap"), options)
    assert recording.actuation == "torque" and recording.target_rad is None
    np.testing.assert_allclose(recording.tau_nm[:, 3], np.sin(swing.time_s)[:999], atol=1e-5)


def test_a_tick_that_starts_anew_is_no_clock(content, options, tmp_path):
    for k, i in enumerate(content.of("/lowstate")):
        topic, time_ns, data = content.messages[i]
        content.messages[i] = topic, time_ns, data[:16] + (2 * (k % 600)).to_bytes(4, "little") + data[20:]
    recording = read_log(write_mcap(content, tmp_path / "run.mcap"), options)
    assert_words(recording.note, "1,000 states at 500 Hz by the recorder's clock")


def test_without_the_extra_the_message_says_what_to_install(content, options, tmp_path, monkeypatch):
    file = write_mcap(content, tmp_path / "run.mcap")
    monkeypatch.setitem(__import__("sys").modules, "mcap.stream_reader", None)
    with pytest.raises(MissingPackageError, match=r"needs the package 'mcap'.*pip install .*\[logs\]'"):
        read_log(file, options)
