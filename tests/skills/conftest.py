"""What tests of the tracking task share; mjlab is imported only by those who ask for it."""

import pytest

from haloid.skills.task.robot import TrackedRobot, tracked_robot
from haloid.trajectories.motion import Motion
from haloid.trajectories.motion_export import write_motion


@pytest.fixture(scope="session")
def robot() -> TrackedRobot:
    return tracked_robot("g1")


@pytest.fixture(scope="session")
def motion() -> Motion:
    from tests.skills.lively_motion import lively_motion

    return lively_motion()


@pytest.fixture(scope="session")
def scene(motion, tmp_path_factory):
    """mjlab's own tracking task, in which all robots are the same."""
    from mjlab.tasks.tracking.config.g1.env_cfgs import unitree_g1_flat_tracking_env_cfg
    from tests.skills.mjlab_scene import ROBOTS, MjlabScene

    cfg = unitree_g1_flat_tracking_env_cfg()
    cfg.events = {name: event for name, event in cfg.events.items() if name == "push_robot"}
    return MjlabScene(cfg, write_motion(motion, tmp_path_factory.mktemp("mjlab") / "lively.npz"), ROBOTS)
