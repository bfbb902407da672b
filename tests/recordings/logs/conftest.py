"""Two seconds of a G1 at 500 Hz, to be written as bags and tables and spoilt."""

import numpy as np
import pytest
from tests.recordings.logs.write_bag import BagContent, bag_content

from haloid.recordings.logs.convert import LogOptions
from haloid.recordings.recording import Recording
from haloid.robots.load import actuated_joints, load_spec

ROWS = 1000
PERIOD_S = 0.002


@pytest.fixture(scope="session")
def swing() -> Recording:
    model = load_spec("g1").compile()
    joints = actuated_joints(model)
    limits = np.array([model.joint(joint).range for joint in joints])
    time_s = np.arange(ROWS) * PERIOD_S
    amplitude_rad = 0.1 * (limits[:, 1] - limits[:, 0])

    def motion(at_s: np.ndarray) -> np.ndarray:
        return limits.mean(axis=1) + amplitude_rad * np.sin(9.0 * at_s[:, None] + np.arange(len(joints)))

    return Recording(
        name="swing",
        robot="g1",
        clamp="left_ankle_roll_link",
        joint_names=joints,
        time_s=time_s,
        q_rad=motion(time_s),
        target_rad=motion(time_s + 0.01),
        kp=np.linspace(40.0, 120.0, len(joints)),
        kd=np.linspace(1.0, 7.0, len(joints)),
    )


@pytest.fixture
def content(swing: Recording) -> BagContent:
    return bag_content(swing)


@pytest.fixture(scope="session")
def options() -> LogOptions:
    return LogOptions(clamp="left_ankle_roll_link")
