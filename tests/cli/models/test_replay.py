"""`haloid replay` as a user meets it."""

import json
from pathlib import Path

from haloid.cli import main as cli


def test_tables_and_json(recordings: Path, capsys):
    logs = [str(recordings / "unloaded-1.csv"), str(recordings / "still.csv")]
    assert cli.main(["replay", "g1", *logs, "--servos", "recording", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["format"] == "haloid-replay-1" and [run["file"] for run in found["runs"]] == logs
    for run in found["runs"]:
        assert run["rms_rad"] == run["nominal_rms_rad"] and run["max_rad"] >= run["rms_rad"] > 0
        knee = run["joints"]["left_knee_joint"]
        assert knee["rms_rad"] == knee["nominal_rms_rad"]
    assert found["runs"][0]["rms_rad"] < 0.01 < found["runs"][1]["rms_rad"]  # the second carries a load
    assert cli.main(["replay", "g1", logs[0], "--servos", "recording"]) == 0
    said = capsys.readouterr().out
    assert "unloaded-1" in said and "left_knee_joint" in said and "1.000" in said


def test_words_of_refusals(recordings: Path, tmp_path: Path, capsys):
    log = str(recordings / "unloaded-1.csv")
    assert cli.main(["replay", str(tmp_path), log]) == 1
    assert "is a directory without a calibrated.xml; expected the result of haloid identify" in capsys.readouterr().err
    assert cli.main(["replay", "so101", log]) == 1
    assert "which the model does not have; expected a model of the same robot" in capsys.readouterr().err
