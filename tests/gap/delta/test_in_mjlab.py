"""The corrected simulator in mjlab is that of the CPU: the same targets in the same states, and a training in it."""

from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest

pytest.importorskip("mjlab")
pytest.importorskip("mjbatch")

import torch
from tests.gap.delta.known_gap import known_network
from tests.skills.mjlab_scene import ROBOTS, MjlabScene, states_near, tensor

from haloid.errors import HaloidError
from haloid.gap.delta.action import DeltaAction
from haloid.gap.delta.files import DeltaModel, delta_facts, save_delta
from haloid.gap.delta.in_mjlab import CorrectedAction, corrected_by, finetune_with_mjlab
from haloid.gap.replays.simulator import States
from haloid.motions.load import load_motion
from haloid.skills.mjlab_backend.task import tracking_env_cfg
from haloid.skills.mjlab_backend.train import train_with_mjlab
from haloid.skills.task.task import TaskConfig
from haloid.skills.training.learning import TrainingConfig
from haloid.skills.training.ppo import mjlab_ppo
from haloid.skills.training.run_config import Session, write_config
from haloid.trajectories.motion_export import write_motion

pytestmark = pytest.mark.slow

TINY = replace(mjlab_ppo(), hidden=(16, 16), steps=4, epochs=1, minibatches=2)


@pytest.fixture(scope="module")
def delta(robot, tmp_path_factory) -> Path:
    facts = delta_facts(robot, "action", "fast", robot.joint_names, ("squat",), 100)
    return save_delta(DeltaModel(facts, known_network(robot)), tmp_path_factory.mktemp("delta"))


def test_targets_are_those_of_the_corrected_simulator_on_the_cpu(robot, delta, tmp_path: Path):
    motion, cfg = load_motion("stand"), tracking_env_cfg(randomisation="none", play=True)
    corrected_by(delta)(cfg)
    scene = MjlabScene(cfg, write_motion(motion, tmp_path / "stand.npz"), ROBOTS)
    term = cast(CorrectedAction, scene.env.action_manager.get_term("joint_pos"))
    action = DeltaAction(known_network(robot), robot.default_joint_pos_rad)
    sent_rad = None
    for seed in range(2):
        state = states_near(motion, ROBOTS, 0.02, seed)
        scene.put(state)
        term.process_actions(tensor(state.action))
        told_rad = robot.default_joint_pos_rad + robot.action_scale_rad * state.action - state.encoder_bias_rad
        held_rad = state.qpos[:, 7:] if sent_rad is None else sent_rad
        expected = action.targets(States(state.qpos, state.qvel, held_rad), told_rad)
        term.apply_actions()
        found = scene.robot.data.joint_pos_target[:, term._joints].numpy(force=True)
        np.testing.assert_allclose(found, expected, atol=1e-4)
        assert np.abs(found - told_rad).max() > 0.01
        np.testing.assert_allclose(term.raw_action.numpy(force=True), state.action, rtol=1e-6)
        sent_rad = told_rad
    term.reset(torch.tensor([2]))
    assert term._fresh.tolist() == [robot == 2 for robot in range(ROBOTS)]


def test_finetuning_begins_with_the_policy_goes_on_and_refuses_the_rest(robot, delta, tmp_path: Path):
    task = TaskConfig(motions=("stand",), actions="mjlab", state_estimation=True, robots=ROBOTS)
    begun = train_with_mjlab(TrainingConfig(task, TINY, iterations=1), tmp_path / "policy")
    outcome = finetune_with_mjlab(tmp_path / "policy", delta, tmp_path / "tuned", iterations=1)
    start = torch.load(tmp_path / "tuned" / "mjlab" / "0-start" / "model_-1.pt", weights_only=False)
    policy = torch.load(begun.checkpoint, weights_only=False)
    for name, values in policy["actor_state_dict"].items():
        assert torch.equal(start["actor_state_dict"][name], values)
    assert outcome.checkpoint.name == "model_0.pt"
    assert str(delta) in (outcome.run / "params" / "env.yaml").read_text()
    more = finetune_with_mjlab(tmp_path / "policy", delta, tmp_path / "tuned", iterations=2)
    assert more.checkpoint.name == "model_1.pt"
    facts = delta_facts(robot, "action", "fast", robot.joint_names, ("squat",), 100)
    other = save_delta(DeltaModel(facts, known_network(robot, seed=5)), tmp_path / "other")
    with pytest.raises(HaloidError, match="tuned was begun with another delta model"):
        finetune_with_mjlab(tmp_path / "policy", other, tmp_path / "tuned", iterations=3)


def test_a_policy_of_the_cpu_is_refused(delta, tmp_path: Path):
    write_config(tmp_path, TrainingConfig(TaskConfig(motions=("stand",))), Session())
    with pytest.raises(HaloidError, match=r"was trained on the CPU, .* Fine-tune it there \(leave out --backend\)"):
        finetune_with_mjlab(tmp_path, delta, tmp_path / "tuned", iterations=1)
    assert not (tmp_path / "tuned").exists()
