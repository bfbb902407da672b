"""The bridge to rsl_rl."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("mjbatch")

import torch

from haloid.skills.policies.actions import FeedforwardActions, MjlabActions, feedforward_tables
from haloid.skills.task.environment import EnvironmentConfig, TrackingEnvironment
from haloid.skills.task.reference import reference_of
from haloid.skills.training.vec_env import TrackingVecEnv

ROBOTS = 8


@pytest.fixture
def environment(robot, motion) -> TrackingEnvironment:
    return TrackingEnvironment(robot, reference_of(robot, [motion]), EnvironmentConfig(robots=ROBOTS, threads=1))


def test_an_output_passes_the_action_mode_of_the_frame_it_was_made_for(environment, robot):
    """The table says the frame's number for every joint; the environment gets that as a target."""
    number = np.tile(np.arange(180.0)[:, None], (1, 29))
    tables = feedforward_tables(robot, number, robot.joint_names)
    bridge = TrackingVecEnv(environment, FeedforwardActions(tables))
    shown = environment.time_step.copy()
    bridge.step(torch.zeros(ROBOTS, 29))
    ended = bridge.last.terminated | bridge.last.timed_out  # pyright: ignore[reportOptionalMemberAccess]
    targets = robot.default_joint_pos_rad + robot.action_scale_rad * environment.action
    np.testing.assert_allclose(targets[~ended], np.tile(shown[~ended, None], 29), rtol=1e-5)


def test_what_the_learner_gets(environment):
    bridge = TrackingVecEnv(environment, MjlabActions(29))
    assert (bridge.num_envs, bridge.num_actions) == (ROBOTS, 29)
    observed, reward, done, extras = bridge.step(torch.zeros(ROBOTS, 29))
    assert (observed["actor"].shape, observed["critic"].shape) == ((ROBOTS, 154), (ROBOTS, 286 + 72))
    assert observed is bridge.get_observations()
    assert (reward.dtype, done.dtype, extras["time_outs"].dtype) == (torch.float32, torch.bool, torch.bool)
    environment.reset(np.arange(ROBOTS), np.array([178] * 4 + [0] * 4))
    environment.difficulty.termination = 1e9
    _, _, done, extras = bridge.step(torch.zeros(ROBOTS, 29))
    assert done.tolist() == extras["time_outs"].tolist() == [True] * 4 + [False] * 4


def test_outputs_stay_as_they_were_when_episodes_end(environment):
    """PPO keeps the very tensor it handed out, and learns from it after the step."""
    bridge, ended = TrackingVecEnv(environment, MjlabActions(29)), False
    output = torch.full((ROBOTS, 29), 50.0)
    while not ended:
        ended = bool(bridge.step(output)[2].any())
    assert (output == 50.0).all()


def test_a_stored_bridge_shows_the_same_noise_again(environment, robot):
    bridge = TrackingVecEnv(environment, MjlabActions(29))
    bridge.step(torch.zeros(ROBOTS, 29))
    state, shown = bridge.state(), bridge.get_observations()["actor"].clone()
    later = [bridge.step(torch.zeros(ROBOTS, 29))[0]["actor"].clone() for _ in range(3)]
    bridge.load_state(state)
    assert torch.equal(bridge.get_observations()["actor"], shown)
    for expected in later:
        assert torch.equal(bridge.step(torch.zeros(ROBOTS, 29))[0]["actor"], expected)
