"""Spoilt logs: twenty kinds end in the message a user needs, and fuzzed ones in a recording or a HaloidError."""

import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.recordings.logs.write_bag import USED, BagContent, payloads, write_mcap, write_rosbag2
from tests.recordings.test_fuzz import mutated
from tests.recordings.words import assert_words

from haloid.errors import HaloidError
from haloid.recordings.logs.convert import LogOptions, read_log
from haloid.recordings.logs.unitree_messages import LAYOUTS, LOW_CMD
from haloid.recordings.recording import Recording

pytest.importorskip("mcap")
FUZZED = 60


def replaced(content: BagContent, topic: str, change: Callable[[bytes], bytes], which: slice = slice(None)) -> None:
    for i in content.of(topic)[which]:
        content.messages[i] = (*content.messages[i][:2], change(content.messages[i][2]))


def without(content: BagContent, topic: str) -> None:
    content.messages = [message for message in content.messages if message[0] != topic]


def retyped(content: BagContent, topic: str, type_name: str) -> None:
    content.types[topic] = type_name


def byte(offset: int, value: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:offset] + bytes([value]) + data[offset + 1 :]


def commanded(content: BagContent, **fields: float) -> None:
    message = np.zeros(1, LAYOUTS[LOW_CMD])
    for name, value in fields.items():
        message["motor_cmd"][name][:, :USED] = value
    data = payloads(LOW_CMD, message)[0]
    replaced(content, "/lowcmd", lambda _: data)


def one_joint_without_kp(data: bytes) -> bytes:
    return data[: 4 + 28 * 3 + 16] + bytes(4) + data[4 + 28 * 3 + 20 :]


def not_a_number(data: bytes) -> bytes:
    return data[:76] + np.float32(np.nan).tobytes() + data[80:]


def shifted(content: BagContent, topic: str, by_s: float) -> None:
    content.messages = [(t, ns + int(by_s * 1e9) * (t == topic), data) for t, ns, data in content.messages]


CONTENT = {
    "motor A/B mode": (
        lambda c: replaced(c, "/lowstate", byte(12, 1)),
        ("mode_pr is 1 in 1,000 of 1,000 messages: motor A/B mode", "Record again with mode_pr 0"),
    ),
    "A/B commands": (lambda c: replaced(c, "/lowcmd", byte(4, 1), slice(7, 9)), ("message 8", "mode_pr is 1 in 2 of")),
    "no commands": (
        lambda c: without(c, "/lowcmd"),
        ("no unitree_hg/msg/LowCmd messages (what was commanded)", "/lowstate (unitree_hg/msg/LowState, 1,000)"),
    ),
    "no states": (lambda c: without(c, "/lowstate"), ("no unitree_hg/msg/LowState", "Record the topic /lowstate too")),
    "another robot's type": (
        lambda c: retyped(c, "/lowstate", "unitree_go/msg/LowState"),
        ("no unitree_hg/msg/LowState", "from another robot: haloid reads unitree_hg (G1, H1-2), not unitree_go"),
    ),
    "a type of no use": (lambda c: retyped(c, "/lowcmd", "std_msgs/msg/String"), ("/lowcmd (std_msgs/msg/String",)),
    "nothing at all": (lambda c: c.messages.clear(), ("no unitree_hg/msg/LowState",)),
    "short payloads": (
        lambda c: replaced(c, "/lowstate", lambda data: data[:900]),
        ("none of its 1,000 messages has the layout", "the first: 900 bytes"),
    ),
    "big-endian payloads": (lambda c: replaced(c, "/lowcmd", byte(1, 0)), ("Expected little-endian CDR",)),
    "velocity control": (lambda c: commanded(c, kd=5.0), ("kp is 0 for all joints but kd", "position-controlled")),
    "one joint limp": (
        lambda c: replaced(c, "/lowcmd", one_joint_without_kp),
        ("kp of 'left_knee_joint' is 0 all the time", "Hold these joints in position too"),
    ),
    "negative gains": (lambda c: commanded(c, kp=50.0, kd=-1.0), ("found -1.0", "between 0 and")),
    "NaN readings": (
        lambda c: replaced(c, "/lowstate", not_a_number, slice(500, 510)),
        ("q:left_hip_pitch_joint", "found nan", "a finite number in every cell"),
    ),
    "degrees": (
        lambda c: replaced(c, "/lowstate", lambda d: d[:76] + np.float32(80).tobytes() + d[80:]),
        ("found 80", "It looks like degrees"),
    ),
    "commands of another day": (lambda c: shifted(c, "/lowcmd", 3600), ("states run from", "in one run")),
    "nine messages": (lambda c: c.messages.__delitem__(slice(18, None)), ("9 states", "record for longer")),
    "a tenth of a second": (lambda c: c.messages.__delitem__(slice(100, None)), ("lasts 0.098 s", "record for longer")),
}


