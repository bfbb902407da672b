"""`haloid demo --robot so101` from start to end, once."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from haloid.identify.replay import mean_rms, replay
from haloid.recordings.files.read import read_recording


@pytest.mark.slow
def test_the_arm_is_calibrated_and_compared_with_its_truth(tmp_path: Path):
    out = tmp_path / "arm"
    words = [sys.executable, "-m", "haloid", "demo", "--robot", "so101", "-o", str(out)]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | {"COLUMNS": "80"})
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line for line in lines if len(line) > 80 and not line.startswith(("wrote", "next"))] == []
    assert re.search(r"truth +estimate +95 % interval +inside", done.stdout)
    rows = [line for line in lines if re.search(r"\d to \d.* (yes|no) *$", line)]
    assert [line.split("(")[0].strip() for line in rows] == 6 * ["kp", "damping", "frictionloss", "delay"]
    inside = re.search(r"(\d+) of 36 true values are in their 95 % intervals", done.stdout)
    assert inside and int(inside[1]) >= 32

    result = json.loads((out / "result" / "result.json").read_text())
    truth = json.loads((out / "truth" / "patch.json").read_text())["joints"]
    for name, found in result["joints"].items():
        assert found["kp"]["nominal"] == pytest.approx(998.22)
        assert found["kp"]["value"] == pytest.approx(truth[name]["kp"], rel=0.15)
    assert result["fit"]["calibrated_over_nominal"] < 0.05
    held = read_recording(out / "recordings" / "run-4")
    for model in (out / "result" / "calibrated.xml", out / "result" / "patch.json"):
        assert mean_rms(replay(model, [held])) == pytest.approx(result["fit"]["rms_rad_heldout"], rel=1e-6)
    page = (out / "report.html").read_text()
    titles = ["The gap that is left", "Truth and estimate", "The servos", "Whole runs"]
    assert sorted(titles, key=page.index) == titles
