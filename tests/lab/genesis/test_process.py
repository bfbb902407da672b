"""The other process: how it is found and spoken to, with and without Genesis."""

import io
import sys
from pathlib import Path

import numpy as np
import pytest

from haloid.errors import HaloidError
from haloid.lab.genesis.lab import GenesisLab
from haloid.lab.genesis.player import receive, send
from haloid.lab.genesis.process import FOLDER, VARIABLE, GenesisError, GenesisPlayer, World, genesis_python
from haloid.lab.robot import LabRobot

WORLD = World(
    mjcf="<mujoco/>",
    joint_names=("hinge",),
    kp=np.array([80.0]),
    kd=np.array([4.0]),
    effort_nm=np.array([np.inf]),
    timestep_s=0.005,
)


def test_a_message_arrives_as_it_was_sent():
    stream = io.BytesIO()
    states = np.random.default_rng(0).standard_normal((3, 5))
    send(stream, {"request": "step", "steps": 4, "qpos": states, "names": np.array(["a", "bé"])})
    send(stream, {"floor": True})
    stream.seek(0)
    first, second = receive(stream), receive(stream)
    assert first is not None
    assert (first["request"], first["steps"]) == ("step", 4)
    np.testing.assert_array_equal(first["qpos"], states)
    assert first["names"].tolist() == ["a", "bé"]
    assert second == {"floor": True}
    assert receive(stream) is None


@pytest.mark.parametrize("lost", [1, 20])
def test_a_message_that_is_cut_short_is_none(lost: int):
    stream = io.BytesIO()
    send(stream, {"steps": 4})
    assert receive(io.BytesIO(stream.getvalue()[:-lost])) is None
    assert receive(io.BytesIO(stream.getvalue()[:4])) is None


def test_no_message_carries_objects():
    stream = io.BytesIO()
    send(stream, {"names": np.array([{}], dtype=object)})
    stream.seek(0)
    with pytest.raises(ValueError, match="allow_pickle"):
        receive(stream)


def test_words_for_a_missing_environment(tmp_path: Path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("haloid.lab.genesis.process.__file__", str(tmp_path / "src/haloid/lab/genesis/process.py"))
    with pytest.raises(HaloidError) as caught:
        genesis_python()
    assert str(caught.value) == (
        f"Genesis has no environment here: looked for {tmp_path / FOLDER / 'bin' / 'python'}. Run make genesis in a "
        "checkout of haloid (it takes some minutes), or set HALOID_GENESIS_PYTHON to the Python of an environment in "
        "which genesis-world is installed"
    )


def test_the_environment_of_the_current_directory_is_found(tmp_path: Path, monkeypatch):
    python = tmp_path / FOLDER / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    assert genesis_python() == python


def test_words_for_a_variable_that_names_nothing(monkeypatch):
    monkeypatch.setenv(VARIABLE, "/nowhere/python")
    with pytest.raises(HaloidError) as caught:
        genesis_python()
    assert str(caught.value) == (
        "HALOID_GENESIS_PYTHON is /nowhere/python, which is not a file; expected the Python of Genesis's environment"
    )


def test_an_environment_without_genesis_is_told_in_words(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GenesisError, match="Genesis could not open: ModuleNotFoundError: No module named 'genesis'"):
        GenesisPlayer(WORLD, Path(sys.executable))


def test_a_process_that_dies_leaves_its_last_words(tmp_path: Path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho starting >&2\necho no room on the device >&2\nexit 3\n")
    python.chmod(0o755)
    with pytest.raises(GenesisError) as caught:
        GenesisPlayer(WORLD, python)
    assert str(caught.value) == "Genesis stopped without an answer; its last words: no room on the device"


def test_two_feet_are_refused():
    built = LabRobot(support="double").built
    with GenesisLab() as genesis, pytest.raises(HaloidError, match="plays the clamped robot on one foot"):
        genesis(built, np.zeros(29), np.zeros((2, 29)))