@pytest.mark.parametrize("kind", CONTENT)
def test_spoilt_content(kind, content, options, tmp_path):
    spoil, words = CONTENT[kind]
    spoil(content)
    with pytest.raises(HaloidError) as caught:
        read_log(write_mcap(content, tmp_path / "run.mcap"), options)
    assert_words(str(caught.value), "run.mcap", *words)


def message_of(path: Path, options: LogOptions) -> str:
    with pytest.raises(HaloidError) as caught:
        read_log(path, options)
    return str(caught.value)


def test_spoilt_files(content, options, tmp_path):
    whole = write_mcap(content, tmp_path / "run.mcap").read_bytes()
    file = tmp_path / "bad.mcap"
    for data, words in (
        (b"", ("the file is empty",)),
        (b"\0" * 5000, ("starts like neither an MCAP nor an SQLite file", "copy it again")),
        (whole[:200], ("no unitree_hg/msg/LowState messages", "Nothing of it could be salvaged")),
    ):
        file.write_bytes(data)
        assert_words(message_of(file, options), *words)
    assert_words(message_of(tmp_path / "absent.mcap", options), "there is no such file or folder")
    folder = tmp_path / "bag"
    folder.mkdir()
    (folder / "metadata.yaml").write_text("")
    assert_words(message_of(folder, options), "the folder holds no .mcap or .db3 file")
    (folder / "bag_0.db3.zstd").write_bytes(b"")
    assert_words(message_of(folder, options), "zstd -d bag_0.db3.zstd")
    database = tmp_path / "other.db3"
    connection = sqlite3.connect(database)
    connection.execute("CREATE TABLE stamps(id INTEGER)")
    connection.close()
    assert_words(message_of(database, options), "no such table: topics", "a rosbag2 database")
    (tmp_path / "notes.txt").write_text("hello")
    assert_words(message_of(tmp_path / "notes.txt", options), "the file is not a log that haloid knows")


def test_a_cut_off_tail_is_salvaged(content, options, tmp_path):
    file = write_mcap(content, tmp_path / "run.mcap", compressed=False)
    file.write_bytes(file.read_bytes()[:2_000_000])
    recording = read_log(file, options)
    assert 500 < len(recording.time_s) < 700
    assert_words(recording.note, "run.mcap ends too early or is damaged", "were salvaged")


def test_a_damaged_chunk_is_a_gap(content, options, tmp_path):
    file = write_mcap(content, tmp_path / "run.mcap", compressed=False)
    data = bytearray(file.read_bytes())
    data[1_000_000] ^= 0xFF
    file.write_bytes(data)
    recording = read_log(file, options, allow_gaps=True)
    assert_words(recording.note, "1 damaged chunk left out")
    assert np.count_nonzero(np.diff(recording.time_s) > 0.003) == 1


def test_a_cut_off_database_is_salvaged(content, options, tmp_path):
    file = write_rosbag2(content, tmp_path / "bag") / "bag_0.db3"
    data = file.read_bytes()
    file.write_bytes(data[: int(0.8 * len(data))])
    recording = read_log(file, options)
    assert 600 < len(recording.time_s) < 900
    assert_words(recording.note, "bag_0.db3 is damaged", "were salvaged")
    file.write_bytes(data[: len(data) // 3])
    assert_words(message_of(file, options), "the database cannot be read", "repair it with sqlite3's .recover")


@pytest.mark.parametrize("kind", ["mcap", "packed", "db3"])
def test_fuzzed_bags(kind, content, options, tmp_path):
    content.messages = content.messages[:600]
    if kind == "db3":
        file = write_rosbag2(content, tmp_path / "bag") / "bag_0.db3"
    else:
        file = write_mcap(content, tmp_path / "run.mcap", compressed=kind == "packed", chunk_bytes=1 << 16)
    data, rng = file.read_bytes(), random.Random(kind)
    spoilt = tmp_path / f"spoilt{file.suffix}"
    for _ in range(FUZZED):
        spoilt.write_bytes(mutated(data, rng))
        try:
            assert isinstance(read_log(spoilt, options, allow_gaps=True), Recording)
        except HaloidError as error:
            assert len(str(error)) < 2000
