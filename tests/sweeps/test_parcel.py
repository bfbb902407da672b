"""Parcels: another folder becomes the same, with what changed and nothing else."""

import io
import os
import zipfile
from pathlib import Path

import pytest

from haloid.sweeps.parcel import Packer, Parcel


def contents(folder: Path) -> dict[str, bytes]:
    return {f.relative_to(folder).as_posix(): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def files(changed: bytes) -> set[str]:
    return set(zipfile.ZipFile(io.BytesIO(changed)).namelist())


def test_a_folder_is_followed_through_changes(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    (here / "deep" / "er").mkdir(parents=True)
    (here / "same.bin").write_bytes(os.urandom(1000))
    (here / "changes.txt").write_text("one")
    (here / "deep" / "er" / "goes.txt").write_text("soon")
    (here / ".policy.onnx.1234.part").write_text("half of it")
    packer = Packer(here)
    first = packer.pack()
    assert first is not None
    first.open_in(there)
    (here / ".policy.onnx.1234.part").unlink()
    assert contents(there) == contents(here)
    assert packer.pack() is None

    (here / "changes.txt").write_text("other")
    (here / "new.txt").write_text("new")
    (here / "deep" / "er" / "goes.txt").unlink()
    second = packer.pack()
    assert second is not None and files(second.changed) == {"changes.txt", "new.txt"}
    second.open_in(there)
    assert contents(there) == contents(here)


def test_what_is_known_does_not_travel_back(tmp_path):
    (tmp_path / "checkpoint.bin").write_bytes(b"1")
    packer = Packer(tmp_path, known=True)
    assert packer.pack() is None
    (tmp_path / "log.txt").write_text("line")
    parcel = packer.pack()
    assert parcel is not None and files(parcel.changed) == {"log.txt"}
    assert set(parcel.names) == {"checkpoint.bin", "log.txt"}


def test_a_parcel_stays_in_its_folder(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("../outside.txt", "no")
    with pytest.raises(ValueError, match="outside the folder"):
        Parcel(("../outside.txt",), buffer.getvalue()).open_in(tmp_path / "inside")
    assert not (tmp_path / "outside.txt").exists()
