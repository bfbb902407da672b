"""Checkpoints of a training."""

import errno
from pathlib import Path

import numpy as np
import pytest
from tests.recordings.words import assert_words

pytest.importorskip("torch")

import torch

from haloid.errors import HaloidError
from haloid.skills.training.checkpoint import load_checkpoint, save_checkpoint


def test_a_state_comes_back_bit_by_bit(tmp_path: Path):
    random = np.random.default_rng(1)
    state = {
        "physics": random.normal(size=(3, 7)),
        "single": random.normal(size=4).astype(np.float32),
        "counts": np.arange(3),
        "score": np.float64(-np.inf),
        "nan": np.nan,
        "random": random.bit_generator.state,
        "nested": [{"tensor": torch.randn(2, 2)}, (1, "text", None)],
    }
    save_checkpoint(state, tmp_path)
    found = load_checkpoint(tmp_path)
    for name in ("physics", "single", "counts"):
        np.testing.assert_array_equal(found[name].numpy(), state[name])
        assert found[name].numpy().dtype == state[name].dtype
    assert found["score"] == -np.inf
    assert np.isnan(found["nan"])
    assert torch.equal(found["nested"][0]["tensor"], state["nested"][0]["tensor"])
    assert found["nested"][1] == [1, "text", None]
    again = np.random.default_rng(2)
    again.bit_generator.state = found["random"]
    assert again.random() == random.random()


def test_a_checkpoint_that_could_not_be_written_leaves_the_one_before(tmp_path: Path, monkeypatch):
    save_checkpoint({"iteration": 20}, tmp_path)

    def half(path: Path, content: bytes) -> None:
        path.write_text("half of a checkpoint")
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", half)
    with pytest.raises(KeyboardInterrupt):
        save_checkpoint({"iteration": 40}, tmp_path)
    assert load_checkpoint(tmp_path) == {"iteration": 20}
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_a_full_disk_is_told_with_the_name_of_the_checkpoint(tmp_path: Path, monkeypatch):
    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(HaloidError, match=r"checkpoint\.pt: the system says «no space left on device»\. Make room"):
        save_checkpoint({"iteration": 40}, tmp_path)


def test_folders_without_a_sound_checkpoint_are_refused(tmp_path: Path):
    with pytest.raises(HaloidError) as refusal:
        load_checkpoint(tmp_path)
    assert_words(str(refusal.value), str(tmp_path), "holds no training: it has no checkpoint.pt", "haloid train")

    file = tmp_path / "checkpoint.pt"
    torch.save({"format": "haloid-checkpoint-0", "state": {}}, file)
    with pytest.raises(HaloidError, match="its format is 'haloid-checkpoint-0', expected 'haloid-checkpoint-2'"):
        load_checkpoint(tmp_path)
    file.write_bytes(b"nothing of the kind")
    with pytest.raises(HaloidError) as refusal:
        load_checkpoint(tmp_path)
    assert_words(str(refusal.value), "is not a checkpoint that can be read", "Start again in another folder")
