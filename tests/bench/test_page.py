"""The benchmark pages say what the kept results say."""

from pathlib import Path

import pytest

from haloid.bench.page import BEGIN, load_results, page, readme_section, with_section

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


def test_a_missed_target_is_shown_as_missed():
    result = {"benchmark": "noise", "targets": [{"target": "MISSED: coverage 0.8", "met": False}]}
    section = readme_section([result])
    assert section.startswith(BEGIN)
    assert "| `haloid bench noise` | MISSED: coverage 0.8 |" in section
