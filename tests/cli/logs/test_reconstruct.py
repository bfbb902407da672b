import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.recordings.double_support import noisy_run

from haloid.cli import main as cli
from haloid.cli.logs.reconstruct import Config
from haloid.recordings.files.write import write_recording
from haloid.recordings.reconstruction.motion import DEFAULT_FPS
from haloid.recordings.reconstruction.smooth import DEFAULT_BANDWIDTH_HZ

RUN, _ = noisy_run()


@pytest.fixture
def double(tmp_path: Path) -> str:
    return str(write_recording(RUN, tmp_path / "double"))


def test_reconstruct_puts_the_foot_down_and_says_so(double: str, tmp_path: Path):
    words = ["reconstruct", double, "-o", str(tmp_path / "motion.npz"), "--correct-feet", "--fps", "100"]
    done = subprocess.run([sys.executable, "-m", "haloid", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    out = " ".join(done.stdout.split())
    assert "999 frames at 100 per second, 29 joints, 30 bodies; smoothed to 6 Hz, " in out
    assert "corrected 0.00 to 0.00 0.00 to 0.00 0.00 to 0.00" in out
    assert "No joint moved by more than" in out
    assert f"wrote {tmp_path / 'motion.npz'}" in done.stdout
    assert np.load(tmp_path / "motion.npz")["body_pos_w"].shape == (999, 30, 3)


def test_without_correction_the_height_is_told(double: str, tmp_path: Path, capsys):
    assert cli.main(["reconstruct", double, "-o", str(tmp_path / "motion"), "--bandwidth", "4"]) == 0
    out = capsys.readouterr().out
    assert "smoothed to 4 Hz" in out
    assert "--correct-feet puts the foot there" in out
    assert (tmp_path / "motion.npz").is_file()


def test_what_cannot_be_corrected_is_one_message(double: str, tmp_path: Path, capsys):
    single = str(write_recording(replace(RUN, support="single"), tmp_path / "single"))
    out = str(tmp_path / "motion.npz")
    assert cli.main(["reconstruct", single, "-o", out, "--correct-feet"]) == 1
    assert 'haloid: single: its support is "single": no foot rests on the floor' in capsys.readouterr().err
    assert cli.main(["reconstruct", double, "-o", out, "--height-only"]) == 1
    assert "--height-only says how to correct the feet; give --correct-feet as well" in capsys.readouterr().err
    assert not Path(out).exists()


def test_defaults_are_the_librarys():
    """Written out in the command, which must not load the library to show its help."""
    config = Config(Path("run.csv"), Path("motion.npz"))
    assert (config.bandwidth, config.fps) == (DEFAULT_BANDWIDTH_HZ, DEFAULT_FPS)
