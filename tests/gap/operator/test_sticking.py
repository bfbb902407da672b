"""The load on a joint is MuJoCo's, an arm that lags, sags and sticks is found from two logs, and what does not help the
logs left out is not done."""

from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from tests.gap.tiny_arm import RATE_HZ, gains, tiny_dataset

pytest.importorskip("torch")

import torch

from haloid.gap.crowd import BaseModels, payload_links
from haloid.gap.dataset.generate import arms_base
from haloid.gap.dataset.pairs import Dataset, Motion, Pair
from haloid.gap.operator.corrected import corrected_runs
from haloid.gap.operator.few_logs import GAINS, _kept, fit_sticking
from haloid.gap.operator.frames import build_frames
from haloid.gap.operator.load import Load
from haloid.gap.operator.model import observation_of, read_operator
from haloid.gap.operator.networks import NetworkConfig
from haloid.gap.operator.run_folder import train_operator
from haloid.gap.operator.train import TrainConfig

CONFIG = NetworkConfig("sticking", history=3)
LAG, SAG, STICK = np.array([0.3, 0.2]), -0.02, 0.03


def weights_nm(models: BaseModels, q_rad: np.ndarray, payload_kg: float) -> np.ndarray:
    """By MuJoCo's recursion."""
    model = models.of(payload_kg, RATE_HZ)
    data = mujoco.MjData(model)
    joints = [model.joint(name) for name in models.base.joint_names]
    data.qpos[[joint.qposadr[0] for joint in joints]] = q_rad
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    found = np.zeros(model.nv)
    mujoco.mj_rne(model, data, 0, found)
    return found[[joint.dofadr[0] for joint in joints]]


@pytest.mark.parametrize("payload_kg", [0.0, 2.0])
def test_the_load_is_mujocos(payload_kg: float):
    models = BaseModels(arms_base())
    names = models.base.joint_names
    load = Load(len(names)).of(models.of(0.0, RATE_HZ), names, payload_links(models.base.robot))
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (3, len(names)))
    found = load(torch.as_tensor(q, dtype=torch.float32), torch.full((3,), payload_kg)).numpy()
    wanted = [weights_nm(models, one, payload_kg) for one in q]
    assert np.abs(wanted).max() > 3.0
    np.testing.assert_allclose(found, wanted, atol=1e-4)


XML = """<mujoco><option gravity="0 1 -9"/><worldbody><body pos="0 .1 .2" euler="20 0 30">
  <joint name="slide" type="slide" axis="1 0 1" pos=".1 0 0"/><joint name="turn" axis="0 1 0" pos="0 0 .1"/>
  <geom size=".1" mass="2" pos=".1 .2 0"/>
  <body pos="0 0 .3"><geom size=".1" mass=".5"/><body name="hand" pos=".2 0 0"><joint name="wrist" axis="1 1 0"/>
  <geom size=".1" mass="1" pos="0 .1 .1"/></body></body></body></worldbody></mujoco>"""


def test_the_load_of_slides_and_of_links_with_two_joints():
    model = mujoco.MjModel.from_xml_string(XML)
    data, q = mujoco.MjData(model), np.array([0.2, -0.7, 0.9])
    names = ("wrist", "slide", "turn")
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    load = Load(3).of(model, names, ("hand",))
    found = load(torch.tensor(q[[2, 0, 1]], dtype=torch.float32)[None], torch.zeros(1))[0]
    np.testing.assert_allclose(found, data.qfrc_bias[[2, 0, 1]], atol=1e-4)


@pytest.fixture(scope="module")
def sticky(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Logs of an arm that is led by known numbers; its model follows its targets almost at once."""
    easy = tiny_dataset(tmp_path_factory.mktemp("arm"), sequences=1)
    base = replace(easy.base, gains=gains(20.0))
    models = BaseModels(base)
    time_s = np.arange(400) / RATE_HZ
    pairs = []
    for number, pulse in enumerate((2.0, 2.7, 3.5)):
        target = 0.5 * np.stack([np.sin(pulse * time_s), np.cos(0.8 * pulse * time_s)], axis=1)
        q = np.repeat(target[:1], len(target), axis=0)
        for row in range(len(target) - 1):
            past = target[np.maximum(row - np.arange(3), 0)]
            led = past[0] + LAG @ (past[1:] - past[0]) + SAG * weights_nm(models, q[row], 0.0)
            q[row + 1] = np.clip(q[row], led - STICK, led + STICK)
        dq = np.gradient(q, 1 / RATE_HZ, axis=0)
        real = Motion(q, dq, 0 * q, 0 * q)
        pairs.append(Pair(str(number), 0, "log", RATE_HZ, 0.0, np.ones(2, bool), target, real, real, 0 * q))
    return Dataset(base, tuple(pairs))


def test_an_arm_that_lags_sags_and_sticks_is_found(sticky: Dataset):
    models = BaseModels(sticky.base)
    frames = build_frames(models, sticky.pairs[:2])
    network = fit_sticking(frames, sticky.pairs[:2], models, CONFIG)
    np.testing.assert_array_equal(network.gain, 1.0)
    np.testing.assert_allclose(network.stick, STICK, atol=0.006)
    np.testing.assert_allclose(network.sag, SAG, atol=0.006)
    unseen = sticky.pairs[2:]
    errors = [
        np.abs(corrected_runs(one, models, unseen)[0] - unseen[0].real.q_rad).mean(axis=0) for one in (None, network)
    ]
    assert (errors[1] < 0.3 * errors[0]).all()


def test_a_correction_that_does_not_carry_over_is_not_made():
    none, better, worse = 0.02, 0.01, 0.03
    errors = np.full((4, 1 + 2 * len(GAINS), 4), worse)
    errors[:, 0] = none
    errors[:, 1, 0] = better  # all of it, with its stick
    errors[:, 1 + len(GAINS) + 1, 1] = better  # a half of it, without
    errors[:2, 1, 2] = better  # better for two groups, worse for two
    gain, sticks = _kept(errors)
    np.testing.assert_array_equal(gain, [1.0, GAINS[1], 0.0, 0.0])
    np.testing.assert_array_equal(sticks[:2], [1.0, 0.0])


def test_the_files_say_the_same(sticky: Dataset, tmp_path: Path):
    onnxruntime = pytest.importorskip("onnxruntime")
    trained = train_operator(sticky, TrainConfig(network=CONFIG), tmp_path)
    again = read_operator(tmp_path)
    rng = np.random.default_rng(0)
    q, dq, target = (0.3 * rng.standard_normal((5, 3, 2)) for _ in range(3))
    known = observation_of(q, dq, target, rng.uniform(0, 1, 5))
    with torch.no_grad():
        wanted = trained.network(torch.as_tensor(known)).numpy()
        np.testing.assert_array_equal(again.network(torch.as_tensor(known)), wanted)
    session = onnxruntime.InferenceSession(str(tmp_path / "operator.onnx"), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"observation": known})
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert np.abs(wanted).max() > 0.01
