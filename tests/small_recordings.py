"""Small real recordings of the lab's G1, for tests of whoever reads recordings from files."""

from pathlib import Path

from haloid.lab.excitation import Excitation
from haloid.lab.loads import halo_setting
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.lab.truth import write_runs

STILL = Excitation(duration_s=3.0, leg_amplitude_rad=1e-4, waist_amplitude_rad=1e-4, arm_amplitude_rad=1e-4)


def write_small_recordings(folder: Path) -> Path:
    """unloaded-1, loaded-1, loaded-2 and still, each with its truth; returns the folder."""
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
