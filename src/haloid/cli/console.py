"""What a command shows: results on stdout, progress and errors on stderr.

Progress is a live line on a terminal, with a bar, the time left and a small curve where they are known, and plain
lines, at most one every two seconds, anywhere else.
"""

import logging
import math
import re
import shlex
import shutil
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
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
BAR_WIDTH, SPARK_WIDTH = 16, 24
SPARKS = "▁▂▃▄▅▆▇█"
COUNTED = re.compile(r"[\w ]*?\b(\d+) of (\d+)")

results = Console(highlight=False, markup=False, emoji=False)
"""Stdout."""
messages = Console(stderr=True, highlight=False, markup=False, emoji=False)
"""Stderr."""


class Progress:
    """Reports progress: words and, where known, the fraction that is done and a number to plot."""

    def __init__(self, what: str, show: Callable[[str], None]) -> None:
        self._what, self._show = what, show
        self._started_s = self._last_s = time.monotonic()
        self._values: deque[float] = deque(maxlen=SPARK_WIDTH)

    def __call__(self, detail: str, *, done: float | None = None, value: float | None = None) -> None:
        """Where the words hold a count, as in "run 2 of 6", the fraction that is done comes from it."""
        now_s = time.monotonic()
        if value is not None and math.isfinite(value):
            self._values.append(value)
        if not messages.is_terminal:
            if now_s - self._last_s >= PLAIN_INTERVAL_S:
                self._last_s = now_s
                self._show(f"{self._what}: {detail}")
            return
        counted = COUNTED.match(detail)
        if done is None and counted is not None and int(counted[2]):
            done = (int(counted[1]) - 1) / int(counted[2])  # the one that is named is still running
        parts = [] if done is None else [self._bar(done, now_s - self._started_s)]
        self._show("  ".join([f"{self._what}: {detail}", *parts, sparkline(self._values)]).rstrip())

    def _bar(self, done: float, spent_s: float) -> str:
        done = min(max(done, 0.0), 1.0)
        filled = round(BAR_WIDTH * done)
        left = f" {clock(spent_s * (1 - done) / done)} left" if done > 0 and spent_s > 1 else ""
        return f"{'━' * filled}{'╌' * (BAR_WIDTH - filled)} {100 * done:.0f} %{left}"


def clock(seconds: float) -> str:
    """Minutes and seconds, or hours too."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}" if minutes >= 60 else f"{minutes}:{rest:02d}"


def sparkline(values: Iterable[float]) -> str:
    """A curve in one line of text; nothing for fewer than two values."""
    values = list(values)
    if len(values) < 2:
        return ""
    low, span = min(values), (max(values) - min(values)) or 1.0
    return "".join(SPARKS[round((len(SPARKS) - 1) * (value - low) / span)] for value in values)


@contextmanager
def progress(what: str, first: str = "") -> Iterator[Progress]:
    """Show that `what` is running, starting with the `first` words; ends with the time it took.

    >>> with progress("Recording") as say:  # doctest: +SKIP
    ...     say("run 2 of 6")
    """
    started_s = time.monotonic()
    begun = f"{what}: {first}" if first else what
    if messages.is_terminal:
        with messages.status(Text(begun)) as status:
            yield Progress(what, lambda line: status.update(Text(line)))
    else:
        messages.print(begun, soft_wrap=True)
        yield Progress(what, lambda line: messages.print(line, soft_wrap=True))
    messages.print(f"{what}: done in {time.monotonic() - started_s:.1f} s", soft_wrap=True)


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


def next_command(*words: object) -> None:
    """Say on stdout which command comes next, as it can be typed here."""
    results.print(f"next: {_program()} {shlex.join(map(str, words))}", soft_wrap=True)


def _program() -> str:
    """`haloid` where the shell finds it, else the path by which it was started."""
    started = Path(sys.argv[0])
    found = shutil.which("haloid")
    if started.name != "haloid" or (found is not None and Path(found).resolve() == started.resolve()):
        return "haloid"
    return shlex.quote(str(started))


def error(message: str) -> None:
    """Say on stderr why the command ends."""
    messages.print(Text("haloid: ", style="bold red"), Text(message), sep="", soft_wrap=True)


class LogHandler(logging.Handler):
    """The library's log records as lines on stderr that do not disturb a live progress line."""

    def emit(self, record: logging.LogRecord) -> None:
        messages.print(f"{record.levelname.lower()}: {record.getMessage()}", soft_wrap=True)
