"""The benchmark pages say what the kept results say."""

from pathlib import Path

import pytest

from haloid.bench.page import BEGIN, PAPER_TABLES, load_results, page, paper_section, readme_section, with_section

ROOT = Path(__file__).parents[2]


@pytest.fixture
def results():
    found = load_results(ROOT / "benchmarks")
    if not found:
        pytest.skip("no results are kept beside these tests")
    return found


def test_the_page_is_made_from_the_kept_results(results):
    assert (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8") == page(results)


def test_the_readme_has_the_kept_results(results):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme == with_section(readme, readme_section(results))


def test_the_papers_tables_have_the_kept_results(results):
    text = (ROOT / "docs" / "paper-tables.md").read_text(encoding="utf-8")
    assert text == with_section(text, paper_section(results))


def test_a_paper_table_says_how_far_it_has_come():
    targets = [{"target": "met: a", "met": True}, {"target": "MISSED: b", "met": False}]
    section = paper_section([{"benchmark": "table2", "targets": targets}])
    assert "| `haloid bench table2` | [numbers](benchmarks.md#table2); 1 of 2 targets met |" in section
    assert section.count("no result is kept yet") + section.count("not built") == len(PAPER_TABLES) - 1


def test_a_missed_target_is_shown_as_missed():
    target = {"target": "MISSED: coverage 0.8", "met": False}
    headline = {"rms_over_bound": 1.1, "coverage95": 0.8}
    section = readme_section([{"benchmark": "noise", "headline": headline, "targets": [target]}])
    assert section.startswith(BEGIN)
    assert "| – | 1.10; 80.0% | `haloid bench noise` |" in section
    assert "\n**1 of 1 targets are missed**, in [noise](docs/benchmarks.md#noise).\n" in section
