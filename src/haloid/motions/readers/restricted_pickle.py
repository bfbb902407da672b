"""Motions, reading: pickles of arrays and plain values, and of nothing else.

In: the bytes of a pickle, or of a file that joblib wrote, compressed or not. Out: dicts, lists, strings, numbers and
arrays. A pickle is a program: it names functions and has them called. Here every name it may use stands for a class
of this module that only records the call; any other name is refused before anything is called. Nothing of numpy's or
joblib's is called by the file, and joblib need not be installed: its arrays are read from the bytes that follow them.
"""

import bz2
import gzip
import io
import lzma
import math
import pickle
import re
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np

from haloid.errors import HaloidError

MAX_BYTES = 1_000_000_000
"""Of the unpacked file; no clip is larger."""
_DTYPE = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248]|[US]\d{1,6}|O8?)")
_COMPRESSED: dict[bytes, Callable[[BinaryIO], BinaryIO]] = {
    b"\x1f\x8b": lambda stream: gzip.GzipFile(fileobj=stream),  # type: ignore[dict-item]
    b"BZ": bz2.BZ2File,
    b"\xfd7zXZ": lzma.LZMAFile,
    b"\x5d\x00": lzma.LZMAFile,
}
_DAMAGED = (
    pickle.UnpicklingError,
    *(TypeError, ValueError, EOFError, LookupError, AttributeError, MemoryError, OverflowError, RecursionError),
    *(ImportError, OSError, lzma.LZMAError, zlib.error),
)


class PickleRefusedError(HaloidError):
    def __init__(self, file: str, name: str):
        super().__init__(
            f"{file}: refused: the pickle wants to use {name}, and a pickle can run any program. "
            "Expected arrays and plain values alone. Save the motion as numpy arrays, with the software that made it."
        )


class PickleDamagedError(HaloidError):
    def __init__(self, file: str, reason: str):
        super().__init__(
            f"{file}: the pickle cannot be read ({reason[:80]}). Expected a whole pickle of arrays and plain values. "
            "The file may be cut off: copy it again."
        )


def read_plain_pickle(data: bytes, file: str) -> Any:
    """The value in the pickle; `file` names it in messages."""
    try:
        stream = io.BytesIO(_unpacked(data))
        return _plain(_Unpickler(stream, file).load())
    except _DAMAGED as error:
        raise PickleDamagedError(file, f"{type(error).__name__}: {error}") from error


def _unpacked(data: bytes) -> bytes:
    """joblib compresses whole files; the first bytes say how."""
    if data[:1] == b"\x78":
        unpacker = zlib.decompressobj()
        unpacked, whole = unpacker.decompress(data, MAX_BYTES), unpacker.eof
    else:
        opened = next((way for magic, way in _COMPRESSED.items() if data.startswith(magic)), None)
        if opened is None:
            return data
        unpacked = opened(io.BytesIO(data)).read(MAX_BYTES)
        whole = len(unpacked) < MAX_BYTES
    if not whole:
        raise ValueError(f"cut off, or larger than {MAX_BYTES:,} bytes unpacked")
    return unpacked


class _Unpickler(pickle.Unpickler):
    """Returns the recording classes for the names it knows. BytesIO cannot be peeked, so nothing is read ahead."""

    def __init__(self, stream: io.BytesIO, file: str):
        super().__init__(stream, encoding="latin1")
        self._file = file
        self._joblib_array = type("_JoblibArrayHere", (_JoblibArray,), {"stream": stream})

    def find_class(self, module_name: str, global_name: str) -> Any:
        home = re.sub(r"^numpy\._core\b", "numpy.core", module_name)  # numpy 2 renamed it
        match home, global_name:
            case "numpy", "ndarray":
                return _Called(_refuse_to_call)
            case "numpy", "dtype":
                return _Called(_Dtype)
            case "numpy.core.multiarray", "_reconstruct":
                return _Called(_empty_array)
            case "numpy.core.multiarray", "scalar":
                return _Called(_Scalar)
            case "numpy.core.numeric", "_frombuffer":
                return _Called(_array_from_buffer)
            case "joblib.numpy_pickle", "NumpyArrayWrapper":
                return self._joblib_array
            case "_codecs", "encode":  # how protocol 2 writes bytes
                return _Called(_encoded)
            case (("builtins" | "__builtin__"), "bytes"):  # and how it writes none
                return _Called(_no_bytes)
            case "collections", "OrderedDict":
                return dict
        raise PickleRefusedError(self._file, f"{module_name}.{global_name}")


