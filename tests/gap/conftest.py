"""The nominal G1, which most tests of a gap start from."""

import pytest

from haloid.skills.task.robot import TrackedRobot, tracked_robot


@pytest.fixture(scope="session")
def robot() -> TrackedRobot:
    return tracked_robot()
