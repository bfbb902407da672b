"""Reading, step one, for csv: bytes become named columns of numbers.

What spreadsheets and loggers do to a csv without changing its meaning is accepted: a byte order mark, CRLF, blank
lines, quoted or padded names, a trailing comma. Text in a column that haloid does not use drops that column; anywhere
else it is an error that names the cell.
"""

import csv
import logging
from array import array
from collections import Counter
from pathlib import Path

import numpy as np

from haloid.recordings.errors import Origin, RecordingError, listed, shown
from haloid.recordings.files.columns import Table, is_used

MAX_DATA_BYTES = 1_000_000_000
"""A day of 29 joints at 50 Hz; larger files are not a single run."""
_EMPTY_CELLS = {"", "na", "n/a", "#n/a", "null", "none", "-"}

logger = logging.getLogger(__name__)


def read_csv_table(path: Path, origin: Origin, *, header: bool = True) -> Table:
    """Without `header`, a first line of numbers is a row, and columns are called by their numbers from 0."""
    text = decoded(read_bytes(path), str(path))
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    numbered = [(number, line) for number, line in enumerate(lines, start=1) if line.strip(", \t\0")]
    if not numbered:
        raise origin.data_error(
            found="the file is empty" if not text else "the file has only blank lines",
            expected="a header line and one row per control step",
            next_step="Record or copy the file again.",
        )
    header_line, header_text = numbered[0]
    first_cells = [cell.strip() for cell in _cells(header_text.rstrip(", \t"))]
    if not header and _are_numbers(first_cells):
        names, rows = [str(number) for number in range(len(first_cells))], numbered
    else:
        names, rows = _header(header_text, header_line, str(path)), numbered[1:]
    if not rows:
        raise origin.data_error(
            found="the file has a header but no rows",
            expected="one row per control step below it",
            next_step="Record or copy the file again.",
        )
    values, dropped = _numbers(rows, names, header_text, Origin(str(path), "", [number for number, _ in rows]))
    if dropped:
        logger.warning("%s: ignoring columns that hold text: %s", path, listed(dropped))
    if lines[-1]:
        logger.warning("%s: the last line does not end in a line break; its last value may be cut short", path)
    columns = {name: values[:, i] for i, name in enumerate(names) if name not in dropped}
    return Table(columns, [number for number, _ in rows])


def read_bytes(path: Path) -> bytes:
    """The whole of a regular file of sensible size."""
    try:
        size = path.stat().st_size
        if path.is_file() and size <= MAX_DATA_BYTES:
            return path.read_bytes()
    except OSError as error:
        raise RecordingError(
            str(path),
            found=f"the file cannot be read ({error.strerror})",
            expected="a readable file",
            next_step="Check the path and its permissions.",
        ) from error
    what = f"the file has {size:,} bytes" if path.is_file() else "this is not a regular file"
    raise RecordingError(
        str(path),
        found=what,
        expected=f"a file of at most {MAX_DATA_BYTES:,} bytes",
        next_step="Give one run of the robot; split a longer log into runs.",
    )


def decoded(data: bytes, file: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise RecordingError(
            file,
            found="the file is UTF-16 (a spreadsheet's 'Unicode text')",
            expected="UTF-8",
            next_step="Save it as 'CSV UTF-8'.",
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RecordingError(
            file,
            f"line {line}",
            found=f"byte 0x{data[error.start]:02x} is not UTF-8 text",
            expected="a csv file in UTF-8",
            next_step="The file is damaged, or not a csv: copy it again or save it as UTF-8.",
        ) from error


def _header(text: str, line: int, file: str) -> list[str]:
    names = [name.strip() for name in _cells(text)]
    while names and not names[-1]:
        names.pop()
    problem = None
    if _are_numbers(names):
        next_step = (
            "Add the header line (time, q:JOINT, ...), or say what its columns are: haloid convert --columns time=0 ..."
        )
        problem = "the first line holds numbers, not names", next_step
    elif len(names) == 1 and (";" in text or "\t" in text):
        separator = "semicolons" if ";" in text else "tabs"
        problem = f"the columns are separated by {separator}", "Save it with commas (and decimal points)."
    elif "" in names:
        problem = f"column {names.index('') + 1} has no name", "Name the column or remove it."
    elif len(set(names)) < len(names):
        first = Counter(names).most_common(1)[0][0]
        places = [i + 1 for i, name in enumerate(names) if name == first]
        found = f"column {shown(first)} appears {len(places)} times (columns {places[0]} and {places[1]})"
        problem = found, "Keep one of them."
    if problem:
        expected = "one header line of distinct, comma-separated names"
        raise RecordingError(file, f"line {line}", found=problem[0], expected=expected, next_step=problem[1])
    return names


def _numbers(
    rows: list[tuple[int, str]], names: list[str], header: str, origin: Origin
) -> tuple[np.ndarray, list[str]]:
    """The `(T, columns)` values, and the unused columns that hold text."""
    values = array("d")  # grows with what was actually read, whatever the header promises
    text_columns: dict[str, None] = {}
    for row, (_, line) in enumerate(rows):
        cells = _cells(line)
        if len(cells) == len(names) + 1 and not cells[-1].strip():
            cells.pop()
        if len(cells) != len(names):
            raise _wrong_cell_count(row, len(rows), line, cells, names, origin)
        try:
            values.extend(list(map(float, cells)))
        except ValueError:
            if line.strip() == header.strip():
                raise _repeated_header(row, origin) from None
            values.extend(
                _number(cell, name, row, text_columns, origin) for name, cell in zip(names, cells, strict=True)
            )
    return np.array(values).reshape(len(rows), len(names)), list(text_columns)


def _number(cell: str, column: str, row: int, text_columns: dict[str, None], origin: Origin) -> float:
    try:
        return float(cell)
    except ValueError:
        empty = cell.strip().lower() in _EMPTY_CELLS
    if not is_used(column):
        if not empty:
            text_columns[column] = None
        return float("nan")
    raise origin.data_error(
        column=column,
        row=row,
        found=f"the value is missing ({shown(cell)})" if empty else f"{shown(cell)} is not a number",
        expected="a number in every cell",
        next_step="Remove the row if the recording can start or end there; otherwise record again.",
    )


def _wrong_cell_count(
    row: int, row_count: int, line: str, cells: list[str], names: list[str], origin: Origin
) -> RecordingError:
    next_step = "Fix or remove the line; if others look the same, write the log again."
    if row == row_count - 1 and len(cells) < len(names):
        next_step = "The file is cut off in its last line: copy it again, or delete that line."
    elif len(cells) >= 2 * len(names) - 1:
        next_step = "Are these decimal commas? Write numbers with a decimal point."
    elif ";" in line:
        next_step = "Separate the cells by commas."
    return origin.data_error(
        row=row,
        found=f"the row has {len(cells)} cells, the header {len(names)}",
        expected="as many cells as the header has names",
        next_step=next_step,
    )


def _repeated_header(row: int, origin: Origin) -> RecordingError:
    return origin.data_error(
        row=row,
        found="the header line appears again",
        expected="one header, at the top",
        next_step="Two logs were joined: split the file at that line into two recordings.",
    )


def _cells(line: str) -> list[str]:
    if '"' not in line:
        return line.split(",")
    try:
        return next(csv.reader([line], skipinitialspace=True))
    except csv.Error:
        return line.split(",")


def _are_numbers(cells: list[str]) -> bool:
    try:
        return [float(cell) for cell in cells] != []
    except ValueError:
        return False
