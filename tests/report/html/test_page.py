import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from haloid.outputs import OutputError
from haloid.report import Figure, KeyNumbers, Note, Section, Table, Text, plots, write_report
from haloid.report.html.page import render
from haloid.report.html.palette import COLOURS

HOSTILE = '<script>alert("1")</script> & $x_1'
VOID = {"meta", "path", "use", "br"}


def sections(text: str = "plain") -> list[Section]:
    time_s = np.linspace(0.0, 1.0, 50)
    wave = np.sin(time_s)[:, None]
    curves = plots.joint_curves(time_s, [text], {text: wave, "measured": 0.9 * wave}, caption=text)
    return [
        Section(text, [Text(f"{text}\n\nsecond"), Note(text), KeyNumbers([(text, text, text)])]),
        Section("all", [Table([text, "mass (kg)"], [[text, 1.5]], note=text), curves, curves]),
    ]


class Page(HTMLParser):
    """Tags, ids and the text outside of style sheets; fails on a tag that is not closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            self.ids += [value or ""] if name == "id" else []
            self.references += [value or ""] if name in ("href", "src") else []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data


def test_page_holds_what_it_was_given():
    page = Page(render("A G1 with a load", "The torso carries 6 kg.", sections("left_knee_joint")))
    for words in ("A G1 with a load", "The torso carries 6 kg.", "left_knee_joint", "second", "mass (kg)", "1.5"):
        assert words in page.text
    assert page.tags.count("section") == 2
    assert page.tags.count("svg") == 2


def test_every_text_is_escaped():
    html = render(HOSTILE, HOSTILE, sections(HOSTILE))
    page = Page(html)
    assert "script" not in page.tags
    # title twice, lead, then of the sections: title, text, note, three of a key number, table head, cell and note,
    # and of each figure the caption, a legend's entry and the plot's own title
    assert page.text.count(HOSTILE) == 12 + 2 * 3


def test_page_needs_no_network_and_no_script():
    html = render("t", "l", sections())
    page = Page(html)
    assert all(reference.startswith("#") for reference in page.references)
    assert not re.search(r"@import|url\((?!#)|<script|<link|<img", html)
    assert "http" not in re.sub(r"xmlns(:xlink)?=\"[^\"]*\"", "", html)


def test_ids_are_unique_and_references_have_a_target():
    html = render("t", "l", sections())
    page = Page(html)
    assert len(set(page.ids)) == len(page.ids)
    targets = set(re.findall(r"url\(#([^)]*)\)", html)) | {r[1:] for r in page.references}
    assert targets <= set(page.ids)


def test_same_sections_give_the_same_page():
    assert render("t", "l", sections()) == render("t", "l", sections())


def test_plots_follow_light_and_dark():
    html = render("t", "l", sections())
    for colour in COLOURS.values():
        assert colour.light in html
        assert colour.dark in html
    svg = html[html.index("<svg") :]
    drawn = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", svg))
    assert drawn == set(), f"not of the palette: {drawn}"


def test_report_is_written_whole_or_not_at_all(tmp_path: Path):
    path = tmp_path / "report.html"
    write_report(path, "t", "l", sections())
    whole = path.read_text(encoding="utf-8")
    broken = Section("broken", [Figure(plots="not a plot", caption="")])  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        write_report(path, "t", "l", [broken])
    assert path.read_text(encoding="utf-8") == whole
    assert [f.name for f in tmp_path.iterdir()] == ["report.html"]


def test_report_where_a_directory_is(tmp_path: Path):
    with pytest.raises(OutputError, match="it is a directory"):
        write_report(tmp_path, "t", "l", [])
