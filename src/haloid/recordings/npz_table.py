"""Reading, step one, for npz: the csv's columns as arrays of one zip file, and the json text under the key `meta`.

The zip is opened by hand rather than by `np.load`, to know sizes before anything is unpacked; arrays of objects
(pickles) are refused.
"""

import io
import logging
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path

import numpy as np

from haloid.recordings.columns import TIME, Table, is_used
from haloid.recordings.csv_table import MAX_DATA_BYTES, read_bytes
from haloid.recordings.errors import Origin, RecordingError, listed, shown

META = "meta"
_ZIP_FAILURES = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, NotImplementedError)
_NPY_FAILURES = (ValueError, TypeError, SyntaxError, tokenize.TokenError, OverflowError, MemoryError, RecursionError)
_ENCRYPTED_FLAG = 0x1

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
        logger.warning("%s: ignoring arrays that are no columns of numbers: %s", path, listed(ignored))
    columns = {name: values for name, values in arrays.items() if name not in ignored}
    for name, values in columns.items():
        if not _is_column(values, row_count):
            raise _not_a_column(name, values, row_count, origin)
    return Table({name: values.astype(np.float64) for name, values in columns.items()}), text


def read_npz_arrays(path: Path, origin: Origin) -> dict[str, np.ndarray]:
    """All arrays of an npz file, without running anything in it."""
    return {name: _array(name, data, origin) for name, data in _members(path, origin).items()}


def _members(path: Path, origin: Origin) -> dict[str, bytes]:
    """The `.npy` files inside, unpacked."""
    data = read_bytes(path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = [info for info in archive.infolist() if info.filename.endswith(".npy")]
            _check_unpackable(infos, origin)
            return {info.filename.removesuffix(".npy"): archive.read(info) for info in infos}
    except _ZIP_FAILURES as error:
        raise origin.data_error(
            found=f"the zip archive is damaged or none at all ({shown(str(error))})" if data else "the file is empty",
            expected="a whole npz file, as np.savez writes it",
            next_step="The file may be cut off: copy or record it again.",
        ) from error


def _check_unpackable(infos: list[zipfile.ZipInfo], origin: Origin) -> None:
    size = sum(info.file_size for info in infos)
    if size > MAX_DATA_BYTES:
        raise origin.data_error(
            found=f"the arrays unpack to {size:,} bytes",
            expected=f"at most {MAX_DATA_BYTES:,} bytes",
            next_step="Give one run of the robot; split a longer log into runs.",
        )
    for info in infos:
        if info.flag_bits & _ENCRYPTED_FLAG or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise origin.data_error(
                column=info.filename.removesuffix(".npy"),
                found="the array is encrypted or compressed in an unknown way",
                expected="an npz file as np.savez or np.savez_compressed writes it",
                next_step="Write the file again with numpy.",
            )


def _array(name: str, data: bytes, origin: Origin) -> np.ndarray:
    try:
        return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    except _NPY_FAILURES as error:
        pickled = "Object arrays" in str(error)
        found = "the array holds pickled Python objects" if pickled else f"the array is damaged ({shown(str(error))})"
        raise origin.data_error(
            column=name,
            found=found,
            expected="an array of numbers",
            next_step="Convert it to float64 before np.savez." if pickled else "Copy or record the file again.",
        ) from error


def _text(meta: np.ndarray, origin: Origin) -> str:
    try:
        if meta.size == 1 and meta.dtype.kind == "U":
            # decoded by hand: numpy makes strings of characters that do not exist
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
        expected=f"one number a control step: shape {length}, float64",
        next_step="Write one array for each column of the csv form, all as long as 'time'.",
    )
