"""`haloid inspect` as a user meets it: one screen, one JSON document, one page."""

import json
import re
from pathlib import Path

import pytest

from haloid.cli import main as cli
from haloid.identify.results.answer import NORMAL_95

SCREEN_LINES = 34


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli.console.results, "_width", 80)


def test_one_screen_says_what_is_in_it(recordings: Path, capsys):
    assert cli.main(["inspect", str(recordings / "loaded-1.csv")]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert len(lines) <= SCREEN_LINES
    assert lines[-1].startswith("next: haloid identify --stages one --loaded ")
    assert max(map(len, lines[:-1])) <= 80
    assert lines[0] == "robot   g1, all its 29 joints, clamped at left_ankle_roll_link"
    assert lines[2] == "length  3.0 s: 150 rows at 50 Hz, no gaps"
    assert "6 of 29: at a limit, or moving the most or the least." in out
    assert "for a robot as in its data sheet" in " ".join(out.split())
    assert "- It lasts only 3.0 s." in out


def test_json_has_the_numbers_of_the_screen(recordings: Path, capsys):
    log = str(recordings / "loaded-1.csv")
    assert cli.main(["inspect", log, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert cli.main(["inspect", log]) == 0
    screen = capsys.readouterr().out
    assert found["format"] == "haloid-inspection-1"
    assert f"noise   {1e3 * found['noise_rad']:.3f} mrad" in screen
    for link in found["precision"]["links"]:
        row = re.search(rf"{link['link']} +± (\S+)", screen)
        assert row is not None
        assert float(row[1]) == pytest.approx(1e3 * NORMAL_95 * link["mass_std_kg"], rel=0.05)
    assert " ".join(found["advice"][0].split()) in " ".join(screen.split())


def test_the_page_is_whole_and_needs_nothing(recordings: Path, tmp_path: Path, capsys):
    page = tmp_path / "new" / "page.html"
    assert cli.main(["inspect", str(recordings / "still.csv"), "--html", str(page)]) == 0
    assert f"wrote {page}" in capsys.readouterr().out.replace("\n", "")
    html = page.read_text()
    assert "http" not in re.sub(r"xmlns(:xlink)?=\"[^\"]*\"", "", html)
    assert html.count("<svg") == 29
    assert "The robot hardly moves" in html
    assert [file.name for file in page.parent.iterdir()] == ["page.html"]


def test_gaps_are_shown_not_refused(recordings: Path, capsys):
    log = recordings / "loaded-1.csv"
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:60] + lines[70:]))
    assert cli.main(["inspect", str(log)]) == 0
    out = capsys.readouterr().out
    assert "1 gap, 10 rows lost" in out
    assert "--allow-gaps" in out


def test_a_log_may_be_described_by_options(recordings: Path, capsys):
    log = recordings / "loaded-1.csv"
    words = ["inspect", str(log), "--clamp", "left_ankle_roll_link", "--gains", "stiff"]
    assert cli.main(words) == 1
    assert "loaded-1.json describes loaded-1.csv, and so do the options clamp, gains" in capsys.readouterr().err
    log.with_suffix(".json").unlink()
    assert cli.main(words) == 0
    out = capsys.readouterr().out
    assert "note    converted from loaded-1.csv" in out
    assert "torso_link" in out


def test_a_pattern_names_one_log_or_is_refused(recordings: Path, tmp_path: Path, capsys):
    assert cli.main(["inspect", str(recordings / "loaded-*.csv")]) == 1
    assert "files; expected one. Inspect one log at a time" in capsys.readouterr().err
    single = tmp_path / "run.csv"  # as haloid record --runs 1 names it
    single.touch()
    assert cli.main(["inspect", str(tmp_path / "run-*.csv")]) == 1
    assert f"Did you mean {single}?" in capsys.readouterr().err


def test_what_cannot_be_read_ends_with_one_message(recordings: Path, tmp_path: Path, capsys):
    page = tmp_path / "page.html"
    assert cli.main(["inspect", str(recordings / "nothing.csv"), "--html", str(page)]) == 1
    assert "there is no file nothing.csv" in capsys.readouterr().err
    assert cli.main(["inspect", str(recordings / "loaded-1.csv"), "--payload-links", "torso"]) == 1
    assert "the robot has no link 'torso'; the nearest are: torso_link" in capsys.readouterr().err
    assert not page.exists()
