"""Writing: exact to the last bit, whole or not at all, and never an invalid recording."""

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.recordings.words import assert_words

from haloid.recordings.errors import RecordingError
from haloid.recordings.files.read import read_recording
from haloid.recordings.files.write import write_recording
from haloid.recordings.recording import Recording


def assert_same(a: Recording, b: Recording) -> None:
    for name in (field.name for field in fields(Recording) if field.name not in ("name", "source", "extra")):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name, strict=True)
    assert a.extra.keys() == b.extra.keys()
    for column in a.extra:
        np.testing.assert_array_equal(a.extra[column], b.extra[column])


def full(recording: Recording) -> Recording:
    """With everything a recording can have."""
    rng = np.random.default_rng(1)
    return replace(
        recording,
        kp=rng.uniform(10, 100, (60, 29)),
        dq_rad_s=np.gradient(recording.q_rad, recording.time_s, axis=0),
        tau_nm=rng.normal(size=(60, 29)),
        support="double",
        payload='a 3 kg "brick"',
        note="zwei\nZeilen – \ud800",
        clamp_pose=np.array([0.1, 0.2, 0.3, 1.0, 0.0, 0.0, 0.0]),
        extra={'odd, "name"': np.arange(60.0), "file": np.full(60, np.nan), "a/b": rng.normal(size=60)},
    )


@pytest.mark.parametrize("name", ["out.csv", "out.json", "out", "out.npz", "v1.2"])
def test_a_recording_comes_back_bit_for_bit(recording, tmp_path, name):
    for original in (recording, full(recording)):
        file = write_recording(original, tmp_path / name)
        assert file.suffix == (".npz" if name.endswith(".npz") else ".csv")
        assert_same(read_recording(tmp_path / name), original)
        assert read_recording(file).source == file


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    knee=st.lists(st.floats(-0.05, 2.5), min_size=60, max_size=60),
    torque=st.lists(st.floats(-1e3, 1e3), min_size=60, max_size=60),
    extra=st.lists(st.floats(), min_size=60, max_size=60),
    name=st.text(min_size=1).filter(lambda text: text.isprintable() and text.strip() == text and ":" not in text),
)
def test_any_floats_come_back(recording, tmp_path_factory, knee, torque, extra, name):
    folder = tmp_path_factory.mktemp("floats")
    q_rad = recording.q_rad.copy()
    q_rad[:, 3] = knee
    tau_nm = np.tile(np.array(torque)[:, None], 29)
    columns = {} if name in ("time", "meta") else {name: np.array(extra)}
    original = replace(recording, q_rad=q_rad, target_rad=q_rad, tau_nm=tau_nm, extra=columns)
    for suffix in (".csv", ".npz"):
        assert_same(read_recording(write_recording(original, folder / f"run{suffix}")), original)


def test_constant_gains_go_to_the_json_and_others_to_columns(recording, tmp_path):
    file = write_recording(replace(recording, kp=np.ones((60, 29))), tmp_path / "run")
    meta = json.loads(file.with_suffix(".json").read_text())
    header = file.read_text().split("\n")[0]
    assert "kp" not in meta
    assert meta["kd"]["left_knee_joint"] == recording.kd[3]
    assert "kp:left_knee_joint" in header
    assert "kd:" not in header


def test_an_invalid_recording_is_refused_and_nothing_is_written(recording, tmp_path):
    with pytest.raises(RecordingError) as caught:
        write_recording(replace(recording, q_rad=np.rad2deg(recording.q_rad)), tmp_path / "run.csv")
    assert_words(str(caught.value), "recording 'swing': column 'q:", "looks like degrees")
    with pytest.raises(RecordingError, match="no link 'left_foot'"):
        write_recording(replace(recording, clamp="left_foot"), tmp_path / "run.npz")
    with pytest.raises(RecordingError, match=r"cannot be loaded.*no_robot"):
        write_recording(replace(recording, robot="no_robot"), tmp_path / "run.npz")
    assert list(tmp_path.iterdir()) == []


def test_gaps_are_written_only_where_they_are_allowed(recording, tmp_path):
    time_s = recording.time_s + np.where(np.arange(60) > 30, 0.1, 0.0)
    with pytest.raises(RecordingError, match="--allow-gaps"):
        write_recording(replace(recording, time_s=time_s), tmp_path / "run")
    file = write_recording(replace(recording, time_s=time_s), tmp_path / "run", allow_gaps=True)
    np.testing.assert_array_equal(read_recording(file, allow_gaps=True).time_s, time_s)


def test_a_folder_that_does_not_exist(recording, tmp_path):
    for name in ("run.csv", "run.npz"):
        with pytest.raises(RecordingError) as caught:
            write_recording(recording, tmp_path / "none" / name)
        assert_words(str(caught.value), name, "cannot be written (No such file or directory)", "Create the folder")


@pytest.mark.parametrize("failing", [".json", ".csv"])
def test_a_failed_write_leaves_no_mixed_pair_and_no_rubbish(recording, tmp_path, monkeypatch, failing):
    write_recording(recording, tmp_path / "run")
    write_bytes = Path.write_bytes

    def full_disk(path: Path, data: bytes) -> int:
        if failing in path.name:
            write_bytes(path, data[:100])
            raise OSError(28, "No space left on device")
        return write_bytes(path, data)

    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(RecordingError, match="No space left on device"):
        write_recording(replace(recording, note="new"), tmp_path / "run")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.csv", "run.json"]
    assert_same(read_recording(tmp_path / "run"), recording)


def test_a_reader_never_meets_a_new_json_beside_an_old_csv(recording, tmp_path, monkeypatch):
    write_recording(recording, tmp_path / "run")
    seen = []
    rename = Path.replace

    def watched(path: Path, target: Path) -> Path:
        moved = rename(path, target)
        try:
            seen.append(read_recording(tmp_path / "run").note)
        except RecordingError as error:
            seen.append(str(error))
        return moved

    monkeypatch.setattr(Path, "replace", watched)
    write_recording(replace(recording, note="new"), tmp_path / "run")
    assert_words(seen[0], "there is no file run.csv")
    assert seen[1:] == ["new"]
