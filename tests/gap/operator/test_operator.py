"""The operator finds a gap that is known, is stored and resumed, and says what it is not for."""

import json
import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.gap.tiny_arm import SOFTNESS, gains, tiny_dataset
from tests.recordings.words import assert_words

pytest.importorskip("torch")

import torch

from haloid.errors import HaloidError
from haloid.gap.crowd import BaseModels
from haloid.gap.dataset.pairs import Dataset
from haloid.gap.operator import run_folder
from haloid.gap.operator.corrected import corrected_runs, mean_q_dis_rad
from haloid.gap.operator.features import LEAST_BOUND_RAD, observation_size, observe
from haloid.gap.operator.frames import Frames, build_frames, delta_labels_rad
from haloid.gap.operator.model import observation_of, read_operator, write_operator
from haloid.gap.operator.networks import PROBES, GapOperator, NetworkConfig, make_network
from haloid.gap.operator.run_folder import train_operator
from haloid.gap.operator.train import TrainConfig, Training
from haloid.robots.servos import Gains

QUICK = TrainConfig(sensor_epochs=1, label_epochs=12, iterations=15, batch=12, window_s=0.4)
TINY = replace(QUICK, sensor_epochs=1, label_epochs=2, iterations=4, batch=4)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return tiny_dataset(tmp_path_factory.mktemp("arm"))


@pytest.fixture(scope="module")
def models(dataset: Dataset) -> BaseModels:
    return BaseModels(dataset.base)


@pytest.fixture(scope="module")
def frames(dataset: Dataset, models: BaseModels) -> Frames:
    return build_frames(models, dataset.pairs)


def test_labels_are_the_known_gap(frames: Frames, models: BaseModels):
    labels = delta_labels_rad(frames, models, smallness=1e-3)
    truth = (SOFTNESS - 1) * (frames.target_rad - frames.q_rad)
    usable = frames.has_next
    assert np.sqrt(np.mean(truth[usable] ** 2)) > 0.03
    np.testing.assert_allclose(labels[usable], truth[usable], atol=0.015)
    assert not labels[~usable].any()


def test_labels_of_servos_that_saturate(tmp_path: Path):
    """A model 30 times stiffer than the robot, whose commands ask for more than all of its torque."""
    dataset = tiny_dataset(tmp_path)
    file, soft = tmp_path / "tiny.xml", dataset.base.gains
    file.write_text(file.read_text().replace("<joint ", '<joint actuatorfrcrange="-12 12" '))
    stiff = Gains({name: 30 * kp for name, kp in soft.kp.items()}, {name: 10 * kd for name, kd in soft.kd.items()})
    models = BaseModels(replace(dataset.base, gains=stiff))
    frames = build_frames(models, dataset.pairs)
    rows, missed_rad = np.flatnonzero(frames.has_next), []
    for said_rad in (np.zeros_like(frames.q_rad), delta_labels_rad(frames, models)):
        crowd = models.crowd(frames.payload_kg[rows], frames.rate_hz)
        crowd.put(frames.q_rad[rows], frames.dq_rad_s[rows])
        crowd.step(frames.heard_rad[rows] + said_rad[rows][:, None])
        missed_rad.append(np.abs(crowd.q_rad - frames.q_rad[rows + 1]).mean())
    assert missed_rad[1] < 0.15 * missed_rad[0]


@pytest.fixture(scope="module")
def trained(dataset: Dataset):
    return train_operator(dataset.of(units={0, 1, 2}), QUICK)


@pytest.mark.slow
def test_a_known_gap_is_closed_on_motions_never_seen(trained, dataset: Dataset, models: BaseModels):
    kept = dataset.of(units={3}).pairs
    before = mean_q_dis_rad(corrected_runs(None, models, kept), kept)
    after = mean_q_dis_rad(corrected_runs(trained.network, models, kept), kept)
    assert before.mean() > 0.02 and after.mean() < 0.6 * before.mean()


