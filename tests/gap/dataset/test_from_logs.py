"""A user's recordings in the shape of the dataset."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.gap.tiny_arm import tiny_dataset
from tests.recordings.words import assert_words

from haloid.errors import HaloidError
from haloid.gap.dataset.from_logs import dataset_of, payload_of


def test_a_recording_becomes_the_pair_it_is_of(tmp_path: Path):
    known = tiny_dataset(tmp_path, sequences=6, rows=40)
    found = dataset_of([known.pairs[5].recording(known.base)])
    (pair,) = found.pairs
    assert (pair.payload_kg, pair.kind, round(pair.rate_hz)) == (1.0, "log", 50)
    np.testing.assert_allclose(pair.sim.q_rad, known.pairs[5].sim.q_rad, atol=1e-9)
    np.testing.assert_array_equal(pair.real.q_rad, known.pairs[5].real.q_rad)


def test_a_payload_must_be_known(tmp_path: Path):
    known = tiny_dataset(tmp_path, sequences=1, rows=40)
    recording = replace(known.pairs[0].recording(known.base), payload="unknown")
    with pytest.raises(HaloidError) as caught:
        dataset_of([recording])
    assert_words(str(caught.value), 'is "unknown"; expected "none"', '"2 kg"', "--payload-kg")
    assert dataset_of([recording], payload_kg=1.0).pairs[0].payload_kg == 1.0
    assert payload_of(replace(recording, payload="2.5 kg")) == 2.5


def test_torques_are_refused(tmp_path: Path):
    known = tiny_dataset(tmp_path, sequences=1, rows=40)
    recording = replace(known.pairs[0].recording(known.base), target_rad=None, actuation="torque")
    with pytest.raises(HaloidError, match="was driven by torques; expected position targets"):
        dataset_of([recording])
