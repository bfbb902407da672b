"""`haloid calibrate` as a user meets it."""

import json
from pathlib import Path

import mujoco
from tests.identify.arm import write_arm
from tests.identify.calibration.worn import worn_runs

from haloid.cli import main as cli
from haloid.recordings.files.write import write_recording


def _jam(spec: mujoco.MjSpec) -> None:
    spec.joint("wrist").frictionloss = 30.0


def test_files_gap_and_warnings(tmp_path: Path, capsys):
    arm = write_arm(tmp_path)
    runs = [*worn_runs(arm, 2), worn_runs(arm, 3, fault=_jam)[2]]
    logs = [str(write_recording(run, tmp_path / f"run-{i}")) for i, run in enumerate(runs)]
    out = tmp_path / "out"
    assert cli.main(["calibrate", *logs, "-o", str(out)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Replayed from its first state, the calibrated robot strays" in said
    assert "of the readings are in the 95 % interval of their prediction." in said
    assert "warning: run-2: wrist moves by" in said
    files = {"calibrated.urdf", "calibrated.xml", "config.yaml", "patch.json", "report.html", "result.json"}
    assert files <= {file.name for file in out.iterdir()}
    (doubt, *_) = json.loads((out / "result.json").read_text())["doubts"]
    assert doubt.startswith("run-2: wrist moves by") and doubt in (out / "report.html").read_text()


def test_words_of_refusals(recordings: Path, tmp_path: Path, capsys):
    log = str(recordings / "unloaded-1.csv")
    assert cli.main(["calibrate", log, log, "--held-out", "2", "-o", str(tmp_path / "out")]) == 1
    assert "2 of 2 runs were to be held out; expected 0 to 1, so that at least one is fitted" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
