"""`haloid demo` from start to end, once."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from haloid.recordings.files.read import read_recording

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("demo") / "out"
    words = [sys.executable, "-m", "haloid", "demo", "-o", str(out)]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"COLUMNS": "80"})
    assert done.returncode == 0, done.stderr
    return out, done.stdout


def test_demo_records_both_conditions(demo):
    out, said = demo
    names = [f"{condition}-{run}" for condition in ("unloaded", "loaded") for run in (1, 2, 3)]
    assert sorted(file.stem for file in (out / "recordings").glob("*.csv")) == sorted(names)
    for name in names:
        assert name in said
        recording = read_recording(out / "recordings" / name)
        assert recording.payload == ("none" if name.startswith("unloaded") else "unknown")
        assert recording.dq_rad_s is None
        assert (out / "truth" / f"{name}.truth.json").is_file()


def test_demo_finds_the_load(demo):
    out, _ = demo
    result = json.loads((out / "result" / "result.json").read_text())
    assert result["status"] == "converged"
    for link, load_kg in {"torso_link": 6.0, "left_wrist_yaw_link": 2.4, "right_wrist_yaw_link": 2.0}.items():
        mass = result["payload"][link]["mass"]
        assert abs(mass["value"] - load_kg) < 4 * mass["std"] < 0.1
    for entry in result["inputs"]:
        assert (out / "result" / entry["file"]).is_file()
    for name in ("calibrated.xml", "calibrated.urdf", "patch.json", "config.yaml", "report.html"):
        assert (out / "result" / name).is_file()


def test_demo_sets_truth_and_estimate_side_by_side(demo):
    _, said = demo
    lines = said.splitlines()
    assert [len(line) for line in lines if len(line) > 80 and not line.startswith("wrote")] == []
    assert re.search(r"truth +estimate +95 % interval +inside", said)
    rows = [line for line in lines if re.search(r"\d to -?\d.* (yes|no) *$", line)]
    assert [line.split("(")[0].strip() for line in rows] == 3 * ["mass", "payload", "CoM x", "CoM y", "CoM z"]
    assert len([line for line in rows if line.split()[-1] == "yes"]) >= 11


def test_demo_report_tells_the_whole_story(demo):
    page = (demo[0] / "report.html").read_text()
    titles = ["The payload", "The robot itself", "The runs", "Targets and encoders", "Body positions, reconstructed"]
    assert sorted(titles, key=page.index) == titles
    assert "The robot carries " in page
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)
