"""A delta model's file: the same network back, ONNX that agrees, and a refusal of everything it is not for."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
pytest.importorskip("mjbatch")

import onnxruntime
import torch
from tests.gap.delta.known_gap import known_network, recorded_with

from haloid.errors import HaloidError
from haloid.gap.delta.features import width
from haloid.gap.delta.files import DeltaModel, check_delta_fits, delta_facts, export_onnx, load_delta, save_delta
from haloid.gap.delta.learn import correction_of
from haloid.gap.delta.residual import DeltaDynamics, DynamicsConfig, StateResidual, fit_dynamics, moved, residual
from haloid.gap.replays.simulator import States
from haloid.skills.task.robot import tracked_robot


@pytest.fixture(scope="module")
def model(robot) -> DeltaModel:
    facts = delta_facts(robot, "action", "fast", robot.joint_names, ("squat",), 100)
    return DeltaModel(facts, known_network(robot))


def test_the_file_gives_the_model_back_and_onnx_agrees(model, robot, tmp_path: Path):
    again = load_delta(save_delta(model, tmp_path).parent)
    seen = torch.randn(7, width(len(robot.joint_names)))
    assert again.facts == model.facts
    assert torch.equal(again.network(seen), model.network(seen))
    session = onnxruntime.InferenceSession(str(export_onnx(model, tmp_path / "delta.onnx")))
    (answer,) = session.run(None, {"features": seen.numpy()})
    assert np.asarray(answer) == pytest.approx(model.network(seen).detach().numpy(), abs=1e-5)
    check_delta_fits(again, robot, tmp_path)


def test_another_simulator_is_refused(model, robot):
    heavier = tracked_robot()
    heavier.model.body_mass[3] += 0.1
    with pytest.raises(HaloidError, match="corrects another simulator than g1"):
        check_delta_fits(model, heavier, Path("delta.pt"))
    other = DeltaModel(replace(model.facts, joint_names=("hip", *robot.joint_names[1:])), model.network)
    with pytest.raises(HaloidError, match="their joints differ in hip, left_hip_pitch_joint"):
        check_delta_fits(other, robot, Path("delta.pt"))


def test_what_is_not_a_delta_model_is_refused(tmp_path: Path):
    with pytest.raises(HaloidError, match="does not exist"):
        load_delta(tmp_path / "nothing.pt")
    (tmp_path / "delta.pt").write_bytes(b"not torch")
    with pytest.raises(HaloidError, match=r"is not a delta model: .* Expected the delta.pt that haloid delta train"):
        load_delta(tmp_path)


def test_a_residual_takes_a_state_to_another_and_back(robot):
    random = np.random.default_rng(0)
    qpos, qvel = random.normal(size=(2, 4, robot.model.nq)), random.normal(size=(2, 4, robot.model.nv))
    qpos[..., 3:7] /= np.linalg.norm(qpos[..., 3:7], axis=-1, keepdims=True)
    shift = residual(qpos[1], qvel[1], qpos[0], qvel[0])
    back = moved(qpos[0], qvel[0], qpos[0, :, 7:], shift)
    back.qpos[:, 3:7] *= np.sign((back.qpos[:, 3:7] * qpos[1, :, 3:7]).sum(axis=1, keepdims=True))
    assert back.qpos == pytest.approx(qpos[1], abs=1e-9)
    assert back.qvel == pytest.approx(qvel[1], abs=1e-9)


@pytest.mark.slow
def test_delta_dynamics_explains_single_steps_of_a_known_gap(robot, model, tmp_path: Path):
    data = recorded_with(model.network, robot)
    network = fit_dynamics(robot, data, DynamicsConfig(transitions=400, rounds=60, threads=1))
    facts = replace(model.facts, kind="dynamics", method="dynamics")
    again = correction_of(load_delta(save_delta(DeltaModel(facts, network), tmp_path)))
    assert isinstance(again, DeltaDynamics)
    assert isinstance(again.network, StateResidual)
    rows = data.transitions()[::7]
    from haloid.gap.replays.simulator import Simulator

    states = States(data.qpos[rows], data.qvel[rows], data.held_rad[rows])
    reached = Simulator(robot, len(rows), threads=1).after(states, data.target_rad[rows])
    off = np.abs(reached[1] - data.qvel[rows + 1]).mean()
    corrected = again.reached(states, data.target_rad[rows], *reached)
    assert np.abs(corrected.qvel - data.qvel[rows + 1]).mean() < 0.7 * off
