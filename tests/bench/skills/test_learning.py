"""What learning adds, from runs stated by hand."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("mjbatch")

import torch
from tests.bench.evaluations import fell, measured, ran
from tests.skills.small_policies import untrained_policy
from tests.skills.task.test_reference import cut

from haloid.bench.skills.learning import PUSHES, Compared, interval95, outcome_of, silenced
from haloid.motions.load import load_motion
from haloid.skills.evaluation.metrics import RunMetrics
from haloid.skills.task.robot import tracked_robot


def compared(motion: str, before: list[RunMetrics], after: list[RunMetrics]) -> Compared:
    untrained, trained = (measured(motion, "halo", *runs).evaluations[0] for runs in (before, after))
    return Compared(motion, untrained, dict.fromkeys(PUSHES, trained))


def test_the_interval_is_wilsons():
    """The example of Brown, Cai and DasGupta's formula by hand: 8 of 10 is 49 to 94 %."""
    found = measured("squat", "halo", *[ran()] * 8, *[fell()] * 2).evaluations[0]
    assert interval95(found) == pytest.approx((0.4902, 0.9433), abs=1e-4)


def test_what_improved_is_what_lies_outside_the_intervals():
    much = compared("squat", [fell(0.1)] * 50, [ran()] * 30 + [fell(0.8)] * 20)
    little = compared("walk", [ran()] * 10 + [fell(0.1)] * 40, [ran()] * 13 + [fell(0.1)] * 37)
    longer = compared("wave", [fell(0.1), fell(0.2)] * 25, [fell(0.5), fell(0.6)] * 25)
    assert [one.improved for one in (much, little, longer)] == [True, False, True]
    outcome = outcome_of([much, little, longer], 2_000_000)
    assert outcome.headline["improved_share"] == pytest.approx(2 / 3)
    assert (outcome.headline["squat_success_before"], outcome.headline["squat_success_after"]) == (0.0, 0.6)
    assert outcome.headline["million_steps"] == 2.0
    assert [str(target) for target in outcome.targets][:2] == [
        "MISSED: success of squat on its own distribution 0.6 (target at least 0.9)",
        "MISSED: success of walk on its own distribution 0.26 (target at least 0.9)",
    ]
    assert len(outcome.rows) == 3 + 3 * len(PUSHES)
    assert outcome.tables[0].rows[0][1] == "0 % (0–7)"
    assert all(len(row) == len(outcome.tables[0].columns) for row in outcome.tables[0].rows)


def test_a_silenced_policy_says_what_the_feedforward_says():
    robot, motion = tracked_robot("g1"), cut(load_motion("stand"), 0, 30)
    policy = untrained_policy(robot, [motion], ["stand"], "feedforward", seed=3)
    observation, frames = torch.randn(2, policy.observation_width), torch.tensor([3, 7])
    before = silenced(policy)(observation, frames)
    expected = untrained_policy(robot, [motion], ["stand"], "feedforward")(observation, frames)
    torch.testing.assert_close(before, expected)
    assert not torch.allclose(policy(observation, frames), expected)
