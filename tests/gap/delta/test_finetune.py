"""Fine-tuning: the corrected simulator is what the policy is trained in, and what does not fit is refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("mjbatch")

from tests.gap.delta.known_gap import CLIPS, known_network, recorded_with
from tests.skills.small_training import short_stand, small_training

from haloid.errors import HaloidError
from haloid.gap.delta.action import DeltaAction, DeltaTransform
from haloid.gap.delta.files import DeltaModel, delta_facts, save_delta
from haloid.gap.delta.finetune import finetune, tuning_config
from haloid.gap.replays.simulator import States
from haloid.skills.task.randomisation import RANDOMISATIONS
from haloid.skills.task.task import TaskConfig
from haloid.skills.task.transforms import Now
from haloid.skills.training.checkpoint import FILE
from haloid.skills.training.learning import TrainingConfig
from haloid.skills.training.run_config import Session, check_delta, write_config
from haloid.skills.training.run_folder import resume, train


def test_the_transform_makes_the_simulator_the_real_robot(robot):
    """Step by step it changes targets as the recording's own correction did."""
    network = known_network(robot)
    data, action = recorded_with(network, robot), DeltaAction(network, robot.default_joint_pos_rad)
    transform, random = DeltaTransform(action), np.random.default_rng(0)
    rows = np.arange(CLIPS) * (len(data) // CLIPS)
    corrected_rad = data.held_rad[rows]
    for step in range(3):
        now = Now(
            data.qpos[rows], data.qvel[rows], corrected_rad, np.full(CLIPS, step), robot.model.opt.timestep, random
        )
        ((corrected_rad, steps),) = transform([(data.target_rad[rows], 4)], now)
        states = States(data.qpos[rows], data.qvel[rows], data.held_rad[rows])
        assert steps == 4
        assert corrected_rad == pytest.approx(action.targets(states, data.target_rad[rows]))
        rows = rows + 1


def test_the_delay_of_pre_training_is_left_to_the_delta_model(tmp_path: Path):
    task = TaskConfig(motions=("squat",), preset="asap", actions="mjlab", randomisation="asap", history=5, delay_s=0.01)
    write_config(tmp_path, TrainingConfig(task), Session())
    (tmp_path / FILE).touch()
    tuned = tuning_config(tmp_path, 100, 1).task
    assert tuned == replace(task, randomisation="asap-on-time", delay_s=0.0, substeps=4, threads=1)
    assert RANDOMISATIONS["asap-on-time"] == replace(RANDOMISATIONS["asap"], delay_s=None)


@pytest.mark.slow
def test_finetuning_begins_with_the_policy_and_refuses_what_does_not_fit(robot, tmp_path: Path):
    config = small_training(short_stand(tmp_path), iterations=1)
    train(config, tmp_path / "policy")
    facts = delta_facts(robot, "action", "fast", robot.joint_names, ("stand",), 10)
    save_delta(DeltaModel(facts, known_network(robot)), tmp_path / "delta")
    outcome = finetune(tmp_path / "policy", tmp_path / "delta", tmp_path / "tuned", iterations=1, threads=1)
    assert (outcome.iterations, outcome.finished) == (1, True)
    assert (tmp_path / "tuned" / "policy.pt").is_file()
    again = finetune(tmp_path / "policy", tmp_path / "delta", tmp_path / "tuned", iterations=1, threads=1)
    assert again.steps == 0  # it was done
    longer = finetune(tmp_path / "policy", tmp_path / "delta", tmp_path / "tuned", iterations=2, threads=1)
    assert (longer.iterations, longer.finished) == (2, True)
    save_delta(DeltaModel(replace(facts, model_sha256="other"), known_network(robot)), tmp_path / "other")
    with pytest.raises(HaloidError, match="corrects another simulator"):
        finetune(tmp_path / "policy", tmp_path / "other", tmp_path / "third", iterations=1)
    with pytest.raises(HaloidError, match="holds no training to go on from"):
        finetune(tmp_path / "delta", tmp_path / "delta", tmp_path / "third", iterations=1)
    assert not (tmp_path / "third").exists()
    before = (tmp_path / "tuned" / FILE).read_bytes()
    save_delta(DeltaModel(facts, known_network(robot, seed=5)), tmp_path / "another")
    with pytest.raises(HaloidError, match="tuned was begun with another delta model: the content of its file differs"):
        finetune(tmp_path / "policy", tmp_path / "another", tmp_path / "tuned", iterations=3)
    with pytest.raises(HaloidError, match=r"tuned holds a fine-tuning .* Go on with it in that: haloid delta finetune"):
        resume(tmp_path / "tuned", iterations=3)
    with pytest.raises(HaloidError, match=r"tuned holds a training that began with .*policy, not with .*tuned\. Give"):
        finetune(tmp_path / "tuned", tmp_path / "delta", tmp_path / "tuned", iterations=3)
    with pytest.raises(HaloidError, match=r"policy holds a training that began with no policy, not with .*tuned"):
        finetune(tmp_path / "tuned", tmp_path / "delta", tmp_path / "policy", iterations=3)
    with pytest.raises(HaloidError, match="policy holds a training that no delta model corrects"):
        check_delta(tmp_path / "policy", "ab")
    assert (tmp_path / "tuned" / FILE).read_bytes() == before