class _Called:
    """A function of this module that a pickle may call and may not change."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]):
        self._function = function

    def __call__(self, *arguments: Any) -> Any:
        return self._function(*arguments)

    def __setstate__(self, state: Any) -> None:
        raise pickle.UnpicklingError("a function cannot be given a state")


class _Dtype:
    """A recorded np.dtype(name, align, copy), and the byte order it is then given."""

    def __init__(self, name: str, align: bool = False, copy: bool = False):
        del align, copy
        if not isinstance(name, str) or not _DTYPE.fullmatch(name):
            raise pickle.UnpicklingError(f"an array of type {name!r}")
        self.name = name

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _version, order, subarray, names, fields = state[:5]
        if order not in ("<", ">", "|", "=") or (subarray, names, fields) != (None, None, None):
            raise pickle.UnpicklingError("an array of records")
        self.name = order + self.name.lstrip("<>|=")

    def dtype(self) -> np.dtype:
        return np.dtype(self.name)


class _Array:
    """A recorded array: shape, type and bytes (or, for an array of objects, its list)."""

    value: Any = None

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _version, shape, dtype, fortran, raw = state
        self.value = raw if isinstance(raw, list) else _array(raw, dtype, shape, "F" if fortran else "C")


class _JoblibArray:
    """A recorded array that joblib wrote right after this place in the file."""

    stream: io.BytesIO
    value: Any = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        dtype, shape = state["dtype"], state["shape"]
        if not isinstance(dtype, _Dtype) or "O" in dtype.name:
            raise pickle.UnpicklingError("an array of Python objects")
        if state.get("numpy_array_alignment_bytes") is not None:
            self.stream.read(self.stream.read(1)[0])
        raw = self.stream.read(_size(shape) * dtype.dtype().itemsize)
        self.value = _array(raw, dtype, shape, state["order"])


class _Scalar:
    """A recorded numpy number."""

    def __init__(self, dtype: _Dtype, raw: bytes):
        self.value = _array(raw.encode("latin1") if isinstance(raw, str) else raw, dtype, (), "C").item()


def _array(raw: bytes | bytearray | str, dtype: _Dtype, shape: tuple[int, ...], order: str) -> np.ndarray:
    raw = raw.encode("latin1") if isinstance(raw, str) else raw  # Python 2 wrote bytes as text
    if not isinstance(dtype, _Dtype) or "O" in dtype.name or order not in ("C", "F"):
        raise pickle.UnpicklingError("an array of Python objects")
    if len(raw) != _size(shape) * dtype.dtype().itemsize:
        raise pickle.UnpicklingError(f"an array of {len(raw)} bytes with the shape {shape}")
    flat = np.frombuffer(raw, dtype.dtype()).copy()
    return flat.reshape(shape[::-1]).transpose() if order == "F" else flat.reshape(shape)


def _size(shape: tuple[int, ...]) -> int:
    if not all(type(length) is int and 0 <= length <= MAX_BYTES for length in shape):
        raise pickle.UnpicklingError(f"the shape {shape}")
    return math.prod(shape)


def _empty_array(subtype: Any, shape: Any, typecode: Any) -> _Array:
    del (
        subtype,
        shape,
        typecode,
    )  # numpy fills in all of them later; a subtype that is no ndarray was refused by its name
    return _Array()


def _array_from_buffer(raw: bytes, dtype: _Dtype, shape: tuple[int, ...], order: str) -> _Array:
    noted = _Array()
    noted.value = _array(raw, dtype, shape, order)
    return noted


def _encoded(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes in the encoding {encoding!r}")
    return text.encode("latin1")


def _no_bytes() -> bytes:
    return b""


def _refuse_to_call(*arguments: Any) -> Any:
    raise pickle.UnpicklingError("an array made by a call")


def _plain(noted: Any) -> Any:
    """The values that were recorded."""
    match noted:
        case dict():
            return {_plain(key): _plain(value) for key, value in noted.items()}
        case list():
            return [_plain(value) for value in noted]
        case tuple():
            return tuple(_plain(value) for value in noted)
        case _Array() | _JoblibArray() | _Scalar():
            return _plain(noted.value)
        case None | bool() | int() | float() | str() | bytes() | bytearray() | set() | frozenset():
            return noted
        case np.ndarray():
            return noted
    raise pickle.UnpicklingError(f"a bare {type(noted).__name__.strip('_')}")
