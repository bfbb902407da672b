"""`haloid convert`, and `haloid identify` on a bag itself."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.recordings.logs.write_bag import bag_content, write_mcap

from haloid.cli import main as cli
from haloid.lab.excitation import Excitation
from haloid.lab.loads import halo_setting
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.recordings.files.read import read_recording
from haloid.recordings.open_log import open_log

pytest.importorskip("mcap")


@pytest.fixture(scope="module")
def bag(tmp_path_factory) -> Path:
    """4 s of the loaded lab robot at 500 Hz."""
    robot = LabRobot(timestep_s=0.002, control_dt_s=0.002, loads=halo_setting(1))
    recording, _ = record(robot, Sensors(noise_rad=0.0002), Excitation(duration_s=4.0), seed=2)
    return write_mcap(bag_content(recording), tmp_path_factory.mktemp("bag") / "run.mcap")


def test_convert_writes_a_recording_and_says_what_it_did(bag: Path, tmp_path: Path, capsys):
    out = tmp_path / "new" / "run"
    words = ["convert", str(bag), "-o", str(out), "--clamp", "left_ankle_roll_link", "--rate", "50"]
    assert cli.main(words) == 0
    shown = capsys.readouterr().out
    assert "2,000 states at 500 Hz by the robot's tick" in shown
    assert "50 rows per second: readings by cubic interpolation" in shown
    assert "command-to-motion delay" in shown
    recording = read_recording(out)
    assert len(recording.time_s) == 199
    assert "target = q_des" in recording.note


def test_a_log_needs_its_clamp(bag: Path, tmp_path: Path, capsys):
    assert cli.main(["convert", str(bag), "-o", str(tmp_path / "run")]) == 1
    assert "key 'clamp': found null, but the robot's base floats" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_open_log_takes_a_log_with_its_description(bag: Path, capsys):
    description = bag.with_suffix(".json")
    description.unlink(missing_ok=True)
    assert cli.main(["identify", "--loaded", str(bag), "--payload-links", "torso_link", "-o", "x"]) == 1
    assert "there is no run.json of format haloid-log-1 beside it" in capsys.readouterr().err
    description.write_text(json.dumps({"format": "haloid-log-1", "clamp": "left_ankle_roll_link", "rate_hz": 100}))
    assert open_log(bag).control_dt_s == pytest.approx(0.01)
    description.write_text(json.dumps({"format": "haloid-log-1", "clam": "left_ankle_roll_link"}))
    assert cli.main(["identify", "--loaded", str(bag), "--payload-links", "torso_link", "-o", "x"]) == 1
    assert "key 'clam': the key is unknown" in capsys.readouterr().err


@pytest.mark.slow
def test_identify_reads_a_bag_end_to_end(bag: Path, tmp_path: Path):
    description = {"format": "haloid-log-1", "robot": "g1", "clamp": "left_ankle_roll_link", "rate_hz": 100}
    bag.with_suffix(".json").write_text(json.dumps(description))
    links = ["torso_link", "left_wrist_yaw_link", "right_wrist_yaw_link"]
    words = [
        "identify",
        "--loaded",
        str(bag),
        "--payload-links",
        *links,
        "--stages",
        "one",
        "-o",
        str(tmp_path / "out"),
    ]
    assert cli.main(words) == 0
    found = json.loads((tmp_path / "out" / "result.json").read_text())["links"]
    truth_kg = {load.link: load.mass_kg for load in halo_setting(1)}
    for link in links:
        mass = found[link]["mass"]
        assert np.isclose(mass["value"] - mass["nominal"], truth_kg[link], atol=0.1), (link, mass)
