"""Words that several commands share: lists of names with what they do, NAME=NUMBER, and names that do not exist."""

import difflib
import textwrap
from collections.abc import Iterable, Mapping

from haloid.errors import HaloidError

LINE_WIDTH = 80


def listing(summaries: Mapping[str, str]) -> list[str]:
    """One entry per name with its summary beside it, wrapped to the line width."""
    indent = max(map(len, summaries)) + 4
    return [
        textwrap.fill(summary, LINE_WIDTH, initial_indent=f"  {name}".ljust(indent), subsequent_indent=" " * indent)
        for name, summary in summaries.items()
    ]


def named_numbers(option: str, words: Iterable[str], kind: str, example: str) -> dict[str, float]:
    """The numbers of NAME=NUMBER words that `option` was given; `kind` is such as LINK=KG."""
    numbers = {}
    for word in words:
        name, _, number = word.partition("=")
        try:
            numbers[name] = float(number)
        except ValueError:
            raise HaloidError(f"{option} {word} is not {kind}; expected such as {example}") from None
    return numbers


def unknown(name: str, kind: str, known: Iterable[str], help_command: str, also: Iterable[str] = ()) -> str:
    """The message for an unknown name, with the nearest known one."""
    what = "option" if name.startswith("-") else kind
    near = difflib.get_close_matches(name, [*known, "--help", *also], n=1)
    guess = f" Did you mean {near[0]}?" if near else ""
    return f"There is no {what} {name}.{guess} {kind.capitalize()}s: {', '.join(known)}. See {help_command}."
