"""A small identification: three seconds of a G1 with a load on its torso, in one stage."""

from pathlib import Path

from haloid.api.identification import identify
from haloid.lab.excitation import Excitation
from haloid.lab.loads import halo_setting
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.recordings.files.read import read_recording
from haloid.recordings.files.write import write_recording


def small_result(folder: Path) -> Path:
    """Writes loaded.csv and result/ into `folder`, and returns it."""
    made, _ = record(
        LabRobot(loads=halo_setting(1)[:1]), Sensors(noise_rad=5e-4), Excitation(duration_s=3.0), seed=2, name="loaded"
    )
    recording = read_recording(write_recording(made, folder / "loaded"))
    identify([], recording, "torso_link", stages="one", payload_model="halo", fragments=4, rows=8).save(
        folder / "result"
    )
    return folder
