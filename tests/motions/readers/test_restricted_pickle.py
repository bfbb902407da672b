"""Pickles: arrays and plain values of every protocol come out; anything else is refused, and nothing runs."""

import bz2
import collections
import gzip
import lzma
import os
import pickle
import zlib

import numpy as np
import pytest

from haloid.errors import HaloidError
from haloid.motions.readers.restricted_pickle import PickleRefusedError, read_plain_pickle

CONTENT = {
    "name": "walk",
    "fps": np.float64(29.5),
    "count": np.int32(7),
    "rows": np.arange(12, dtype=np.float32).reshape(3, 4),
    "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "big_endian": np.arange(3, dtype=">i4"),
    "flags": np.array([True, False]),
    "words": np.array(["left", "right"]),
    "objects": np.array(["a", None], dtype=object),
    "nothing": None,
    "raw": b"\x00\xff",
    "nested": [(1, 2.5), {"deep": np.zeros((0, 3))}, collections.OrderedDict(first=1)],
}


class _Runs:
    """Makes a file where it is unpickled."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


class _Subclass(np.ndarray):
    pass


def _assert_same(found, expected) -> None:
    assert type(found) is type(expected) or isinstance(expected, np.generic | collections.OrderedDict)
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for key in expected:
            _assert_same(found[key], expected[key])
    elif isinstance(expected, list | tuple):
        for one, other in zip(found, expected, strict=True):
            _assert_same(one, other)
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_plain_content_of_every_protocol(protocol: int):
    found = read_plain_pickle(pickle.dumps(CONTENT, protocol), "x.pkl")
    assert found["objects"] == ["a", None]
    expected = {key: value for key, value in CONTENT.items() if key != "objects"}
    _assert_same({key: value for key, value in found.items() if key != "objects"}, expected)


@pytest.mark.parametrize("compress", [zlib.compress, gzip.compress, bz2.compress, lzma.compress])
def test_compressed_whole(compress):
    found = read_plain_pickle(compress(pickle.dumps({"rows": CONTENT["rows"]})), "x.pkl")
    np.testing.assert_array_equal(found["rows"], CONTENT["rows"])


@pytest.mark.parametrize("module", ["numpy.core.multiarray", "numpy._core.multiarray"])
def test_the_names_of_numpy_1_and_2(module: str):
    data = pickle.dumps(CONTENT["rows"], 2)
    here = b"numpy._core.multiarray" if b"numpy._core.multiarray" in data else b"numpy.core.multiarray"
    np.testing.assert_array_equal(read_plain_pickle(data.replace(here, module.encode()), "x"), CONTENT["rows"])


def _joblib_file(array: np.ndarray, order: str, aligned: bool) -> bytes:
    """What joblib writes, by hand: the wrapper, then the array's own bytes, then the rest of the pickle."""
    dtype = pickle.dumps(array.dtype, 2)[2:-1]
    alignment = b"X\x1b\0\0\0numpy_array_alignment_bytesK\x10" if aligned else b""
    shape = b"(" + b"".join(b"K" + bytes([length]) for length in array.shape) + b"t"
    head = b"\x80\x02}X\x04\0\0\0rows" + b"cjoblib.numpy_pickle\nNumpyArrayWrapper\n)\x81}("
    head += b"X\x08\0\0\0subclasscnumpy\nndarray\nX\x05\0\0\0shape" + shape
    head += b"X\x05\0\0\0orderX\x01\0\0\0" + order.encode() + b"X\x05\0\0\0dtype" + dtype
    head += b"X\x0a\0\0\0allow_mmap\x88" + alignment + b"ub"
    padding = -(len(head) + 1) % 16
    raw = array.tobytes(order="F" if order == "F" else "C")
    return head + (bytes([padding]) + b"\xff" * padding if aligned else b"") + raw + b"s."


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("aligned", [True, False])
def test_joblib_arrays_are_read_from_the_bytes_behind_them(order: str, aligned: bool):
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    found = read_plain_pickle(_joblib_file(rows, order, aligned), "x.pkl")
    np.testing.assert_array_equal(found["rows"], rows)


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_what_would_run_is_refused_by_name_and_does_not_run(protocol: int, tmp_path):
    mark = tmp_path / "ran"
    code = f"open({str(mark)!r}, 'w')"
    for evil, name in (
        (_Runs(os.system, f"touch {mark}"), f"{os.system.__module__}.system"),
        (_Runs(eval, code), "eval"),
        (_Runs(exec, code), "exec"),
        (_Runs(getattr, "text", "upper"), "getattr"),
        (_Runs(np.load, str(mark), None, True), "numpy"),
        (np.zeros(3).view(_Subclass), "_Subclass"),
        (np.ma.zeros(3), "numpy.ma"),
        (_Runs(bytearray, 10), "bytearray"),
    ):
        data = pickle.dumps({"root_pos": np.zeros(3), "dof_pos": evil}, protocol)
        with pytest.raises(PickleRefusedError, match=f"refused: the pickle wants to use .*{name.replace('.', '[.]')}"):
            read_plain_pickle(data, "evil.pkl")
    assert not mark.exists()
    pickle.loads(pickle.dumps(_Runs(eval, code), protocol))
    assert mark.exists(), "the test must be able to see what runs"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        pickle.dumps(CONTENT)[:-20],
        zlib.compress(pickle.dumps(CONTENT))[:-20],
        b"cnumpy\ndtype\n(S'O8'\ntR.",  # a type and no array
        b"cnumpy\nndarray\n(I1000000000\ntR.",  # numpy's constructor itself
        b"cnumpy\ndtype\n}S'x'\nI1\nsb.",  # a state for a function
        b"cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(S'f8'\nI00\nI01\ntRS'1234'\ntR.",  # four bytes of eight
        b"\x80\x02]q\x00h\x00a.",  # a list that holds itself
    ],
)
def test_damaged_pickles_are_errors_of_the_file(data: bytes):
    with pytest.raises(HaloidError, match=r"x\.pkl: the pickle cannot be read"):
        read_plain_pickle(data, "x.pkl")
