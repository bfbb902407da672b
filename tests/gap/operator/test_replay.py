"""Corrected replay of recordings, by the library and by the command."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.gap.tiny_arm import tiny_dataset
from tests.recordings.words import assert_words

pytest.importorskip("torch")

import torch

from haloid.cli.main import main
from haloid.errors import HaloidError
from haloid.gap.operator.model import Operator, write_operator
from haloid.gap.operator.networks import NetworkConfig, make_network
from haloid.gap.operator.replay import replay_corrected
from haloid.identify.replay import replay_nominal
from haloid.recordings.files.write import write_recording


class Lowers(torch.nn.Module):
    """An operator that lowers every target by 0.1 rad."""

    config = NetworkConfig("mlp")

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return torch.full((len(observation), 2), -0.1)


def test_the_delta_is_added_to_every_target(tmp_path: Path):
    known = tiny_dataset(tmp_path, sequences=1, rows=50)
    recording = known.pairs[0].recording(known.base)
    operator = Operator(Lowers(), known.base, 50.0, (0.0, 1.0))  # pyright: ignore[reportArgumentType]
    (found,) = replay_corrected(operator, [recording])
    assert recording.target_rad is not None
    (lower,) = replay_nominal([replace(recording, target_rad=recording.target_rad - 0.1)])
    np.testing.assert_allclose(found.played_rad, lower.played_rad, atol=1e-6)


def test_nothing_that_is_no_number_gets_in(tmp_path: Path):
    known = tiny_dataset(tmp_path, sequences=1, rows=50)
    recording = known.pairs[0].recording(known.base)
    recording.q_rad[7, 1] = np.nan
    operator = Operator(Lowers(), known.base, 50.0, (0.0, 1.0))  # pyright: ignore[reportArgumentType]
    with pytest.raises(HaloidError, match="holds readings that are not numbers"):
        replay_corrected(operator, [recording])


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    known = tiny_dataset(tmp_path, sequences=8, rows=50)
    file = write_recording(known.pairs[7].recording(known.base), tmp_path / "run")
    network = make_network(2, NetworkConfig("mlp"))
    write_operator(Operator(network, known.base, 50.0, (0.0, 0.5)), tmp_path / "operator")
    words = ["replay", known.base.robot, str(file), "--delta", str(tmp_path / "operator"), "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rms_rad"] != found["nominal_rms_rad"]
    assert main(["replay", "g1", *words[2:]]) == 1
    assert_words(capsys.readouterr().err, "corrects", "tiny.xml", "it cannot be played on g1", "haloid delta operator")
    for payload in ("-1", "nan"):
        assert main([*words, "--payload-kg", payload]) == 1
        assert_words(capsys.readouterr().err, f"--payload-kg is {payload}", "0 kg or more")
    assert main([*words[:4], str(tmp_path)]) == 1
    assert_words(capsys.readouterr().err, "holds no operator", "haloid delta operator")
