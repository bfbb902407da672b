import subprocess
import sys
from pathlib import Path

import pytest

from haloid.recordings.read import read_recording


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("demo") / "out"
    words = [sys.executable, "-m", "haloid", "demo", "-o", str(out)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "loaded-3" in done.stdout
    return out


def test_demo_records_both_conditions(demo: Path):
    names = [f"{condition}-{run}" for condition in ("unloaded", "loaded") for run in (1, 2, 3)]
    assert sorted(file.stem for file in (demo / "recordings").glob("*.csv")) == sorted(names)
    for name in names:
        recording = read_recording(demo / "recordings" / name)
        assert recording.payload == ("none" if name.startswith("unloaded") else "unknown")
        assert recording.dq_rad_s is None
        assert (demo / "truth" / f"{name}.truth.json").is_file()


def test_demo_report_shows_runs_and_bodies(demo: Path):
    page = (demo / "report.html").read_text()
    for words in ("The runs", "Targets and encoders", "Body positions, reconstructed", "right_wrist_yaw_link", "<svg"):
        assert words in page
