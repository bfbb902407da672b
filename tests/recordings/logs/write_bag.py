"""Fixture bags: LowState and LowCmd messages in the exact wire layout, as MCAP and as rosbag2's SQLite."""

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from tests.recordings.logs.unitree_definitions import definition_with_parts

from haloid.recordings.logs.unitree_messages import (
    CDR_HEADER,
    LAYOUTS,
    LOW_CMD,
    LOW_STATE,
    MODE_OFFSETS,
)
from haloid.recordings.recording import Recording
from haloid.robots.description import describe

START_NS = 1_700_000_000_000_000_000
G1_MOTORS = describe("g1").motor_order
USED = len(G1_MOTORS)
Message = tuple[str, int, bytes]
"""Topic, log time in ns, payload."""


@dataclass
class BagContent:
    types: dict[str, str] = field(default_factory=lambda: {"/lowstate": LOW_STATE, "/lowcmd": LOW_CMD})
    messages: list[Message] = field(default_factory=list)

    def of(self, topic: str) -> list[int]:
        """Where a topic's messages stand."""
        return [i for i, message in enumerate(self.messages) if message[0] == topic]


def payloads(type_name: str, messages: np.ndarray, mode: int = 1) -> list[bytes]:
    data = messages.view(np.uint8).reshape(len(messages), -1).copy()
    data[:, :4] = np.frombuffer(CDR_HEADER, np.uint8)
    data[:, MODE_OFFSETS[type_name][:USED]] = mode
    return [row.tobytes() for row in data]


def bag_content(recording: Recording, *, tau_ff: bool = False) -> BagContent:
    """One LowState and one LowCmd a row; the state comes 0.3 ms after its tick, the command 0.1 ms after the state.

    With `tau_ff`, a part of every target is sent as a torque and a velocity.
    """
    assert recording.target_rad is not None and recording.kp is not None and recording.kd is not None
    rows = len(recording.time_s)
    order = [recording.joint_names.index(name) for name in G1_MOTORS]
    time_ns = np.round(recording.time_s * 1e9).astype(np.int64)
    states = np.zeros(rows, LAYOUTS[LOW_STATE])
    states["tick"] = 5_000 + np.round(recording.time_s * 1e3)
    states["motor_state"]["q"][:, :USED] = recording.q_rad[:, order]
    if recording.dq_rad_s is not None:
        states["motor_state"]["dq"][:, :USED] = recording.dq_rad_s[:, order]
    commands = np.zeros(rows, LAYOUTS[LOW_CMD])
    motor = commands["motor_cmd"]
    kp, kd = recording.kp[order], recording.kd[order]
    motor["kp"][:, :USED], motor["kd"][:, :USED] = kp, kd
    target = recording.target_rad[:, order]
    if tau_ff:
        motor["tau"][:, :USED], motor["dq"][:, :USED] = 0.01 * kp, 0.1
        target = target - 0.01 - 0.1 * kd / kp
    motor["q"][:, :USED] = target
    content = BagContent()
    state_data, command_data = payloads(LOW_STATE, states), payloads(LOW_CMD, commands)
    for row in range(rows):
        at_ns = START_NS + int(time_ns[row])
        content.messages.append(("/lowstate", at_ns + 300_000, state_data[row]))
        content.messages.append(("/lowcmd", at_ns + 400_000, command_data[row]))
    return content


def write_mcap(content: BagContent, file: Path, *, compressed: bool = True, chunk_bytes: int = 1 << 18) -> Path:
    from mcap.writer import CompressionType, Writer

    with file.open("wb") as stream:
        compression = CompressionType.ZSTD if compressed else CompressionType.NONE
        writer = Writer(stream, compression=compression, chunk_size=chunk_bytes)
        writer.start(profile="ros2", library="haloid tests")
        channels = {}
        for topic, type_name in content.types.items():
            text = definition_with_parts(type_name) if type_name in LAYOUTS else "uint8 data\n"
            schema = writer.register_schema(type_name, "ros2msg", text.encode())
            channels[topic] = writer.register_channel(topic, "cdr", schema)
        for topic, time_ns, data in content.messages:
            writer.add_message(channels[topic], log_time=time_ns, publish_time=time_ns, data=data)
        writer.finish()
    return file


def write_rosbag2(content: BagContent, folder: Path) -> Path:
    """A folder with metadata.yaml and one .db3, as ROS 2 Humble writes it: without message definitions."""
    folder.mkdir(parents=True)
    connection = sqlite3.connect(folder / "bag_0.db3")
    connection.execute(
        "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, "
        "serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL)"
    )
    connection.execute(
        "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL, "
        "data BLOB NOT NULL)"
    )
    ids = {topic: number for number, topic in enumerate(content.types, start=1)}
    connection.executemany(
        "INSERT INTO topics VALUES (?, ?, ?, 'cdr', '')", [(ids[t], t, name) for t, name in content.types.items()]
    )
    connection.executemany(
        "INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)",
        [(ids[topic], time_ns, data) for topic, time_ns, data in content.messages],
    )
    connection.commit()
    connection.close()
    times = [time_ns for _, time_ns, _ in content.messages]
    topics = "".join(
        f"    - topic_metadata: {{name: {topic}, type: {name}, serialization_format: cdr, offered_qos_profiles: ''}}\n"
        f"      message_count: {len(content.of(topic))}\n"
        for topic, name in content.types.items()
    )
    (folder / "metadata.yaml").write_text(
        "rosbag2_bagfile_information:\n  version: 5\n  storage_identifier: sqlite3\n"
        f"  duration: {{nanoseconds: {max(times) - min(times)}}}\n"
        f"  starting_time: {{nanoseconds_since_epoch: {min(times)}}}\n  message_count: {len(times)}\n"
        f"  topics_with_message_count:\n{topics}"
        "  compression_format: ''\n  compression_mode: ''\n  relative_file_paths: [bag_0.db3]\n"
    )
    return folder
