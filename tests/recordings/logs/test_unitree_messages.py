"""The wire layout against two independent readers: rosbags and mcap-ros2-support."""

import numpy as np
import pytest
from tests.recordings.logs.unitree_definitions import DEFINITIONS
from tests.recordings.logs.write_bag import payloads, write_mcap, write_rosbag2

from haloid.recordings.logs.unitree_messages import LAYOUTS, LOW_CMD, LOW_STATE, decode
from haloid.robots.description import describe
from haloid.robots.load import actuated_joints, load_spec

SCALARS = {LOW_STATE: ("mode_pr", "mode_machine", "tick", "crc"), LOW_CMD: ("mode_pr", "mode_machine", "crc")}
MOTORS = {LOW_STATE: "motor_state", LOW_CMD: "motor_cmd"}


def random_message(type_name: str) -> np.ndarray:
    """Every field filled with small numbers of its own."""
    rng = np.random.default_rng(0)
    message = np.zeros(1, LAYOUTS[type_name])

    def fill(view: np.ndarray) -> None:
        for name in view.dtype.names or ():
            if view[name].dtype.names:
                fill(view[name])
            else:
                view[name] = rng.integers(1, 100, view[name].shape)

    fill(message)
    return message


def assert_same(type_name: str, ours: np.void, theirs: object, mode: int) -> None:
    for name in SCALARS[type_name]:
        assert ours[name] == getattr(theirs, name)
    np.testing.assert_array_equal(ours["reserve"], theirs.reserve)
    motors = getattr(theirs, MOTORS[type_name])
    assert len(motors) == 35
    assert [motor.mode for motor in motors] == [mode] * 29 + [0] * 6
    for i, motor in enumerate(motors):
        for name in ours[MOTORS[type_name]].dtype.names:
            np.testing.assert_array_equal(ours[MOTORS[type_name]][i][name], getattr(motor, name))
    if type_name == LOW_STATE:
        for name in ("quaternion", "gyroscope", "accelerometer", "rpy", "temperature"):
            np.testing.assert_array_equal(ours["imu_state"][name], getattr(theirs.imu_state, name))
        np.testing.assert_array_equal(ours["wireless_remote"], theirs.wireless_remote)
        np.testing.assert_array_equal(ours["version"], theirs.version)


@pytest.mark.parametrize("type_name", [LOW_STATE, LOW_CMD])
def test_layout_is_what_rosbags_reads(type_name: str):
    typesys = pytest.importorskip("rosbags.typesys")
    store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    types = {}
    for name, text in DEFINITIONS.items():
        types |= typesys.get_types_from_msg(text, name)
    store.register(types)
    message = random_message(type_name)
    data = payloads(type_name, message, mode=7)[0]
    theirs = store.deserialize_cdr(data, type_name)
    assert_same(type_name, message[0], theirs, mode=7)
    assert bytes(store.serialize_cdr(theirs, type_name)) == data


def test_bags_are_what_independent_readers_read(content, tmp_path):
    mcap_reader = pytest.importorskip("mcap.reader")
    decoder = pytest.importorskip("mcap_ros2.decoder")
    rosbag2 = pytest.importorskip("rosbags.rosbag2")
    file = write_mcap(content, tmp_path / "run.mcap")
    with file.open("rb") as stream:
        reader = mcap_reader.make_reader(stream, decoder_factories=[decoder.DecoderFactory()])
        decoded = [message for *_, message in reader.iter_decoded_messages(topics=["/lowcmd"])]
    ours, whole = decode(LOW_CMD, [data for topic, _, data in content.messages if topic == "/lowcmd"])
    assert whole.all() and len(decoded) == len(ours)
    assert_same(LOW_CMD, ours[5], decoded[5], mode=1)
    with rosbag2.Reader(write_rosbag2(content, tmp_path / "bag")) as bag:
        read = [(connection.topic, time_ns, bytes(data)) for connection, time_ns, data in bag.messages()]
    assert read == content.messages


def test_motor_order_is_the_robots():
    assert actuated_joints(load_spec("g1")) == describe("g1").motor_order
