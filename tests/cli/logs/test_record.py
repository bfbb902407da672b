import json
import subprocess
import sys
from pathlib import Path

from haloid.cli import main as cli
from haloid.recordings.files.read import read_recording


def test_record_writes_runs_and_truth(tmp_path: Path):
    words = ["record", "-o", str(tmp_path / "new" / "box"), "--runs", "2", "--aged", "3", "--duration", "4"]
    words += ["--load", "torso_link", "4", "0", "0", "0.02", "--load", "left_wrist_yaw_link", "1", "0", "0", "0"]
    done = subprocess.run([sys.executable, "-m", "haloid", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert sorted(file.name for file in (tmp_path / "new").iterdir()) == [
        f"box-{run}{suffix}" for run in (1, 2) for suffix in (".csv", ".json", ".truth.json")
    ]
    assert "off reference, rms (mrad)" in done.stdout
    assert f"wrote {tmp_path / 'new' / 'box-2.csv'}" in done.stdout.replace("\n", "")
    first, second = (read_recording(tmp_path / "new" / f"box-{run}") for run in (1, 2))
    assert first.q_rad.shape == (200, 29)
    assert abs(first.q_rad - second.q_rad).max() > 0.05
    truth = json.loads((tmp_path / "new" / "box-1.truth.json").read_text())
    assert 7.818 * 0.95 + 4 <= truth["links"]["torso_link"]["mass_kg"] <= 7.818 * 1.05 + 4


def test_a_fall_leaves_nothing_behind(tmp_path: Path, capsys):
    assert cli.main(["record", "-o", str(tmp_path / "fall"), "--gains", "mjlab"]) == 1
    assert "the robot fell" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_misspelt_link_is_one_line(tmp_path: Path, capsys):
    words = ["record", "-o", str(tmp_path / "run"), "--load", "torso", "4", "0", "0", "0"]
    assert cli.main(words) == 1
    assert "haloid: the robot has no link 'torso'; the nearest are: torso_link" in capsys.readouterr().err


def test_options_that_mean_nothing_are_refused(tmp_path: Path, capsys):
    out = str(tmp_path / "run")
    assert cli.main(["record", "-o", out, "--strength", "0.02"]) == 1
    assert "--strength is a spread of the aged robot; give --aged SEED as well" in capsys.readouterr().err
    assert cli.main(["record", "-o", out, "--runs", "0"]) == 1
    assert "--runs is 0; expected at least 1" in capsys.readouterr().err
    assert cli.main(["record", "-o", out, "--simulator", "genesis", "--support", "double"]) == 1
    assert "--simulator genesis plays the clamped robot on one foot" in " ".join(capsys.readouterr().err.split())
    assert cli.main(["record", "-o", out, "--drop", "1"]) == 1
    assert "the share of rows lost is 1; expected 0 or more and less than 1" in capsys.readouterr().err
