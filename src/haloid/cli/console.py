"""What a command shows: results on stdout, progress and errors on stderr.

Progress is a live line on a terminal and plain lines, at most one every two seconds, anywhere else.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

if TYPE_CHECKING:
    from haloid.report import Table

PLAIN_INTERVAL_S = 2.0

results = Console(highlight=False, markup=False, emoji=False)
"""Stdout."""
messages = Console(stderr=True, highlight=False, markup=False, emoji=False)
"""Stderr."""


@contextmanager
def progress(what: str) -> Iterator[Callable[[str], None]]:
    """Show that `what` is under way; the yielded function says how far it is. Ends with the time it took.

    >>> with progress("Recording") as say:  # doctest: +SKIP
    ...     say("run 2 of 6")
    """
    started_s = time.monotonic()
    if messages.is_terminal:
        with messages.status(Text(what)) as status:
            yield lambda detail: status.update(Text(f"{what}: {detail}"))
    else:
        messages.print(what, soft_wrap=True)
        yield _plain_lines(what)
    messages.print(f"{what}: done in {time.monotonic() - started_s:.1f} s", soft_wrap=True)


def _plain_lines(what: str) -> Callable[[str], None]:
    last_s = time.monotonic()

    def say(detail: str) -> None:
        nonlocal last_s
        if time.monotonic() - last_s >= PLAIN_INTERVAL_S:
            last_s = time.monotonic()
            messages.print(f"{what}: {detail}", soft_wrap=True)

    return say


def print_table(table: "Table") -> None:
    """Print a report's table to stdout."""
    grid = _grid(table, narrow=False)
    unlimited = results.options.update(max_width=10_000)
    if results.measure(grid, options=unlimited).maximum > results.width:
        grid = _grid(table, narrow=True)
    results.print(grid)
    if table.note:
        results.print(table.note)


def _grid(table: "Table", narrow: bool) -> RichTable:
    """The table for the console; a narrow one breaks the headings over numbers to leave the room to words."""
    rows = table.texts()
    grid = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for column, is_numeric in enumerate(table.numeric_columns()):
        heading = table.columns[column]
        unbroken = [*heading.split(), *(row[column] for row in rows)]
        grid.add_column(
            heading,
            justify="right" if is_numeric else "left",
            max_width=max(map(len, unbroken)) if narrow and is_numeric else None,
            overflow="fold",
        )
    for row in rows:
        grid.add_row(*row)
    return grid


def wrote(path: Path) -> None:
    """Say on stdout, on one line, where a result is."""
    results.print(f"wrote {path}", soft_wrap=True)


def error(message: str) -> None:
    """Say on stderr why the command ends."""
    messages.print(Text("haloid: ", style="bold red"), Text(message), sep="", soft_wrap=True)


class LogHandler(logging.Handler):
    """The library's log records as lines on stderr that do not disturb a live progress line."""

    def emit(self, record: logging.LogRecord) -> None:
        messages.print(f"{record.levelname.lower()}: {record.getMessage()}", soft_wrap=True)
