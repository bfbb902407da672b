"""A small identification: three seconds of a G1 with a box before its chest, in one stage."""

from pathlib import Path

import numpy as np

from haloid.api.identification import identify
from haloid.lab.excitation import Excitation
from haloid.lab.loads import RigidLoad, box
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.recordings.files.read import read_recording
from haloid.recordings.files.write import write_recording


def small_result(folder: Path) -> Path:
    """Writes loaded.csv and result/ into `folder`, and returns it."""
    load = RigidLoad(
        "torso_link", box(6.0, np.full(3, 0.2), np.array([0.22, 0.0, 0.15]), np.array([1.0, 0.0, 0.0, 0.0]))
    )
    sensors, excitation = Sensors(noise_rad=2e-4), Excitation(duration_s=3.0)
    made, _ = record(LabRobot(loads=(load,)), sensors, excitation, seed=2, name="loaded")
    recording = read_recording(write_recording(made, folder / "loaded"))
    identify([], recording, "torso_link", stages="one", fragments=8, rows=12).save(folder / "result")
    return folder
