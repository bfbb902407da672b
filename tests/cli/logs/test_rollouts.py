import shutil
from pathlib import Path

import numpy as np
from tests.recordings.words import assert_words

from haloid.cli import main as cli
from haloid.trajectories.rollout_file import read_rollout


def test_record_writes_a_rollout_that_the_checker_reads(tmp_path: Path, capsys):
    words = ["record", "-o", str(tmp_path / "run"), "--duration", "3", "--noise", "0.001", "--rollout"]
    assert cli.main(words) == 0
    file = tmp_path / "run.rollout.npz"
    assert f"wrote {file}" in capsys.readouterr().out.replace("\n", "")
    assert cli.main(["rollouts", "check", str(file)]) == 0
    assert_words(
        capsys.readouterr().out.replace("\n", ""),
        f"{file}: 1 episode (0 fell), 150 rows at 50 Hz, g1 with 29 joints",
        "floating base, left_ankle_roll_link clamped",
        "simulator: mujoco 3.",
    )
    converted = tmp_path / "converted.npz"
    assert cli.main(["rollouts", "convert", str(tmp_path / "run.csv"), "-o", str(converted)]) == 0
    true, read = read_rollout(file).trajectory, read_rollout(converted).trajectory
    assert 5e-4 < np.std(true.joint_pos_rad - read.joint_pos_rad) < 2e-3
    assert np.abs(true.root_pos_w_m - read.root_pos_w_m).max() < 0.02


def test_check_reports_every_file_and_goes_on(recordings: Path, tmp_path: Path, capsys):
    good = tmp_path / "good.npz"
    assert cli.main(["rollouts", "convert", str(recordings / "loaded-1.csv"), "-o", str(good)]) == 0
    cut = tmp_path / "cut.npz"
    cut.write_bytes(good.read_bytes()[:1000])
    capsys.readouterr()
    assert cli.main(["rollouts", "check", str(cut), str(tmp_path / "none.npz"), str(good)]) == 1
    out, err = capsys.readouterr()
    assert_words(
        err, f"{cut}: the file is not a zip archive", f"{tmp_path / 'none.npz'} cannot be read", "2 of 3 files"
    )
    assert_words(out, f"{good}: 1 episode")


def test_nothing_to_check(capsys):
    assert cli.main(["rollouts", "check"]) == 1
    assert "no rollout to check" in capsys.readouterr().err


def test_a_recording_that_cannot_be_read_leaves_nothing(tmp_path: Path, recordings: Path, capsys):
    shutil.copy(recordings / "loaded-1.csv", tmp_path / "alone.csv")
    assert cli.main(["rollouts", "convert", str(tmp_path / "alone.csv"), "-o", str(tmp_path / "out.npz")]) == 1
    assert not (tmp_path / "out.npz").exists()
    assert "alone.json" in capsys.readouterr().err
