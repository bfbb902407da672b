"""Learning, iteration by iteration."""

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.recordings.words import assert_words

pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("mjbatch")

import torch
from tests.skills.small_training import TINY, short_stand, small_training

from haloid.errors import HaloidError
from haloid.skills.policies.networks import network_of
from haloid.skills.task.difficulty import Difficulty
from haloid.skills.task.task import TaskConfig
from haloid.skills.training.learning import Best, Training, TrainingConfig
from haloid.skills.training.ppo import cpu_ppo, mjlab_ppo
from haloid.skills.training.trial import Trial


@pytest.fixture(scope="module")
def stand(tmp_path_factory: pytest.TempPathFactory) -> str:
    return short_stand(tmp_path_factory.mktemp("motions"))


def actor_of(training: Training) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in training._ppo.get_policy().state_dict().items()}


@pytest.mark.parametrize("mode", ["feedforward", "mjlab"])
def test_a_stored_training_goes_on_exactly(stand, mode):
    """Bit by bit: metrics of three iterations and the networks after them."""
    config = small_training(stand, actions=mode, seed=3)
    training = Training(config)
    training.step()
    training.step()
    state = copy.deepcopy(training.state())
    expected = [training.step().metrics for _ in range(3)]
    other = Training(config)
    other.load_state(state)
    assert [other.step().metrics for _ in range(3)] == expected
    for name, value in actor_of(training).items():
        assert torch.equal(actor_of(other)[name], value)
    assert other.iteration == 5
    assert other.best.score == training.best.score


def test_a_seed_repeats_its_training_and_another_does_not(stand):
    first, again, other = (Training(small_training(stand, seed=seed)).step().metrics for seed in (5, 5, 6))
    assert first == again
    assert first["reward"] != other["reward"]


def test_metrics_are_means_over_the_steps_of_all_robots(stand):
    training, told = Training(small_training(stand)), []
    note = training._note
    training._note = lambda collected: (told.append(training._vec_env.last), note(collected))[1]
    iteration = training.step()
    assert len(told) == TINY.steps
    assert iteration.steps == TINY.steps * 8
    metrics = iteration.metrics
    assert metrics["reward"] == pytest.approx(np.mean([step.reward for step in told]) * 50, rel=1e-5)
    parts = sum(value for name, value in metrics.items() if name.startswith("reward/"))
    assert metrics["reward"] == pytest.approx(parts, rel=1e-4)
    assert metrics["body_error_mm"] == pytest.approx(np.mean([step.body_error_m for step in told]) * 1e3, rel=1e-5)
    assert metrics["failures_per_s"] == pytest.approx(np.mean([step.terminated for step in told]) * 50)
    assert set(iteration.seconds) == {"physics", "terms", "policy", "update", "trial", "all"}
    shares = [value for name, value in iteration.seconds.items() if name != "all"]
    assert min(shares) >= 0
    assert sum(shares) == pytest.approx(iteration.seconds["all"])


def test_learning_begins_with_the_controller_and_the_critic(stand):
    """First outputs are near 0, and while the critic learns alone the actor stays as it is."""
    training = Training(small_training(stand))
    observed = training._vec_env.get_observations()["actor"]
    with torch.no_grad():
        assert network_of(actor_of(training))(observed).abs().max() < 0.05
    before, rate = actor_of(training), TINY.learning_rate
    critic = next(iter(training._ppo.critic.mlp.parameters()))
    critic_before = critic.clone()
    metrics = training.step().metrics
    assert metrics["learning_rate"] == rate
    after = actor_of(training)
    assert all(torch.equal(after[name], before[name]) for name in before if name.startswith("mlp"))
    assert not torch.equal(critic, critic_before)
    training.step()
    assert not torch.equal(actor_of(training)["mlp.0.weight"], before["mlp.0.weight"])


def test_the_curriculum_drives_the_environment(stand):
    training = Training(small_training(stand, difficulty=0.03))
    levels = []
    for _ in range(3):
        levels.append(training.step().metrics["level"])
        assert training.task.environment.difficulty.push == levels[-1]
    assert levels == pytest.approx([0.0, 0.02, 0.03])  # a robot that stands does not fall in half a second


def test_the_policy_that_does_best_in_a_trial_is_kept(stand, monkeypatch):
    scores = iter([Trial(0.5, 0.6, 0.1), Trial(0.4, 0.9, 0.5), Trial(1.0, 1.0, 0.02)])
    monkeypatch.setattr("haloid.skills.training.learning.trial", lambda *_: next(scores))
    training = Training(small_training(stand))
    training._try()
    assert training.best.score == pytest.approx(1.0)
    first = training.best.actor
    training._try()
    assert training.best.actor is first  # 0.8 is less
    assert training._try() == {"trial/success": 1.0, "trial/survival": 1.0, "trial/body_error_mm": 20.0}
    assert training.best.score == pytest.approx(1.98)
    marked = {name: torch.full_like(value, 0.25) for name, value in training.best.actor.items()}
    training.best = Best(1.98, marked)
    policy = training.policy("run")
    assert all((parameter == 0.25).all() for parameter in policy.network.parameters())
    assert policy.facts.run == "run"


