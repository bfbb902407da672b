"""The operator in use: between a policy and its servos, and in a command that is distorted beforehand."""

from dataclasses import replace

import numpy as np
import pytest
from tests.gap.tiny_arm import RATE_HZ, SOFTNESS, gains, tiny_dataset

pytest.importorskip("torch")

import torch

from haloid.errors import HaloidError
from haloid.gap.crowd import BaseModels
from haloid.gap.dataset.pairs import Dataset
from haloid.gap.dataset.twin import replicas
from haloid.gap.operator.compensator import compensated
from haloid.gap.operator.model import Operator
from haloid.gap.operator.networks import NetworkConfig
from haloid.gap.operator.transform import OperatorTransform
from haloid.skills.task.transforms import Now


class Truth(torch.nn.Module):
    """The delta action of an arm whose servos are softer, in closed form."""

    config = NetworkConfig("mlp")

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return (SOFTNESS - 1) * (observation[:, :2] - observation[:, 2:4])


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return tiny_dataset(tmp_path_factory.mktemp("arm"), sequences=4)


def test_a_compensated_command_makes_the_real_arm_follow(dataset: Dataset):
    reference = np.stack([0.5 * (1 - np.cos(np.linspace(0, np.pi, 60)))[:, None] * [[0.6, -0.8]]] * 2)
    payload = np.array([0.0, 1.0])
    real = BaseModels(replace(dataset.base, gains=gains(SOFTNESS)))
    errors = {}
    for name, network in (("simulator", None), ("operator", Truth())):
        command = compensated(reference, payload, RATE_HZ, BaseModels(dataset.base), network)  # pyright: ignore[reportArgumentType]
        done = replicas(real, command, payload, RATE_HZ, reference[:, 0], np.zeros((2, 2)))
        errors[name] = np.mean([np.abs(one.q_rad - reference[i])[20:] for i, one in enumerate(done)])
    plain = replicas(real, reference, payload, RATE_HZ, reference[:, 0], np.zeros((2, 2)))
    errors["plain"] = np.mean([np.abs(one.q_rad - reference[i])[20:] for i, one in enumerate(plain)])
    assert errors["operator"] < 0.3 * errors["simulator"] < 0.3 * errors["plain"]


def test_the_plug_in_corrects_its_joints_and_forgets_at_the_start_of_an_episode(dataset: Dataset):
    operator = Operator(Truth(), dataset.base, RATE_HZ, (0.0, 1.0))  # pyright: ignore[reportArgumentType]
    transform = OperatorTransform(operator, ("waist", "elbow", "shoulder"))
    random = np.random.default_rng(0)

    def now(step: int) -> Now:
        return Now(
            qpos=random.standard_normal((3, 10)),
            qvel=random.standard_normal((3, 9)),
            held_rad=np.zeros((3, 3)),
            episode_step=np.array([step, 0, step]),
            timestep_s=0.005,
            random=random,
        )

    for step in range(3):
        at, target = now(step), random.standard_normal((3, 3))
        (first, one), (second, three) = transform([(target, 1), (target, 3)], at)
        q = at.qpos[:, 7:]
        wanted = target + (SOFTNESS - 1) * (target - q) * [0, 1, 1]
        np.testing.assert_allclose(first, wanted, atol=1e-6)
        np.testing.assert_allclose(second, wanted, atol=1e-6)
        assert (one, three) == (1, 3)
    memory = transform._memory
    assert (
        memory is not None and np.ptp(memory.q_rad[1], axis=0).max() == 0 and np.ptp(memory.q_rad[0], axis=0).min() > 0
    )


def test_a_robot_without_its_joints_is_refused(dataset: Dataset):
    operator = Operator(Truth(), dataset.base, RATE_HZ, (0.0, 1.0))  # pyright: ignore[reportArgumentType]
    with pytest.raises(
        HaloidError, match="the operator corrects shoulder, which the robot does not have; it has elbow"
    ):
        OperatorTransform(operator, ("elbow",))
