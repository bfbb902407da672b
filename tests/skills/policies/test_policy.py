"""Policies as files."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from tests.recordings.words import assert_words

pytest.importorskip("torch")

import torch
from tests.skills.small_policies import untrained_policy

from haloid.errors import HaloidError
from haloid.skills.policies import networks
from haloid.skills.policies.networks import Mlp, Network, network_of
from haloid.skills.policies.policy import load_policy, save_policy


@pytest.mark.parametrize("mode", ["mjlab", "feedforward", "controller"])
def test_a_policy_comes_back_as_it_was(robot, motion, tmp_path: Path, mode):
    policy = untrained_policy(robot, [motion], ["lively"], mode, state_estimation=mode == "mjlab", seed=1)
    save_policy(policy, tmp_path / "policy.pt")
    for path in (tmp_path, tmp_path / "policy.pt"):
        found = load_policy(path)
        assert found.facts == policy.facts
        assert found.frames == 180
        observation = torch.randn(7, policy.observation_width)
        time_step = torch.arange(7) * 20
        assert torch.equal(found(observation, time_step), policy(observation, time_step))
        for name in policy.reference.__dataclass_fields__:
            np.testing.assert_array_equal(getattr(found.reference, name), getattr(policy.reference, name))


def test_what_a_policy_says_of_itself(robot, motion):
    facts = untrained_policy(robot, [motion, motion], ["a", "b"]).facts
    assert (facts.motions, facts.first_frames) == (("a", "b"), (0, 180))
    assert facts.joint_names == robot.joint_names
    assert facts.action_scale_rad == tuple(robot.action_scale_rad)
    assert (facts.anchor, facts.body_names[0]) == ("torso_link", "pelvis")
    assert "base_lin_vel" not in facts.observation_names


def test_the_network_is_rsl_rls_actor():
    pytest.importorskip("rsl_rl")
    from rsl_rl.models import MLPModel
    from tensordict import TensorDict

    observed = TensorDict({"actor": torch.randn(64, 10) * 3 + 1}, batch_size=[64])
    actor = MLPModel(
        observed,
        {"actor": ["actor"]},
        "actor",
        4,
        hidden_dims=[16, 8],
        activation="elu",
        obs_normalization=True,
        distribution_cfg={"class_name": "GaussianDistribution", "init_std": 1.0, "std_type": "scalar"},
    )
    actor.train()
    actor.update_normalization(observed)
    actor.eval()
    with torch.no_grad():
        np.testing.assert_allclose(network_of(actor.state_dict())(observed["actor"]), actor(observed), atol=1e-6)


def test_making_a_policy_takes_nothing_from_a_trainings_chance(robot, motion):
    before = torch.get_rng_state()
    untrained_policy(robot, [motion], ["lively"], seed=1)
    assert torch.equal(torch.get_rng_state(), before)


class Foreign:
    """Touches a file when it is unpickled by those who run what they read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_files_that_are_no_policies_are_refused_and_nothing_in_them_is_run(tmp_path: Path):
    with pytest.raises(HaloidError) as refusal:
        load_policy(tmp_path)
    assert_words(str(refusal.value), "policy.pt cannot be read", "no such file", "Give the folder of a training")

    file = tmp_path / "policy.pt"
    trap = tmp_path / "touched"
    for write in (torch.save, lambda value, path: path.write_bytes(pickle.dumps(value, protocol=2))):
        write({"format": "haloid-policy-4", "facts": Foreign(trap)}, file)
        with pytest.raises(HaloidError, match="is not a policy of this package"):
            load_policy(file)
        assert not trap.exists()

    torch.save({"format": "other"}, file)
    with pytest.raises(HaloidError) as refusal:
        load_policy(file)
    assert_words(str(refusal.value), 'its format is not "haloid-policy-4"', "haloid train writes")


def test_a_damaged_policy_is_refused(robot, motion, tmp_path: Path):
    file = tmp_path / "policy.pt"
    save_policy(untrained_policy(robot, [motion], ["lively"]), file)
    document = torch.load(file, weights_only=True)
    document["configuration"] = document["configuration"].replace("64", "7")
    torch.save(document, file)
    with pytest.raises(HaloidError, match="is not a policy of this package"):
        load_policy(file)
    file.write_bytes(file.read_bytes()[:5000])
    with pytest.raises(HaloidError, match="is not a policy of this package"):
        load_policy(file)


class Gated(Network):
    """Another architecture: two linear layers, one of which opens and closes the other."""

    architecture = "gated"

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs=outputs)
        self.value, self.gate = torch.nn.Linear(inputs, outputs), torch.nn.Linear(inputs, outputs)

    def answer(self, normalised: torch.Tensor) -> torch.Tensor:
        return self.value(normalised) * torch.sigmoid(self.gate(normalised))


def test_another_architecture_is_one_class_and_one_line(robot, motion, tmp_path: Path, monkeypatch):
    """Saved, read and, where onnx is there, exported; without its line in the registry it is named and refused."""
    policy = untrained_policy(robot, [motion], ["lively"])
    policy.network = Gated(policy.observation_width, 29).eval()
    save_policy(policy, tmp_path / "policy.pt")
    with pytest.raises(HaloidError) as refusal:
        load_policy(tmp_path)
    assert_words(str(refusal.value), "policy.pt cannot be used: its network is «gated»", "this version knows mlp")
    monkeypatch.setitem(networks.ARCHITECTURES, "gated", Gated)
    found = load_policy(tmp_path)
    observation = torch.randn(7, policy.observation_width)
    assert torch.equal(found(observation, torch.arange(7)), policy(observation, torch.arange(7)))
    pytest.importorskip("onnxruntime")
    from haloid.skills.policies.export import export_onnx

    export_onnx(found, tmp_path / "policy.onnx")


def test_a_configuration_that_does_not_fit_says_so(robot, motion, tmp_path: Path):
    file = tmp_path / "policy.pt"
    save_policy(untrained_policy(robot, [motion], ["lively"]), file)
    document = torch.load(file, weights_only=True)
    document["configuration"] = '{"inputs": 154, "depth": 3}'
    torch.save(document, file)
    with pytest.raises(HaloidError, match="its configuration does not fit the network «mlp»: missing a required"):
        load_policy(file)


def test_a_policy_of_the_format_before_is_still_read(robot, motion, tmp_path: Path):
    policy, file = untrained_policy(robot, [motion], ["lively"], seed=1), tmp_path / "policy.pt"
    save_policy(policy, file)
    document = torch.load(file, weights_only=True)
    del document["architecture"], document["configuration"]
    document |= {"format": "haloid-policy-3", "widths": [policy.observation_width, 64, 32, 29]}
    torch.save(document, file)
    found = load_policy(file)
    assert isinstance(found.network, Mlp)
    observation = torch.randn(7, policy.observation_width)
    assert torch.equal(found(observation, torch.arange(7)), policy(observation, torch.arange(7)))