def test_the_untrained_policy_is_tried_first(stand):
    training = Training(small_training(stand))
    before = actor_of(training)
    training.step()
    for name, value in before.items():
        if name.startswith("mlp"):
            assert torch.equal(training.best.actor[name], value)


def test_a_warm_start_begins_with_the_others_networks(stand):
    source = Training(small_training(stand, seed=1))
    source.step()
    source.step()
    state = source.state()["ppo"]
    target = Training(small_training(stand, seed=2))
    target.warm_start(state["actor_state_dict"], state["critic_state_dict"])
    for name, value in actor_of(source).items():
        assert torch.equal(actor_of(target)[name], value)


@pytest.mark.parametrize("other", [{"learn_arms": True}, {"state_estimation": True}, {"actions": "mjlab"}])
def test_a_warm_start_of_another_task_is_refused(stand, other):
    state = Training(small_training(stand)).state()["ppo"]
    with pytest.raises(HaloidError) as refusal:
        Training(small_training(stand, **other)).warm_start(state["actor_state_dict"], state["critic_state_dict"])
    assert_words(str(refusal.value), "the warm start does not fit this task: size mismatch for", "torch.Size")
    assert_words(str(refusal.value), "same action mode, state estimation, history, learned joints and layer widths")


def test_a_diverged_simulation_does_not_stop_learning(stand):
    training, told = Training(small_training(stand)), []
    training.step()
    training.task.environment.on_diverged = told.append
    training.task.environment.simulation.qvel[2, 8] = np.nan
    metrics = training.step().metrics
    assert (metrics["diverged"], len(told)) == (1.0, 1)
    assert metrics["ends_per_s/diverged"] == pytest.approx(50 / (8 * TINY.steps))
    assert all(np.isfinite(value) for value in metrics.values())
    assert training.step().metrics["ends_per_s/diverged"] == 0.0


def test_networks_that_became_nan_are_told(stand):
    training = Training(small_training(stand))
    with torch.no_grad():
        next(iter(training._ppo.critic.mlp.parameters()))[0, 0] = np.nan
    with pytest.raises(HaloidError) as refusal:
        training.step()
    assert_words(str(refusal.value), "became NaN in iteration 1", "The last checkpoint is sound")


def test_the_critic_keeps_its_own_rate_while_the_actors_follows_the_divergence(stand):
    ppo = replace(TINY, critic_first=0, learning_rate=1e-3, critic_learning_rate=7e-4, desired_kl=1e-9)
    training = Training(small_training(stand, ppo=ppo))
    before = [value.clone() for value in training._ppo.critic.parameters()]
    assert training.step().metrics["learning_rate"] < 1e-3
    actor, critic = training._ppo.optimizer.param_groups
    assert actor["lr"] < 1e-3 and critic["lr"] == 7e-4
    assert any(not torch.equal(old, new) for old, new in zip(before, training._ppo.critic.parameters(), strict=True))


def test_each_action_mode_has_its_learner():
    assert TrainingConfig(TaskConfig(("stand",))).learner == cpu_ppo()
    assert TrainingConfig(TaskConfig(("stand",), actions="mjlab")).learner == mjlab_ppo()
    assert TrainingConfig(TaskConfig(("stand",), actions="controller")).rounds == 0
    assert TrainingConfig(TaskConfig(("stand",)), TINY).learner == TINY


def test_several_motions_in_one_policy(stand, tmp_path: Path):
    config = small_training(stand)
    task = TaskConfig((stand, stand), robots=8, threads=1)
    training = Training(TrainingConfig(task, config.ppo, threads=1))
    assert np.isfinite(training.step().metrics["reward"])
    assert training.policy("run").facts.first_frames == (0, 30)


def test_a_policy_with_a_history_is_run_as_it_was_trained(stand, tmp_path):
    """The network sees in a run of its file what it saw in training: without noise both give the same action."""
    from haloid.skills.evaluation.runs import EvaluationConfig, driven_by, roll_out
    from haloid.skills.policies.deployed import DeployedPolicy
    from haloid.skills.policies.export import export_onnx

    training = Training(small_training(stand, history=3, noise=0.0, randomisation="none", robots=1))
    for parameter in training._ppo.actor.mlp.parameters():
        parameter.data.uniform_(-0.1, 0.1)
    export_onnx(training.policy("run"), tmp_path / "policy.onnx")
    deployed = DeployedPolicy(tmp_path / "policy.onnx")
    assert deployed.facts.history == 3
    robot = driven_by(deployed, training.task.robot)
    config = EvaluationConfig(starts=1, disturbance=0.0, noise=0.0, threads=1)
    (run,) = roll_out(deployed, robot, deployed.reference(robot), config)

    environment = training.task.environment
    environment.difficulty = Difficulty(reset=0.0, push=0.0, noise=0.0, randomisation=0.0)
    environment.simulation.put(np.array([0]), run.qpos[:1], np.zeros((1, 35)))
    environment.reset(np.array([0]), np.array([0]))
    environment.simulation.qpos[:] = run.qpos[:1]
    environment.simulation.sense()
    seen = environment.observations()[0]
    assert seen.shape == run.observation[:1].shape
    for row in range(4):
        np.testing.assert_allclose(seen, run.observation[row : row + 1], atol=1e-4)
        environment.step(run.action[row : row + 1])
        seen = environment.observations()[0]
