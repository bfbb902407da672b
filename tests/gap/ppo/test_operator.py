"""The operator by PPO: its returns by hand, a known gap that it finds by trying, and a stop that changes nothing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.gap.tiny_arm import tiny_dataset

pytest.importorskip("torch")

import torch

from haloid.gap.crowd import BaseModels
from haloid.gap.dataset.pairs import Dataset
from haloid.gap.operator import run_folder
from haloid.gap.operator.corrected import corrected_runs, mean_q_dis_rad
from haloid.gap.operator.frames import build_frames
from haloid.gap.operator.run_folder import train_operator
from haloid.gap.operator.train import TrainConfig
from haloid.gap.ppo.operator import DISCOUNT, TRACE, UNIT, VELOCITY_SHARE, PpoTraining, advantages

TINY = TrainConfig(method="ppo", sensor_epochs=1, iterations=3, batch=4, window_s=0.2)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return tiny_dataset(tmp_path_factory.mktemp("arm"))


def test_advantages_by_hand():
    reward, value = torch.tensor([[1.0], [2.0], [3.0]]), torch.tensor([[0.5], [0.25], [-1.0], [4.0]])
    last = 3 + DISCOUNT * 4 + 1
    middle = 2 - 0.25  # the run was lost here: nothing that came after counts
    first = 1 + DISCOUNT * 0.25 - 0.5 + DISCOUNT * TRACE * middle
    found = advantages(reward, value, torch.tensor([[0.0], [1.0], [0.0]]))
    torch.testing.assert_close(found, torch.tensor([[first], [middle], [last]]))


def test_the_reward_is_how_far_it_is_from_the_recording(dataset: Dataset):
    """Without chance and correction, it is that of the simulator's own run, which starts in the recorded state."""
    models = BaseModels(dataset.base)
    frames = build_frames(models, dataset.pairs)
    training = PpoTraining(frames, models, replace(TINY, duration=2))
    training.log_std.data[:] = -30.0
    with torch.no_grad():
        for weights in training.network.parameters():
            weights.zero_()
    starts = frames.start[:-1]
    episode = training.play_episode(starts, 4)
    assert episode.reward.shape == (2, len(starts)) and not episode.ended.any()
    off = [
        (pair.sim.q_rad[1:5] - pair.real.q_rad[1:5], pair.sim.dq_rad_s[1:5] - pair.real.dq_rad_s[1:5])
        for pair in dataset.pairs
    ]
    cost = np.array([UNIT * ((q**2).mean(axis=1) + VELOCITY_SHARE * (dq**2).mean(axis=1)) for q, dq in off])
    np.testing.assert_allclose(episode.reward.T, -cost.reshape(-1, 2, 2).mean(axis=2), rtol=1e-3, atol=1e-6)
    assert episode.privileged[0, :, :4].abs().max() == 0 and episode.privileged[1, :, -1].eq(0.5).all()


@pytest.mark.slow
def test_a_known_gap_is_found_by_trying(dataset: Dataset):
    settings = TrainConfig(method="ppo", sensor_epochs=1, iterations=40, window_s=0.6)
    operator = train_operator(dataset.of(units={0, 1, 2}), settings)
    kept, models = dataset.of(units={3}).pairs, BaseModels(dataset.base)
    before = mean_q_dis_rad(corrected_runs(None, models, kept), kept)
    after = mean_q_dis_rad(corrected_runs(operator.network, models, kept), kept)
    assert before.mean() > 0.02 and after.mean() < 0.4 * before.mean()


def test_a_training_that_was_killed_goes_on(dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    whole = train_operator(dataset, TINY)
    monkeypatch.setattr(run_folder, "STORE_S", 0.0)

    def stop(words: str, share: float | None) -> None:
        if words.startswith("whole runs, iteration 2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_operator(dataset, TINY, tmp_path, stop)
    said = []
    parts = train_operator(dataset, TINY, tmp_path, lambda words, share: said.append(words))
    assert "going on with runs, 1 done" in said
    for one, other in zip(whole.network.parameters(), parts.network.parameters(), strict=True):
        torch.testing.assert_close(one, other)
