"""`haloid excite` and `haloid record --excitation`, once each on the small arm."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.identify.arm import ARM

from haloid.cli import main as cli
from haloid.recordings.files.read import read_recording

SERVOS = "".join(
    f'<position name="{joint}" joint="{joint}" kp="{kp}" kv="{kp / 20}"/>'
    for joint, kp in {"shoulder": 60, "elbow": 40, "wrist": 20}.items()
)


@pytest.fixture
def arm(tmp_path: Path) -> str:
    start, end = ARM.index("<actuator>") + len("<actuator>"), ARM.index("</actuator>")
    path = tmp_path / "arm.xml"
    path.write_text(ARM[:start] + SERVOS + ARM[end:])
    return str(path)


def words(arm: str, out: Path, *more: str) -> list[str]:
    held = ["--clamp", "None", "--gains", "model", "--seconds", "3"]
    return ["excite", arm, "-o", str(out), *held, "--payload-links", "hand", *more]


@pytest.mark.parametrize("kind", ["default", "optimal"])
def test_a_plan_is_written_and_played(kind, arm, tmp_path: Path):
    out = tmp_path / "plans" / "plan"
    line = words(arm, out, "--kind", kind, "--heaviest", "hand=1.5", "--budget", "3")
    done = subprocess.run([sys.executable, "-m", "haloid", *line], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert sorted(file.name for file in out.parent.iterdir()) == ["plan.csv", "plan.html", "plan.json"]
    assert "Predicted 95 % intervals from one run with the heaviest payload" in done.stdout
    assert ("times smaller than the multi-sine's" in " ".join(done.stdout.split())) == (kind == "optimal")
    plan = read_recording(out)
    assert plan.note == f"plan, not yet played: {kind} excitation"
    page = out.with_suffix(".html").read_text()
    assert "1.5 kg on hand" in page and page.count("<svg") == 3

    played = ["record", "-o", str(tmp_path / "run"), "--robot", arm, "--clamp", "None", "--gains", "model"]
    assert cli.main([*played, "--load", "hand", "1", "0", "0", "0", "--excitation", str(out)]) == 0
    run = read_recording(tmp_path / "run")
    assert run.q_rad.shape == plan.q_rad.shape
    assert abs(run.q_rad - plan.q_rad).max() < 0.15


def test_wrong_words_are_one_line(arm, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(words(arm, tmp_path / "plan", "--heaviest", "hand:3")) == 1
    assert "haloid: --heaviest hand:3 is not LINK=KG; expected such as torso_link=12" in capsys.readouterr().err
    assert cli.main(words(arm, tmp_path / "plan", "--heaviest", "hnd=3")) == 1
    assert "the robot has no link 'hnd'; the nearest are: hand" in capsys.readouterr().err
    assert not list(tmp_path.glob("plan*"))
