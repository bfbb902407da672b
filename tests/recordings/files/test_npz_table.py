"""The npz form: read like the csv, and the words of its own defects."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from tests.recordings.words import assert_words

from haloid.recordings.errors import RecordingError
from haloid.recordings.files import npz_table
from haloid.recordings.files.read import read_recording
from haloid.recordings.files.write import write_recording


@pytest.fixture
def arrays(recording, tmp_path) -> dict[str, np.ndarray]:
    with np.load(write_recording(recording, tmp_path / "valid.npz")) as file:
        return dict(file)


def error(file: Path) -> str:
    with pytest.raises(RecordingError) as caught:
        read_recording(file)
    return str(caught.value)


@pytest.mark.parametrize("savez", [np.savez, np.savez_compressed])
def test_numpys_own_files_are_read(arrays, recording, tmp_path, savez, caplog):
    savez(tmp_path / "run.npz", **arrays, imu=np.arange(60), camera=np.zeros((60, 4)), words=np.array(["a"] * 60))
    read = read_recording(tmp_path / "run")
    np.testing.assert_array_equal(read.q_rad, recording.q_rad)
    assert list(read.extra) == ["imu"]
    assert_words(caplog.text, "ignoring arrays that are not columns of numbers: 'camera', 'words'")


def test_the_json_may_be_bytes_and_numbers_of_any_type(arrays, tmp_path):
    arrays["meta"] = np.array(str(arrays["meta"]).encode())
    arrays["q:left_knee_joint"] = arrays["q:left_knee_joint"].astype(">f4")
    np.savez(tmp_path / "run.npz", **arrays)
    assert read_recording(tmp_path / "run.npz").q_rad.dtype == np.float64


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"meta": None}, ["column 'meta': the array is missing", "meta=json.dumps"]),
        ({"meta": np.zeros(3)}, ["column 'meta': found an array of shape (3,) and type float64", "one json text"]),
        ({"meta": np.array("{")}, ["line 1, character 2: not valid json"]),
        ({"time": None}, ["column 'time': the column is missing"]),
        ({"time": np.zeros((60, 1))}, ["column 'time': found an array of shape (60, 1)"]),
        ({"q:left_knee_joint": np.zeros(59)}, ["column 'q:left_knee_joint': found an array of shape (59,)", "(60,)"]),
        ({"q:left_knee_joint": np.array(["a"] * 60)}, ["type <U1", "float64"]),
        ({"q:left_knee_joint": np.zeros(60, complex)}, ["type complex128"]),
        ({"q:left_knee_joint": np.full(60, np.nan)}, ["column 'q:left_knee_joint', row 1: found nan (and 59 more"]),
        ({"q:left_knee_joint": np.array([None] * 60)}, ["holds pickled Python objects", "Convert it to float64"]),
        ({"imu": np.array([{}] * 60)}, ["column 'imu': the array holds pickled Python objects"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_defects_of_arrays(arrays, tmp_path, changes, words):
    np.savez(tmp_path / "run.npz", **{name: v for name, v in (arrays | changes).items() if v is not None})
    assert_words(error(tmp_path / "run.npz"), f"{tmp_path / 'run.npz'}: ", *words)


def test_metadata_errors_name_the_npz(arrays, tmp_path):
    meta = json.loads(str(arrays["meta"])) | {"clamp": "pelvs"}
    np.savez(tmp_path / "run.npz", **(arrays | {"meta": np.array(json.dumps(meta))}))
    assert_words(error(tmp_path / "run.npz"), f"{tmp_path / 'run.npz'}: key 'clamp'", "Did you mean 'pelvis'?")


def test_text_of_characters_that_do_not_exist(arrays, tmp_path):
    meta = np.frombuffer(np.array("{}").tobytes()[:4] + b"\x69\x59\xc1\x00", dtype="<U2")
    np.savez(tmp_path / "run.npz", **(arrays | {"meta": meta}))
    assert_words(error(tmp_path / "run.npz"), "column 'meta': the text is damaged", "one json text")


def test_files_that_are_no_npz(arrays, tmp_path):
    file = tmp_path / "run.npz"
    file.write_bytes(b"")
    assert_words(error(file), f"{file}: the file is empty")
    file.write_bytes(b"time,q\n")
    assert_words(error(file), "the file is not a zip archive, or is damaged", "copy or record it again")
    file.write_bytes((tmp_path / "valid.npz").read_bytes()[:-100])
    assert_words(error(file), "the file is not a zip archive, or is damaged", "cut off")


def test_a_zip_bomb_is_not_unpacked(arrays, tmp_path, monkeypatch):
    monkeypatch.setattr(npz_table, "MAX_DATA_BYTES", 10_000)
    assert_words(error(tmp_path / "valid.npz"), "the arrays unpack to", "at most 10,000 bytes", "split")


def test_an_array_that_claims_more_than_it_has(arrays, tmp_path):
    file = tmp_path / "run.npz"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000,), }"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("time.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    assert_words(error(file), "column 'time': the array is damaged")


def test_unusual_compression_is_refused(tmp_path):
    file = tmp_path / "run.npz"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("time.npy", b"")
    assert_words(error(file), "column 'time'", "compressed in an unknown way", "with numpy")
