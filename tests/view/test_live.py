"""A live policy: it follows, a push disturbs it in the direction that was asked for, and a fall starts it anew."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
pytest.importorskip("mjbatch")

from haloid.motions.load import load_motion
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.policies.export import export_onnx
from haloid.skills.task.robot import tracked_robot
from haloid.view.live import LivePolicy, show_policy
from tests.skills.small_policies import untrained_policy


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> DeployedPolicy:
    file = tmp_path_factory.mktemp("policy") / "policy.onnx"
    export_onnx(untrained_policy(tracked_robot("g1"), [load_motion("stand")], ["stand"], "controller"), file)
    return DeployedPolicy(file)


@pytest.fixture
def live(policy: DeployedPolicy) -> LivePolicy:
    return LivePolicy(policy, tracked_robot("g1", for_pictures=True))


def test_it_follows_and_remembers_what_it_did(live: LivePolicy):
    for _ in range(50):
        live.step()
    assert (live.frame, live.motion_s, live.falls) == (50, 1.0, 0)
    assert live.error_m < 0.02
    assert len(live.history) == 50
    np.testing.assert_array_equal(live.history[-1][0], live.qpos[7:])


@pytest.mark.parametrize(("direction", "axis", "sign"), [("from behind", 0, 1), ("from its left", 1, -1)])
def test_a_push_goes_where_it_should(live: LivePolicy, direction: str, axis: int, sign: int):
    for _ in range(10):
        live.step()
    before = live.qpos[:3]
    live.push(direction, 0.5)
    for _ in range(5):
        live.step()
    moved = live.qpos[:3] - before
    assert sign * moved[axis] > 0.02
    assert abs(moved[1 - axis]) < 0.01


def test_a_fall_starts_it_anew(live: LivePolicy):
    for _ in range(5):
        live.step()
    live.push("from behind", 6.0)
    steps = 0
    while live.falls == 0:
        live.step()
        steps += 1
        assert steps < 200
    assert (live.frame, live.error_m) == (0, 0.0)
    live.step()
    assert live.error_m < 0.02


def test_a_run_as_a_show(policy: DeployedPolicy):
    show = show_policy(policy, tracked_robot("g1", for_pictures=True))
    assert show.about == ("the policy follows stand to the end",)
    assert show.ghost is not None and show.ghost[1].shape == show.robots["policy"].shape
    assert Path(show.title).name.endswith(": stand")
