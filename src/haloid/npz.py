"""Arrays of an npz file, read without running anything in it and without unpacking more than the caller allows.

In: a file, or its bytes. Out: its arrays by name. The zip is opened by hand rather than by `np.load`, so that sizes are
known before memory is allocated: the archive's own, and the one each array's header declares. Arrays of objects
(pickles) are refused.
"""

import io
import math
import struct
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import IO

import numpy as np

from haloid.errors import HaloidError

_ZIP_FAILURES = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, NotImplementedError)
_NPY_FAILURES = (ValueError, TypeError, SyntaxError, tokenize.TokenError, OverflowError, MemoryError, RecursionError)
_ENCRYPTED_FLAG = 0x1
_WRITE_AGAIN = "Write the file again with numpy"


class NpzError(HaloidError):
    """What is wrong with the archive, or with one of its arrays; the reader of a format adds the file's name."""

    def __init__(self, found: str, expected: str, next_step: str, array: str | None = None) -> None:
        self.found, self.expected, self.next_step, self.array = found, expected, next_step, array
        place = "" if array is None else f"array '{array}': "
        super().__init__(f"{place}{found}. Expected {expected}. {next_step}.")


def read_arrays(source: Path | bytes, most_bytes: int, only: str | None = None) -> dict[str, np.ndarray]:
    """All arrays of the archive, or the one named, which may unpack to at most `most_bytes`."""
    try:
        with zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source) as archive:
            infos = [info for info in archive.infolist() if info.filename.endswith(".npy")]
            infos = [info for info in infos if only in (None, info.filename.removesuffix(".npy"))]
            _check_unpackable(infos, most_bytes)
            return {info.filename.removesuffix(".npy"): _array(archive, info) for info in infos}
    except _ZIP_FAILURES as error:
        empty = not source if isinstance(source, bytes) else source.is_file() and not source.stat().st_size
        raise NpzError(
            "the file is empty" if empty else f"the file is not a zip archive, or is damaged ({_shown(error)})",
            "a whole npz file, as np.savez writes it",
            "The file may be cut off: copy or record it again",
        ) from error


def _check_unpackable(infos: list[zipfile.ZipInfo], most_bytes: int) -> None:
    size = sum(info.file_size for info in infos)
    if size > most_bytes:
        raise NpzError(
            f"the arrays unpack to {size:,} bytes",
            f"at most {most_bytes:,} bytes",
            "Keep one run per file, and split longer ones",
        )
    for info in infos:
        if info.flag_bits & _ENCRYPTED_FLAG or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise NpzError(
                "the array is encrypted or compressed in an unknown way",
                "an npz file as np.savez or np.savez_compressed writes it",
                _WRITE_AGAIN,
                info.filename.removesuffix(".npy"),
            )


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    name = info.filename.removesuffix(".npy")
    with archive.open(info) as stream:
        try:
            shape, fortran_order, dtype = _header(stream)
        except _NPY_FAILURES as error:
            raise NpzError(
                f"the array is damaged ({_shown(error)})", "an array of numbers", "Copy or record the file again", name
            ) from error
        if dtype.hasobject:
            raise NpzError(
                "the array holds pickled Python objects",
                "an array of numbers",
                "Convert it to float64 before np.savez",
                name,
            )
        size = math.prod(shape) * dtype.itemsize
        if size > info.file_size:
            raise NpzError(
                f"the array is damaged (it declares {size:,} bytes in a file of {info.file_size:,})",
                "an array of numbers",
                "Copy or record the file again",
                name,
            )
        data = stream.read(size)
    if len(data) != size:
        raise NpzError("the array is cut off", "an array of numbers", "Copy or record the file again", name)
    return np.frombuffer(bytearray(data), dtype).reshape(shape, order="F" if fortran_order else "C")


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(stream)
    return np.lib.format.read_array_header_2_0(stream)


def _shown(error: Exception) -> str:
    text = repr(str(error))
    return text if len(text) <= 60 else f"{text[:60]}…"
