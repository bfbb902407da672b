import io
import logging
import re
from pathlib import Path

import pytest
from rich.console import Console

from haloid.cli import console
from haloid.report import Table


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Stderr as a terminal."""
    screen = io.StringIO()
    monkeypatch.setattr(console, "messages", Console(file=screen, force_terminal=True, width=80, markup=False))
    return screen


def test_plain_progress_keeps_quiet_between_lines(capsys: pytest.CaptureFixture[str], monkeypatch):
    now_s = 0.0
    monkeypatch.setattr(console.time, "monotonic", lambda: now_s)
    with console.progress("Recording") as say:
        for run in range(1, 11):
            now_s += 0.5
            say(f"run {run} of 10")
    assert capsys.readouterr().err.splitlines() == [
        "Recording",
        "Recording: run 4 of 10",
        "Recording: run 8 of 10",
        "Recording: done in 5.0 s",
    ]


def test_failed_progress_does_not_say_done(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(ValueError), console.progress("Recording"):
        raise ValueError
    assert capsys.readouterr().err == "Recording\n"


def test_live_progress_on_a_terminal(terminal: io.StringIO):
    with console.progress("Recording [unloaded]") as say:
        say("run 1 of [2]")
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    assert "Recording [unloaded]: run 1 of [2]" in text
    assert text.rstrip().splitlines()[-1].startswith("Recording [unloaded]: done in 0.")


def test_log_records_of_the_library_reach_stderr_as_written(capsys: pytest.CaptureFixture[str]):
    logger = logging.Logger("haloid.lab")
    logger.addHandler(console.LogHandler())
    logger.warning("%d targets of [left_knee_joint] were clipped", 3)
    assert capsys.readouterr().err == "warning: 3 targets of [left_knee_joint] were clipped\n"


def test_headings_over_numbers_break_when_words_need_the_room(capsys: pytest.CaptureFixture[str]):
    columns = ["run", "rows", "off reference, rms (mrad)", "off reference, most (mrad)", "servo at its limit"]
    console.print_table(Table(columns, [["loaded-1", 500, 1.3, 8.3, "0.1 % left_wrist_pitch_joint"]]))
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "0.1 % left_wrist_pitch_joint" in out
    assert "reference," in out


def test_a_long_path_stays_on_one_line(capsys: pytest.CaptureFixture[str]):
    path = Path("out") / ("long" * 30) / "report.html"
    console.wrote(path)
    assert capsys.readouterr().out == f"wrote {path}\n"


def test_table_fits_80_columns(capsys: pytest.CaptureFixture[str]):
    rows = [["left_shoulder_pitch_joint", 0.5, "±0.0013 kg"], ["right_wrist_yaw_link", 12.25, "±0.0270 kg"]]
    console.print_table(Table(["link or joint", "mass (kg)", "a note " * 9], rows, note="95 % intervals"))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1] == "95 % intervals"
    assert any("right_wrist_yaw_link" in line and "12.25" in line for line in lines)


def test_a_terminal_shows_bar_time_left_and_a_curve(terminal: io.StringIO, monkeypatch):
    now_s = 0.0
    monkeypatch.setattr(console.time, "monotonic", lambda: now_s)
    lines: list[str] = []
    say = console.Progress("Training", lines.append)
    for number, reward in enumerate((0.0, 1.0, 2.0), start=1):
        now_s += 30.0
        say(f"iteration {number}", done=number / 4, value=reward)
    assert lines[0] == "Training: iteration 1  ━━━━╌╌╌╌╌╌╌╌╌╌╌╌ 25 % 1:30 left"
    assert lines[2] == "Training: iteration 3  ━━━━━━━━━━━━╌╌╌╌ 75 % 0:30 left  ▁▅█"


def test_words_that_count_fill_the_bar(terminal: io.StringIO):
    lines: list[str] = []
    say = console.Progress("Recording", lines.append)
    say("loaded run 2 of 4")
    say("stage 1, 4 of 8 steps, iteration 3")
    assert lines == [
        "Recording: loaded run 2 of 4  ━━━━╌╌╌╌╌╌╌╌╌╌╌╌ 25 %",
        "Recording: stage 1, 4 of 8 steps, iteration 3",
    ]


def test_first_words_are_shown_at_once(capsys: pytest.CaptureFixture[str]):
    with console.progress("Training", "loads PyTorch"):
        assert capsys.readouterr().err == "Training: loads PyTorch\n"


def test_clock_and_curve():
    assert [console.clock(s) for s in (7, 90, 3725)] == ["0:07", "1:30", "1:02:05"]
    assert console.sparkline([1.0]) == ""
    assert console.sparkline([1.0, 1.0]) == "▁▁"