@pytest.mark.slow
def test_the_files_say_the_same(trained, tmp_path: Path):
    onnxruntime = pytest.importorskip("onnxruntime")
    write_operator(trained, tmp_path)
    again = read_operator(tmp_path)
    assert again.base == trained.base and again.payload_kg == (0.0, 1.0)
    rng = np.random.default_rng(0)
    q, dq, target = (rng.standard_normal((5, 4, 2)) for _ in range(3))
    payload = rng.uniform(0, 3, 5)
    known = observation_of(q, dq, target, payload)
    q, dq, target, payload = (torch.as_tensor(one, dtype=torch.float32) for one in (q, dq, target, payload))
    observation = observe(q, dq, target, payload)
    np.testing.assert_allclose(observation, known, rtol=1e-6)
    with torch.no_grad():
        wanted = trained.network(observation).numpy()
        np.testing.assert_array_equal(again.network(observation), wanted)
    session = onnxruntime.InferenceSession(str(tmp_path / "operator.onnx"), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"observation": known})
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert json.loads(session.get_modelmeta().custom_metadata_map["joint_names"]) == ["shoulder", "elbow"]


@pytest.mark.slow
def test_a_training_that_was_killed_goes_on(dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    whole = train_operator(dataset, TINY)
    monkeypatch.setattr(run_folder, "STORE_S", 0.0)

    def stop(words: str, share: float | None) -> None:
        if words.startswith("whole runs, iteration 3"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_operator(dataset, TINY, tmp_path / "parts", stop)
    said = []
    parts = train_operator(dataset, TINY, tmp_path / "parts", lambda words, share: said.append(words))
    assert "going on with runs, 2 done" in said and not any("labels" in words for words in said)
    for one, other in zip(whole.network.parameters(), parts.network.parameters(), strict=True):
        torch.testing.assert_close(one, other)
    assert not (tmp_path / "parts" / "training.pt").exists()


@pytest.mark.slow
def test_other_settings_do_not_go_on(dataset: Dataset, tmp_path: Path):
    train_operator(dataset, TINY, tmp_path)
    with pytest.raises(HaloidError) as caught:
        train_operator(dataset, replace(TINY, seed=1), tmp_path)
    assert_words(str(caught.value), "other settings (seed)", "another folder")


@pytest.mark.parametrize(("kind", "history"), [("gaponet", 1), ("gaponet", 2), ("mlp", 8), ("transformer", 6)])
def test_every_network_learns(frames: Frames, models: BaseModels, kind, history: int):
    training = Training(
        frames, models, replace(TINY, network=NetworkConfig(kind, history, payload=False), label_epochs=6)
    )
    losses = [float(words.rsplit(" ", 1)[1]) for words, _ in training.run() if words.startswith("labels")]
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize("kind", ["gaponet", "mlp", "transformer"])
def test_a_delta_action_is_at_most_twice_that_of_the_data(kind):
    network = make_network(2, NetworkConfig(kind))
    network.features.fit(torch.randn(50, observation_size(2, 4)), torch.tensor([[0.1, 0.0], [-0.2, 0.0]]))
    with torch.no_grad():
        for weights in network.parameters():
            weights.mul_(30.0)
        most = network(100 * torch.randn(50, observation_size(2, 4))).abs().amax(0)
    np.testing.assert_allclose(most, [0.4, LEAST_BOUND_RAD], rtol=0.01)


def test_the_best_network_is_kept(frames: Frames, models: BaseModels):
    training = Training(frames, models, TINY)
    for words, _ in training.run():
        if words.startswith("labels"):
            learned = [one.detach().clone() for one in training.network.parameters()]
        if words.startswith("whole runs, iteration 1 "):
            with torch.no_grad():
                for weights in training.network.parameters():
                    weights.mul_(20.0)
    for one, other in zip(training.network.parameters(), learned, strict=True):
        torch.testing.assert_close(one, other)


def test_a_run_that_is_lost_is_put_back_and_learned_from(
    frames: Frames, models: BaseModels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its own log beside
    training = Training(frames, models, TINY)
    with torch.no_grad():
        for weights in training.network.parameters():
            weights.mul_(50.0)
    training.network.features.most_rad[:] = 1e3
    runs = training._run(training._usable[:8], 15)
    runs.loss.backward()
    assert runs.times_lost > 8 and 1 < runs.loss.item() < 1e9 and runs.error > 0.1
    assert all(torch.isfinite(one.grad).all() for one in training.network.parameters() if one.grad is not None)


def test_a_simulator_that_is_not_stable_is_refused(dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    wild = replace(dataset, base=replace(dataset.base, gains=gains(1e5)))
    with pytest.raises(HaloidError) as caught:
        train_operator(wild, TINY)
    assert_words(
        str(caught.value), "is not stable under these commands", "further than 0.5 rad", "calibrate its servos"
    )


def test_a_loss_that_is_no_number_ends_the_training(frames: Frames, models: BaseModels):
    training = Training(frames, models, TINY)
    training._labels_rad[5] = torch.nan
    with pytest.raises(HaloidError, match=r"the training diverged: its loss is nan in labels, round 1\."):
        list(training.run())


def test_a_joint_is_seen_by_its_own_branch_alone():
    """What another joint did and what it would answer to probes changes neither sensors nor correction of this one."""
    network = GapOperator(3, NetworkConfig())
    torch.nn.init.normal_(list(network.trunk.parameters())[-2])  # it starts at nearly nothing
    q, dq, target = (torch.randn(1, 4, 3) for _ in range(3))
    payload = torch.ones(1)
    with torch.no_grad():
        first, sensed = (one(observe(q, dq, target, payload)) for one in (network, network.sensors))
        q[..., 1], dq[..., 1] = q[..., 1] + 0.3, dq[..., 1] - 1.0
        then, sensed_then = (one(observe(q, dq, target, payload)) for one in (network, network.sensors))
    torch.testing.assert_close(then[:, [0, 2]], first[:, [0, 2]])
    assert (then - first)[0, 1].abs() > 1e-4
    changed = (sensed_then - sensed)[0].reshape(PROBES, 2, 3).abs().amax((0, 1))
    assert changed[1] > 1e-4 and changed[0] < 1e-6 and changed[2] < 1e-6


@pytest.mark.parametrize("branch", ["joint", "both", "sensors"])
@pytest.mark.parametrize("sensors", ["change", "state"])
def test_sensors_learn_what_the_simulator_answers(frames: Frames, models: BaseModels, branch, sensors):
    config = replace(TINY, network=NetworkConfig(branch=branch, sensors=sensors), sensor_epochs=60)
    losses = []
    for words, _ in Training(frames, models, config).run():
        if not words.startswith("sensors"):
            break
        losses.append(float(words.rsplit(" ", 1)[1]))
    assert losses[-1] < 0.7 * losses[0]


def test_gaponet_has_the_papers_sizes():
    network = GapOperator(10, NetworkConfig(payload=False, branch="sensors"))
    shapes = [[tuple(one.weight.shape) for one in part if isinstance(one, torch.nn.Linear)] for part in network.parts]
    assert shapes == [
        [(128, 130), (128, 128), (400, 128)],
        [(256, 400), (256, 256), (256, 256), (160, 256)],
        [(128, 10), (128, 128), (128, 128), (160, 128)],
    ]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"history": 0}, "--history is 0; expected a number from 1 to 100"),
        ({"duration": 0}, "--duration is 0; expected a number from 1 to 1000"),
        ({"iterations": -1}, "--iterations is -1; expected"),
        ({"seed": -1}, "--seed is -1; expected"),
        ({"method": "ppo", "network": NetworkConfig("sticking")}, "--network sticking is fitted in one step"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict, words: str):
    with pytest.raises(HaloidError) as caught:
        NetworkConfig(**settings) if "history" in settings else TrainConfig(**settings)
    assert_words(str(caught.value), words)


def test_words(dataset: Dataset, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    operator = train_operator(dataset, TINY)
    with pytest.raises(HaloidError) as caught:
        operator.check(("shoulder", "wrist"), 50.0, "run.csv")
    assert_words(
        str(caught.value), "run.csv has the joints shoulder, wrist", "shoulder, elbow", "Train one for this robot"
    )
    with pytest.raises(HaloidError) as caught:
        operator.check(("shoulder", "elbow"), 100.0, "run.csv")
    assert_words(str(caught.value), "run.csv runs at 100 Hz", "trained at 50 Hz")
    with caplog.at_level(logging.WARNING):
        operator.warn_payload(4.0, "run.csv")
    assert_words(caplog.text, "4 kg in each hand", "3 kg outside of the 0 to 1 kg")
    with pytest.raises(HaloidError, match=r"holds no operator: there is no operator\.pt"):
        read_operator(tmp_path)
    (tmp_path / "operator.pt").write_bytes(b"no weights")
    with pytest.raises(HaloidError, match="is not an operator"):
        read_operator(tmp_path)


def test_two_rates_are_refused(dataset: Dataset, models: BaseModels):
    pairs = [dataset.pairs[0], replace(dataset.pairs[1], rate_hz=100.0)]
    with pytest.raises(HaloidError, match=r"recorded at 50, 100 Hz; expected one rate"):
        build_frames(models, pairs)
