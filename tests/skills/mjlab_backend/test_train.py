"""A training with mjlab, from an identified robot to a policy that runs on both sides."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mjlab")
pytest.importorskip("mjbatch")

import torch
from tests.skills.mjlab_scene import ROBOTS, MjlabScene, tensor

from haloid.errors import HaloidError
from haloid.motions.load import load_motion
from haloid.robots.inertia import perturb, read_links
from haloid.robots.load import load_spec
from haloid.robots.patch import Patch, write_patch
from haloid.skills.mjlab_backend.task import tracking_env_cfg
from haloid.skills.mjlab_backend.train import MjlabOutcome, env_cfg_of, resume_with_mjlab, train_with_mjlab
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.policies.export import export_onnx
from haloid.skills.policies.policy import load_policy
from haloid.skills.task.difficulty import Difficulty
from haloid.skills.task.task import FEEDFORWARD_ACTION_RATE, TaskConfig
from haloid.skills.training.learning import Training, TrainingConfig
from haloid.skills.training.ppo import mjlab_ppo
from haloid.trajectories.motion_export import write_motion

pytestmark = pytest.mark.slow

TINY = replace(mjlab_ppo(), hidden=(16, 16), steps=4, epochs=1, minibatches=2)


@pytest.fixture(scope="module")
def patch_file(tmp_path_factory) -> Path:
    torso = perturb(read_links(load_spec("g1"))["torso_link"], 6.0, (0.01, 0.02, 0.05))
    file = tmp_path_factory.mktemp("identified") / "patch.json"
    write_patch(Patch("g1", {"torso_link": torso}, {"left_knee_joint": {"armature": 0.03}}), file)
    return file


def config(**task) -> TrainingConfig:
    settings = {"motions": ("stand",), "actions": "mjlab", "state_estimation": True, "robots": ROBOTS} | task
    return TrainingConfig(TaskConfig(**settings), TINY, iterations=2)


@pytest.fixture(scope="module")
def trained(patch_file, tmp_path_factory) -> MjlabOutcome:
    folder = tmp_path_factory.mktemp("trained")
    return train_with_mjlab(config(model=str(patch_file), randomisation="wide"), folder)


def test_a_training_begins_with_what_the_curriculum_ends_with():
    full = env_cfg_of(config(randomisation="wide"), Path("stand.npz"))
    expected = tracking_env_cfg(motion_file="stand.npz", randomisation="wide", difficulty=Difficulty())
    assert full.commands["motion"] == expected.commands["motion"]
    assert full.observations["actor"] == expected.observations["actor"]
    assert full.terminations == expected.terminations
    assert full.events["torso_mass"].params == expected.events["torso_mass"].params
    assert full.rewards["action_rate_l2"].weight == expected.rewards["action_rate_l2"].weight == -0.1

    quiet = env_cfg_of(replace(config(noise=0.5, actions="feedforward"), difficulty=0.0), Path("stand.npz"))
    assert quiet.observations["actor"].terms["joint_vel"].noise.n_max == 0.25
    assert "push_robot" not in quiet.events
    assert quiet.rewards["action_rate_l2"].weight == FEEDFORWARD_ACTION_RATE
    (low, high), (full_low, full_high) = (cfg.events["foot_friction"].params["ranges"] for cfg in (quiet, full))
    assert high - low == pytest.approx(0.1 * (full_high - full_low))


def test_a_delay_is_refused(tmp_path):
    with pytest.raises(HaloidError, match=r"a delay of 0\.005 s: mjlab's task has none"):
        train_with_mjlab(config(delay_s=0.005), tmp_path)


def test_a_training_leaves_checkpoints_books_and_a_policy(trained):
    assert trained.checkpoint.name == "model_1.pt"
    assert (trained.run / "params" / "env.yaml").read_text().count("torso_link") > 1
    assert list(trained.run.glob("events.out.tfevents.*"))
    assert trained.policy.is_file() and trained.policy.with_name("policy.pt").is_file()


def test_the_policy_file_acts_as_the_checkpoints_network(trained, robot):
    """The network, written out: normalise, then layers with ELU between them."""
    actor = torch.load(trained.checkpoint, weights_only=False)["actor_state_dict"]
    policy = DeployedPolicy(trained.policy)
    observation = np.random.default_rng(0).normal(size=(5, 160)).astype(np.float32)
    x = (tensor(observation) - actor["obs_normalizer._mean"]) / (actor["obs_normalizer._std"] + 1e-2)
    for layer in (0, 2, 4):
        x = x @ actor[f"mlp.{layer}.weight"].T + actor[f"mlp.{layer}.bias"]
        x = torch.nn.functional.elu(x) if layer < 4 else x
    np.testing.assert_allclose(policy.actions(observation, np.zeros(5)), x, atol=1e-5)
    np.testing.assert_allclose(policy.facts.action_scale_rad, robot.action_scale_rad, rtol=1e-6)
    np.testing.assert_allclose(policy.facts.kp, robot.kp, rtol=1e-6)
    np.testing.assert_allclose(policy.facts.default_joint_pos_rad, robot.default_joint_pos_rad, atol=1e-7)
    assert policy.facts.joint_names == robot.joint_names


def test_a_stopped_training_goes_on_from_its_last_checkpoint(trained):
    folder = trained.policy.parent
    with pytest.raises(
        HaloidError, match=r"has finished its 2 iterations\. Ask for more: haloid train --resume .* --iterations 4"
    ):
        resume_with_mjlab(folder)
    more = resume_with_mjlab(folder, iterations=3)
    assert more.checkpoint.name == "model_2.pt"  # mjlab names runs by the second, so theirs may be the same
    assert torch.load(more.checkpoint, weights_only=False)["iter"] == 2


def test_the_feedforward_mode_trains_in_mjlab_too(patch_file, tmp_path):
    """The network corrects legs and waist; the controller, of the identified robot, goes into the policy."""
    outcome = train_with_mjlab(config(actions="feedforward", model=str(patch_file), randomisation="none"), tmp_path)
    policy = load_policy(outcome.policy.with_name("policy.pt"))
    assert policy.facts.action_mode == "feedforward"
    assert policy.actions.outputs == 15
    loaded = Training(config(actions="feedforward", model=str(patch_file))).task.actions
    torch.testing.assert_close(policy.actions.target, loaded.target)


def test_a_policy_of_the_cpu_acts_the_same_in_mjlab(tmp_path):
    """One robot on each side, no noise: the ONNX file drives both along the same path for a while."""
    training = Training(replace(config(actions="controller", randomisation="none", substeps=4), ppo=None))
    export_onnx(training.policy("test"), tmp_path / "policy.onnx")
    policy, environment = DeployedPolicy(tmp_path / "policy.onnx"), training.task.environment
    environment.difficulty = replace(environment.difficulty, reset=0.0, push=0.0, noise=0.0)
    environment.reset(np.arange(ROBOTS), np.zeros(ROBOTS, dtype=int))

    cfg = tracking_env_cfg(randomisation="none", play=True)
    cfg.commands["motion"].joint_position_range = (0.0, 0.0)
    scene = MjlabScene(cfg, write_motion(load_motion("stand"), tmp_path / "stand.npz"), ROBOTS)
    theirs = scene.env.observation_manager.compute()["actor"].numpy()
    for _ in range(100):
        ours, _ = environment.observations()
        environment.step(policy.actions(ours, environment.time_step))
        observed, *_ = scene.env.step(tensor(policy.actions(theirs, scene.command.time_steps.numpy())))
        theirs = observed["actor"].numpy()
    assert environment.time_step[0] == scene.command.time_steps[0] == 101
    qpos = scene.env.sim.data.qpos.clone()
    qpos[:, :3] -= scene.env.scene.env_origins
    assert qpos[0, 2] > 0.7
    np.testing.assert_allclose(environment.simulation.qpos.copy()[0], qpos[0], atol=0.005)


def test_what_mjlab_cannot_do_is_refused(tmp_path):
    with pytest.raises(HaloidError, match="--gpu-ids asks for 0 7, and torch finds no GPU on this machine"):
        train_with_mjlab(config(), tmp_path, gpu_ids=(0, 7))
    with pytest.raises(HaloidError, match="mjlab's tracking task follows one motion; found 2"):
        train_with_mjlab(config(motions=("stand", "squat")), tmp_path)
    with pytest.raises(HaloidError, match=r"holds no mjlab training: it has no mjlab/\*/model_\*.pt"):
        resume_with_mjlab(tmp_path)
