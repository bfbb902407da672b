"""Fuzzing the reader: whatever the bytes, the outcome is a Recording or a HaloidError, in bounded time."""

import io
import json
import random
import time
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haloid.errors import HaloidError
from haloid.recordings.files.read import read_recording
from haloid.recordings.files.write import write_recording
from haloid.recordings.recording import Recording

MAX_SECONDS = 2.0
MUTATIONS = 400
NPY_HEADER_BYTES = 128
TOKENS = [b"", b"\0", b",", b'"', b"\n", b"\r", b"nan", b"inf", b"-", b"1e999", b"9" * 400, b"\xff", b"\xef\xbb\xbf"]
TOKENS += [b"q:", b"time", b"{", b"}", b"[", b"null", b"true", b"\\", b"\\ud800", b"PK\x03\x04", b"\x93NUMPY"]
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda children: st.lists(children, max_size=8) | st.dictionaries(st.text(max_size=10), children, max_size=4),
    max_leaves=10,
)
JSON_KEYS = ["format", "robot", "clamp", "support", "actuation", "kp", "kd", "payload", "note", "clamp_pose"]


def outcome(path: Path) -> str:
    """ "read", or the message of the error."""
    started_s = time.process_time()
    try:
        result = "read" if isinstance(read_recording(path, allow_gaps=True), Recording) else "nothing"
    except HaloidError as error:
        result = str(error)
        result.encode()  # can be printed
        assert len(result) < 2000
    assert time.process_time() - started_s < MAX_SECONDS
    assert result != "nothing"
    return result


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Cut, flip, insert, repeat or swap a piece, one to three times."""
    for _ in range(rng.randint(1, 3)):
        a = rng.randrange(len(data) + 1)
        b = min(len(data), a + rng.choice([1, 2, 10, 100, 1000]))
        match rng.randrange(6):
            case 0:
                data = data[:a]
            case 1:
                data = data[:a] + data[b:]
            case 2 if a < len(data):
                data = data[:a] + bytes([data[a] ^ (1 << rng.randrange(8))]) + data[a + 1 :]
            case 3:
                data = data[:a] + rng.choice(TOKENS) + data[a:]
            case 4:
                data = data[:b] + data[a:]
            case _:
                data = data[:a] + rng.randbytes(b - a) + data[b:]
    return data


class ValidFiles:
    """The bytes of a valid recording in all three files; `put` writes them, one of them spoilt."""

    def __init__(self, recording: Recording, folder: Path):
        self.folder = folder
        write_recording(recording, folder / "run.csv")
        write_recording(recording, folder / "zip.npz")
        self.bytes = {file.suffix: file.read_bytes() for file in folder.iterdir()}

    def put(self, suffix: str, data: bytes) -> Path:
        """The path to read."""
        for other in (".csv", ".json"):
            (self.folder / f"run{other}").write_bytes(data if other == suffix else self.bytes[other])
        if suffix != ".npz":
            return self.folder / "run.csv"
        (self.folder / "zip.npz").write_bytes(data)
        return self.folder / "zip.npz"


@pytest.fixture(scope="module")
def valid(recording, tmp_path_factory) -> ValidFiles:
    return ValidFiles(recording, tmp_path_factory.mktemp("fuzz"))


@pytest.mark.parametrize("suffix", [".csv", ".json", ".npz"])
def test_mutated_files(valid, suffix):
    rng = random.Random(suffix)
    outcomes = {outcome(valid.put(suffix, mutated(valid.bytes[suffix], rng))) for _ in range(MUTATIONS)}
    assert len(outcomes) > 20


def test_mutated_arrays_inside_a_valid_zip(valid):
    """The zip's checksums would keep mutations away from the array parser."""
    with zipfile.ZipFile(io.BytesIO(valid.bytes[".npz"])) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    rng = random.Random("arrays")
    outcomes = set()
    for _ in range(MUTATIONS):
        name = rng.choice(["time.npy", "q:left_knee_joint.npy", "meta.npy"])
        header, body = members[name][:NPY_HEADER_BYTES], members[name][NPY_HEADER_BYTES:]
        spoilt = mutated(header, rng) + body if rng.random() < 0.7 else header + mutated(body, rng)
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as archive:
            for member, content in (members | {name: spoilt}).items():
                archive.writestr(member, content)
        outcomes.add(outcome(valid.put(".npz", data.getvalue())))
    assert len(outcomes) > 20


@pytest.mark.parametrize("suffix", [".csv", ".json", ".npz"])
def test_every_truncation_is_an_error_or_harmless(valid, suffix):
    size = len(valid.bytes[suffix])
    for length in range(0, size - 1, max(1, size // 150)):
        result = outcome(valid.put(suffix, valid.bytes[suffix][:length]))
        assert suffix == ".csv" or result != "read"


@settings(max_examples=150, deadline=None, derandomize=True)
@given(changes=st.dictionaries(st.sampled_from(JSON_KEYS), JSON_VALUES, min_size=1, max_size=3))
def test_any_json_values(valid, changes):
    outcome(valid.put(".json", json.dumps(json.loads(valid.bytes[".json"]) | changes).encode()))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    header=st.lists(st.sampled_from(["time", "q:left_knee_joint", "target:x", "", '"', "a;b"]) | st.text(max_size=8)),
    rows=st.lists(st.lists(st.floats().map(repr) | st.text(max_size=6), max_size=8), max_size=8),
)
def test_any_csv_text(valid, header, rows):
    text = "\n".join(",".join(row) for row in [header, *rows])
    outcome(valid.put(".csv", text.encode("utf-8", "replace")))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    cells=st.lists(
        st.tuples(st.integers(1, 60), st.integers(0, 58), st.floats().map(repr) | st.text(max_size=6)),
        min_size=1,
        max_size=4,
    )
)
def test_any_cells_in_a_valid_csv(valid, cells):
    rows = [line.split(",") for line in valid.bytes[".csv"].decode().splitlines()]
    for row, column, cell in cells:
        rows[row][column] = cell
    outcome(valid.put(".csv", "".join(",".join(row) + "\n" for row in rows).encode("utf-8", "replace")))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(data=st.binary(max_size=300), suffix=st.sampled_from([".csv", ".json", ".npz"]))
def test_any_bytes(valid, data, suffix):
    assert outcome(valid.put(suffix, data)) != "read"


@pytest.mark.parametrize(
    "text",
    [
        ",".join(f"c{i}" for i in range(200_000)) + "\n1\n",
        "time," * 100_000 + "\n",
        "time,x\n" + "1\n" * 300_000,
        "x" * 2_000_000,
        '"' * 1_000_000,
        "time\n" + "\n" * 1_000_000 + "1,2",
        "time,q:" + "y" * 500_000 + "\n0,0\n",
    ],
    ids=["wide", "duplicates", "long", "name", "quotes", "blank", "joint"],
)
def test_large_nonsense_does_not_hang(valid, text):
    assert outcome(valid.put(".csv", text.encode())) != "read"
