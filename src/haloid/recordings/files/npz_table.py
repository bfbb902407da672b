"""Reading, step one, for npz: the csv's columns as arrays of one zip file, and the json text under the key `meta`."""

import logging
from pathlib import Path

import numpy as np

from haloid.npz import NpzError, read_arrays
from haloid.recordings.errors import Origin, RecordingError, listed, shown
from haloid.recordings.files.columns import TIME, Table, is_used
from haloid.recordings.files.csv_table import MAX_DATA_BYTES, read_bytes

META = "meta"

logger = logging.getLogger(__name__)


def read_npz_table(path: Path, origin: Origin) -> tuple[Table, str]:
    """The columns, and the text of the metadata."""
    arrays = read_npz_arrays(path, origin)
    if META not in arrays:
        raise origin.data_error(
            column=META,
            found=f"the array is missing; the file has {listed(list(arrays))}",
            expected="the recording's json text under that key",
            next_step="Add it: np.savez(..., meta=json.dumps({...})).",
        )
    text = _text(arrays.pop(META), origin)
    row_count = next((len(values) for name, values in arrays.items() if name == TIME and values.ndim == 1), None)
    ignored = [name for name, values in arrays.items() if not is_used(name) and not _is_column(values, row_count)]
    if ignored:
        logger.warning("%s: ignoring arrays that are not columns of numbers: %s", path, listed(ignored))
    columns = {name: values for name, values in arrays.items() if name not in ignored}
    for name, values in columns.items():
        if not _is_column(values, row_count):
            raise _not_a_column(name, values, row_count, origin)
    return Table({name: values.astype(np.float64) for name, values in columns.items()}), text


def read_npz_arrays(path: Path, origin: Origin) -> dict[str, np.ndarray]:
    """All arrays of an npz file, without running anything in it."""
    try:
        return read_arrays(read_bytes(path), MAX_DATA_BYTES)
    except NpzError as error:
        raise origin.data_error(
            column=error.array, found=error.found, expected=error.expected, next_step=f"{error.next_step}."
        ) from error


def _text(meta: np.ndarray, origin: Origin) -> str:
    try:
        if meta.size == 1 and meta.dtype.kind == "U":
            # decoded by hand: numpy makes strings of invalid characters
            return meta.astype(meta.dtype.newbyteorder("<")).tobytes().decode("utf-32-le").rstrip("\0")
        if meta.size == 1 and meta.dtype.kind == "S":
            return meta.item().decode("utf-8-sig")
    except ValueError as error:
        found = f"the text is damaged ({shown(str(error))})"
    else:
        found = f"found an array of shape {meta.shape} and type {meta.dtype}"
    raise origin.data_error(
        column=META,
        found=found,
        expected="one json text",
        next_step="Write it as np.savez(..., meta=json.dumps({...})).",
    )


def _is_column(values: np.ndarray, row_count: int | None) -> bool:
    return values.dtype.kind in "fiub" and values.ndim == 1 and len(values) == (row_count or len(values))


def _not_a_column(name: str, values: np.ndarray, row_count: int | None, origin: Origin) -> RecordingError:
    length = f"({row_count},)" if row_count else "(T,)"
    return origin.data_error(
        column=name,
        found=f"found an array of shape {values.shape} and type {values.dtype}",
        expected=f"one number per control step: shape {length}, float64",
        next_step="Write one array for each column of the csv form, all as long as 'time'.",
    )
