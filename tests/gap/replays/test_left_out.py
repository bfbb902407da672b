"""Clips that were left out say how much of a correction is worth keeping."""

import copy

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("mjbatch")

import torch
from tests.gap.delta.known_gap import CLIPS, known_network, recorded_with

from haloid.gap.delta.action import DeltaAction
from haloid.gap.delta.fast import LEFT_OUT, FastConfig, fit_fast
from haloid.gap.delta.networks import JointTerms, joint_terms
from haloid.gap.replays.data import RealData
from haloid.gap.replays.left_out import Worth, leave_out, worth
from haloid.skills.task.robot import TrackedRobot


@pytest.fixture(scope="module")
def truth(robot) -> JointTerms:
    return known_network(robot)


@pytest.fixture(scope="module")
def data(robot, truth) -> RealData:
    return recorded_with(truth, robot)


def scaled(network: JointTerms, part: float) -> JointTerms:
    twin = copy.deepcopy(network)
    with torch.no_grad():
        twin.coefficients *= part
    return twin


def judged(robot: TrackedRobot, data: RealData | None, network: JointTerms) -> Worth | None:
    return worth(
        robot,
        data,
        lambda part: DeltaAction(scaled(network, part), robot.default_joint_pos_rad),
        horizon_s=0.25,
        windows=8,
        threads=1,
    )


def test_every_fifth_clip_is_left_out_whole(data):
    learned, left_out = leave_out(data, data.episode, 5)
    assert left_out is not None
    assert np.unique(left_out.episode).tolist() == [4, 9, 14, 19]
    assert len(np.unique(learned.episode)) == CLIPS - 4
    assert len(learned) + len(left_out) == len(data)


def test_of_four_clips_none_is_left_out_and_nothing_is_told(robot, data, truth):
    few = data.rows(data.episode < 4)
    learned, left_out = leave_out(few, few.episode, 5)
    assert left_out is None
    assert len(learned) == len(few)
    assert judged(robot, left_out, truth) is None


def test_the_true_correction_is_kept_whole_one_of_twice_its_size_by_half_and_its_opposite_not_at_all(
    robot, data, truth
):
    whole, half, none = (judged(robot, data, scaled(truth, factor)) for factor in (1.0, 2.0, -1.0))
    assert (whole.part, half.part, none.part) == (1.0, 0.5, 0.0)
    assert whole.error_mm < 1e-3 < whole.without_mm
    assert none.error_mm == none.without_mm == whole.without_mm


def test_clips_shorter_than_a_replay_tell_nothing(robot, data, truth):
    short = data.rows(np.arange(len(data)) % 26 < 10)
    assert judged(robot, short, truth) is None


def test_the_fast_way_keeps_nothing_that_does_not_help(robot, caplog):
    """A robot that is the simulator, but whose velocities are measured badly: what is learned from them is noise."""
    same = recorded_with(joint_terms(robot), robot)
    random = np.random.default_rng(2)
    learned, _ = leave_out(same, same.episode, LEFT_OUT)
    noisy = ~np.isin(same.episode, np.unique(same.episode)[LEFT_OUT - 1 :: LEFT_OUT])
    same.qvel[noisy] += random.normal(0, 0.5, same.qvel[noisy].shape)
    config = FastConfig(transitions=400, horizon_s=0.0, penalty=1e-6, ridge=1e-8, threads=1)
    network = fit_fast(robot, same, np.arange(len(robot.joint_names)), config)
    assert not network.coefficients.detach().any()
    assert "none is kept" in caplog.text
    assert len(learned) == noisy.sum()
