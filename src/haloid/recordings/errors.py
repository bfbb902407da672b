"""What is wrong with a recording, and where: the one error its reader raises, and the places it points at.

A message starts with the file, names column and row (or the json's key), and says what was found, what was expected
and what to do next.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from haloid.errors import HaloidError

_NAME_CHARS_MATCHED = 200
"""Longer names are not typos, and comparing them takes quadratic time."""
_SHOWN_CHARS = 60


class RecordingError(HaloidError):
    """A recording that cannot be used as it is."""

    def __init__(self, file: str, where: str = "", *, found: str, expected: str, next_step: str):
        self.file = file
        place = f"{file}: {where}: " if where else f"{file}: "
        message = f"{place}{found}. Expected {expected}. {next_step}"
        super().__init__(message.encode("utf-8", "backslashreplace").decode("utf-8"))


@dataclass(frozen=True)
class Origin:
    """The files a recording is in, and the lines of its rows, so that a message can point at a cell."""

    data_file: str
    meta_file: str
    row_lines: Sequence[int] | None = None
    """Line of each data row, counted from 1; None: the rows have no lines (npz, memory)."""

    def data_error(
        self, *, found: str, expected: str, next_step: str, column: str | None = None, row: int | None = None
    ) -> RecordingError:
        """An error in the columns; `row` counts from 0, the message from 1."""
        where = [f"column {shown(column)}"] if column is not None else []
        where += [self.row_name(row)] if row is not None else []
        return RecordingError(self.data_file, ", ".join(where), found=found, expected=expected, next_step=next_step)

    def meta_error(self, key: str, *, found: str, expected: str, next_step: str) -> RecordingError:
        return RecordingError(self.meta_file, f"key {shown(key)}", found=found, expected=expected, next_step=next_step)

    def row_name(self, row: int) -> str:
        line = f" (line {self.row_lines[row]})" if self.row_lines is not None else ""
        return f"row {row + 1}{line}"


def shown(value: object) -> str:
    """A user's value as it appears in a message: quoted, without control characters, of bounded length."""
    text = repr(value[: _SHOWN_CHARS + 1] if isinstance(value, str) else value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


def near_miss(name: str, available: Iterable[str]) -> str | None:
    """The available name that `name` was probably meant to be."""
    if len(name) > _NAME_CHARS_MATCHED:
        return None
    by_lower_case = {option.lower(): option for option in available if len(option) <= _NAME_CHARS_MATCHED}
    matches = get_close_matches(name.strip().lower(), by_lower_case, n=1)
    return by_lower_case[matches[0]] if matches else None


def did_you_mean(name: str, available: Iterable[str]) -> str:
    """The sentence that offers the near miss, followed by a space; empty where there is none."""
    match = near_miss(name, available)
    return f"Did you mean {shown(match)}? " if match else ""


def listed(names: Sequence[str], limit: int = 5) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(shown(name) for name in names[:limit]) + more
