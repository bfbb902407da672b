"""Delta action by PPO: Table II's rewards by hand, replays that begin as recorded, a known gap that gets smaller."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("mjbatch")

import torch
from tests.gap.delta.known_gap import recorded_with

from haloid.errors import HaloidError
from haloid.gap.delta.action import DeltaAction
from haloid.gap.delta.networks import JointTerms, joint_terms
from haloid.gap.ppo.rewards import WEIGHTS, reward_terms
from haloid.gap.ppo.train import DeltaPpoConfig, delta_ppo, fit_ppo
from haloid.gap.ppo.world import ReplayWorld
from haloid.gap.replays.data import RealData
from haloid.gap.replays.simulator import Simulator, States, body_errors_mm, replay
from haloid.skills.asap.tracking import body_rows
from haloid.skills.task.robot import TrackedRobot, tracked_robot

HIPS = ("left_hip_pitch_joint", "right_hip_pitch_joint")
OFFSET = np.array([0.5, -0.5])
SMALL = DeltaPpoConfig(
    iterations=2, robots=16, horizon_s=0.2, threads=1, learner=replace(delta_ppo(), hidden=(32, 32), steps=10)
)


@pytest.fixture(scope="module")
def robot() -> TrackedRobot:
    return tracked_robot()


@pytest.fixture(scope="module")
def hips(robot) -> np.ndarray:
    return np.array([robot.joint_names.index(name) for name in HIPS])


@pytest.fixture(scope="module")
def truth(robot, hips) -> JointTerms:
    """Hips that hear half a unit of action more than they are sent, and less, as for a stride."""
    network = joint_terms(robot)
    with torch.no_grad():
        network.coefficients[hips, 0] = torch.from_numpy(OFFSET).float()
    return network


@pytest.fixture(scope="module")
def data(robot, truth) -> RealData:
    return recorded_with(truth, robot)


def world(robot: TrackedRobot, data: RealData, joints: np.ndarray) -> ReplayWorld:
    return ReplayWorld(robot, data, joints, robots=8, horizon=10, random=np.random.default_rng(0), threads=1)


def test_the_true_correction_follows_the_recording_and_none_does_not(robot, hips, data):
    """In the air the simulator with the true outputs is the recorded robot, to the last digit but for warm starts."""
    found = {}
    for share in (1, 0):
        replays = world(robot, data, hips)
        for _ in range(25):  # through the ends of windows, which last 10 steps
            replays.step(torch.from_numpy(np.tile(share * OFFSET, (8, 1))))
        found[share] = {name: values.mean() for name, values in replays.terms.items()}
    names = ("body_pos", "three_points", "feet", "body_rot", "body_vel", "body_ang_vel", "joint_pos", "joint_vel")
    assert [found[1][name] for name in names] == pytest.approx([1.5, *[1.0] * 7], abs=1e-4)
    assert found[0]["feet"] < 0.99
    assert found[1]["action_norm"] == pytest.approx(np.exp(np.linalg.norm(OFFSET)) - 1)


def test_windows_end_together_with_their_time_and_begin_as_recorded(robot, hips, data):
    replays = world(robot, data, hips)
    ended = np.zeros(8, dtype=int)
    for _ in range(10):
        observed, _, done, extras = replays.step(torch.zeros(8, 2))
        ended += done.numpy()
        assert torch.equal(done, extras["time_outs"])
        off = observed["critic"][:, -1 - 2 * robot.model.nv : -1]
        assert off[done].abs().sum() < 1e-9  # in new windows nothing is off yet
    assert (ended == 1).all()


def test_large_outputs_and_limits_cost(robot, data, hips):
    real = world(robot, data, hips)._real.at(np.array([3]))
    beyond = replace(real, joint_pos=robot.soft_limits_rad[None, :, 1].astype(np.float32) + 0.1)
    zero, one = np.zeros((1, 2)), np.ones((1, 2))
    effort_nm = np.full(29, 10.0)
    parts = (body_rows(robot), one, zero, robot.soft_limits_rad, -effort_nm[None], effort_nm, np.array([True]))
    terms = reward_terms(beyond, real, *parts)
    assert set(terms) == set(WEIGHTS)
    by_hand = {
        "action_norm": np.exp(np.sqrt(2)) - 1,
        "action_rate": 2.0,
        "joint_limits": 2.9,
        "torque_limits": 29 * 1.75,
        "termination": 1.0,
    }
    for name, value in by_hand.items():
        assert terms[name][0] == pytest.approx(value, rel=1e-5), name
        assert WEIGHTS[name] < 0, name


def test_bodies_are_sorted_into_legs_and_the_rest(robot):
    links, rows = robot.description.tracked_links, body_rows(robot)
    assert [links[row] for row in rows.feet] == ["left_ankle_roll_link", "right_ankle_roll_link"]
    assert [links[row] for row in rows.three_points] == ["torso_link", "left_wrist_yaw_link", "right_wrist_yaw_link"]
    assert len(rows.lower) == 7
    assert len(rows.upper) == 7


@pytest.mark.slow
def test_a_known_gap_gets_smaller_and_other_joints_are_left_alone(robot, hips, data):
    config = replace(SMALL, iterations=20, robots=64, horizon_s=0.4, learner=replace(SMALL.learner, steps=25))
    network = fit_ppo(robot, data, hips, config)
    action, rows = DeltaAction(network, robot.default_joint_pos_rad), np.arange(0, len(data), 7)
    delta = action.delta_rad(States(data.qpos[rows], data.qvel[rows], data.held_rad[rows]), data.target_rad[rows])
    assert np.flatnonzero(np.abs(delta).any(axis=0)).tolist() == hips.tolist()
    firsts = data.windows(20, stride=5)
    errors = []
    for correction in (None, action):
        played = replay(Simulator(robot, len(firsts), 1), data, firsts, 20, correction)
        errors.append(float(body_errors_mm(played, robot, data, firsts)[0]))
    assert errors[1] < 0.95 * errors[0]


def test_a_stopped_training_goes_on_and_another_one_is_refused(robot, hips, data, tmp_path: Path, monkeypatch):
    monkeypatch.setattr("haloid.gap.ppo.train.STORE_EVERY", 1)
    fit_ppo(robot, data, hips, SMALL, folder=tmp_path)
    said: list[str] = []
    fit_ppo(robot, data, hips, replace(SMALL, iterations=3), folder=tmp_path, say=said.append)
    assert [words.split(":")[0] for words in said] == ["iteration 3 of 3"]
    with pytest.raises(HaloidError, match="holds a training with other rollouts or settings"):
        fit_ppo(robot, data, hips, replace(SMALL, seed=1), folder=tmp_path)


def test_clips_that_are_too_short_are_refused(robot, hips, data):
    with pytest.raises(HaloidError, match="no clip lasts 1 s before its fall"):
        fit_ppo(robot, data, hips, replace(SMALL, horizon_s=1.0))
