import json
import zipfile
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.recordings.words import assert_words
from tests.trajectories.rollouts import small_rollout

from haloid.errors import HaloidError
from haloid.trajectories import rollout_file
from haloid.trajectories.rollout_file import read_rollout, write_rollout


def test_what_is_written_is_read(tmp_path: Path):
    rollout = small_rollout()
    file = write_rollout(rollout, tmp_path / "run")
    assert file == tmp_path / "run.npz"
    read = read_rollout(file)
    for name in (field.name for field in fields(rollout) if field.name != "trajectory"):
        np.testing.assert_array_equal(getattr(read, name), getattr(rollout, name), err_msg=name)
    for field in fields(rollout.trajectory):
        np.testing.assert_array_equal(getattr(read.trajectory, field.name), getattr(rollout.trajectory, field.name))
    with np.load(file, allow_pickle=False) as plain:
        assert json.loads(str(plain["meta"]))["format"] == "haloid-rollout-1"
        assert plain["episode"].tolist() == [0] * 7 + [1] * 5


def changed(file: Path, arrays: dict[str, np.ndarray | None] | None = None, **meta: object) -> Path:
    with np.load(file) as plain:
        contents = dict(plain)
    text = json.dumps(json.loads(str(contents["meta"])) | meta)
    contents |= {"meta": np.array(text)} | (arrays or {})
    np.savez(file.with_name("changed.npz"), **{name: value for name, value in contents.items() if value is not None})
    return file.with_name("changed.npz")


@pytest.mark.parametrize(
    ("arrays", "meta", "words"),
    [
        ({"meta": None}, {}, ["meta: missing"]),
        ({"meta": np.array("{")}, {}, ["meta: not json"]),
        ({"meta": np.zeros(2)}, {}, ["meta: not one text"]),
        ({}, {"format": "haloid-rollout-9"}, ["meta: format: 'haloid-rollout-9'", '"haloid-rollout-1"']),
        ({}, {"rate_hz": "fast"}, ["meta: rate_hz: 'fast'", "a number"]),
        ({}, {"joint_names": "hip"}, ["meta: joint_names: 'hip'", "a list of names"]),
        ({}, {"episodes": [{"start": 0}]}, ["meta: episodes", '"start": row']),
        ({}, {"robot": None}, ["meta: robot: None", "a text"]),
        ({"time": None}, {}, ["time: missing"]),
        ({"action": np.array([{}] * 12)}, {}, ["array 'action': the array holds pickled Python objects"]),
        ({"episode": np.zeros(12)}, {}, ["episode: other rows"]),
        ({"joint_vel_rad_s": np.full((12, 2), np.inf)}, {}, ["joint_vel_rad_s: NaN or infinite in 12 rows"]),
    ],
    ids=str,
)
def test_files_that_are_not_rollouts(tmp_path: Path, arrays, meta, words):
    file = changed(write_rollout(small_rollout(), tmp_path / "run.npz"), arrays, **meta)
    with pytest.raises(HaloidError) as caught:
        read_rollout(file)
    assert_words(str(caught.value), f"{file}: ", "docs/rollouts.md", *words)
    assert "\n" not in str(caught.value)


def test_other_files(tmp_path: Path):
    for file, words in {
        tmp_path / "missing.npz": "cannot be read: the system says «no such file or directory»",
        tmp_path: "not a file",
        Path(__file__): "the file is not a zip archive, or is damaged",
    }.items():
        with pytest.raises(HaloidError) as caught:
            read_rollout(file)
        assert_words(str(caught.value), str(file), words)


def test_sizes_are_known_before_memory_is_asked_for(tmp_path: Path, monkeypatch):
    file = tmp_path / "claims.npz"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (4000000000,), }"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("time.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(HaloidError, match=r"array 'time': the array is damaged \(it declares 32,000,000,000 bytes"):
        read_rollout(file)
    small = write_rollout(small_rollout(), tmp_path / "small")
    monkeypatch.setattr(rollout_file, "MOST_BYTES", 1000)
    with pytest.raises(HaloidError, match="at most 1,000 bytes"):
        read_rollout(small)
    with pytest.raises(HaloidError, match="Save fewer or shorter runs"):
        write_rollout(small_rollout(), tmp_path / "big")
    assert not (tmp_path / "big.npz").exists()


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rollout(small_rollout(), tmp_path_factory.mktemp("rollout") / "valid")


@settings(max_examples=150, deadline=None)
@given(place=st.floats(0, 1), byte=st.integers(0, 255), cut=st.booleans())
def test_damaged_bytes_are_read_or_refused(valid: Path, place: float, byte: int, cut: bool):
    data = bytearray(valid.read_bytes())
    row = int(place * (len(data) - 1))
    data[row] = byte
    file = valid.with_name("damaged.npz")
    file.write_bytes(data[:row] if cut else data)
    try:
        read_rollout(file)
    except HaloidError as error:
        assert str(error).startswith(str(file))
