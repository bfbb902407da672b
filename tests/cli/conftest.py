"""Small real recordings of the lab's G1, made once for all tests of the commands."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from haloid.cli.runs import write_runs
from haloid.lab.excitation import Excitation
from haloid.lab.loads import halo_setting
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors

STILL = Excitation(duration_s=3.0, leg_amplitude_rad=1e-4, waist_amplitude_rad=1e-4, arm_amplitude_rad=1e-4)


@pytest.fixture(scope="session")
def made_recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recordings")
    sensors, shaken = Sensors(noise_rad=5e-4), Excitation(duration_s=3.0)
    bare, loaded = LabRobot(), LabRobot(loads=halo_setting(1))
    runs = [
        record(bare, sensors, shaken, seed=1, name="unloaded-1"),
        record(loaded, sensors, shaken, seed=2, name="loaded-1"),
        record(loaded, sensors, shaken, seed=3, name="loaded-2"),
        record(loaded, sensors, STILL, seed=4, name="still"),
    ]
    write_runs(runs, folder, folder / "truth")
    return folder


@pytest.fixture
def recordings(made_recordings: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    folder = tmp_path / "recordings"
    shutil.copytree(made_recordings, folder)
    return folder


@pytest.fixture
def changed(recordings: Path) -> Callable[..., Path]:
    """Writes a copy of a recording whose json says something else; returns its csv."""

    def change(name: str, **says: object) -> Path:
        metadata = json.loads((recordings / f"{name}.json").read_text()) | says
        (recordings / "changed.json").write_text(json.dumps(metadata))
        return Path(shutil.copy(recordings / f"{name}.csv", recordings / "changed.csv"))

    return change
