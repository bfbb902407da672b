"""README and docs: every haloid command line in them parses, and every option in them exists."""

import re
import shlex
from pathlib import Path

import pytest

from haloid.cli import main as cli

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OPTION = re.compile(r"`(?:haloid (\S+) )?(--[a-z][a-z-]+)")


def commands(text: str) -> list[str]:
    """Lines of code blocks that call haloid, continued lines joined, comments cut."""
    blocks = re.findall(r"^```(?:\w*)\n(.*?)^```", text, re.M | re.S)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    calls = [re.sub(r"\s+#.*", "", line.removeprefix("$ ")) for line in lines]
    return [call for call in calls if call.startswith("haloid ") and "…" not in call]


CALLS = sorted({(page.name, call) for page in PAGES if page.is_file() for call in commands(page.read_text("utf-8"))})


def test_there_are_commands_to_check():
    assert len(CALLS) > 15


@pytest.mark.parametrize(("page", "call"), CALLS)
def test_a_command_in_the_docs_parses(page: str, call: str, capsys: pytest.CaptureFixture[str]):
    name, *words = shlex.split(call)[1:]
    assert name in cli.COMMANDS, f"{page}: {call}"
    try:
        cli.parsed(name, words)
    except SystemExit as error:
        pytest.fail(f"{page}: {call}\n{capsys.readouterr().err or error}")
