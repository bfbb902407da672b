"""Fuzzing the reader: whatever the bytes, the outcome is a Recording or a HaloidError, in bounded time."""

import json
import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from haloid.errors import HaloidError
from haloid.recordings.read import read_recording
from haloid.recordings.recording import Recording
from haloid.recordings.write import write_recording

MAX_SECONDS = 2.0
MUTATIONS = 400
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
    started_s = time.perf_counter()
    try:
        result = "read" if isinstance(read_recording(path, allow_gaps=True), Recording) else "nothing"
    except HaloidError as error:
        result = str(error)
        result.encode()  # can be printed
        assert len(result) < 2000
    assert time.perf_counter() - started_s < MAX_SECONDS
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


@pytest.fixture
def pair(recording, tmp_path) -> Path:
    return write_recording(recording, tmp_path / "run.csv")


@pytest.mark.parametrize("suffix", [".csv", ".json", ".npz"])
def test_mutated_files(recording, pair, suffix):
    file = pair.with_suffix(suffix)
    if suffix == ".npz":
        write_recording(recording, file)
    valid = file.read_bytes()
    rng = random.Random(suffix)
    outcomes = set()
    for _ in range(MUTATIONS):
        file.write_bytes(mutated(valid, rng))
        outcomes.add(outcome(file if suffix == ".npz" else pair))
    assert len(outcomes) > 20


@pytest.mark.parametrize("suffix", [".csv", ".json", ".npz"])
def test_every_truncation_is_an_error_or_harmless(recording, pair, suffix):
    file = pair.with_suffix(suffix)
    if suffix == ".npz":
        write_recording(recording, file)
    valid = file.read_bytes()
    for length in range(0, len(valid), max(1, len(valid) // 150)):
        file.write_bytes(valid[:length])
        result = outcome(file if suffix == ".npz" else pair)
        assert suffix == ".csv" or result != "read"


@settings(max_examples=150, deadline=None, derandomize=True)
@given(changes=st.dictionaries(st.sampled_from(JSON_KEYS), JSON_VALUES, min_size=1, max_size=3))
def test_any_json_values(recording, tmp_path_factory, changes):
    file = write_recording(recording, tmp_path_factory.mktemp("json") / "run.csv").with_suffix(".json")
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    outcome(file)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    header=st.lists(st.sampled_from(["time", "q:left_knee_joint", "target:x", "", '"', "a;b"]) | st.text(max_size=8)),
    rows=st.lists(st.lists(st.floats().map(repr) | st.text(max_size=6), max_size=8), max_size=8),
)
def test_any_csv_text(recording, tmp_path_factory, header, rows):
    file = write_recording(recording, tmp_path_factory.mktemp("csv") / "run.csv")
    file.write_text("\n".join(",".join(row) for row in [header, *rows]), encoding="utf-8", errors="replace")
    outcome(file)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    cells=st.lists(
        st.tuples(st.integers(0, 59), st.integers(0, 58), st.floats().map(repr) | st.text(max_size=6)),
        min_size=1,
        max_size=4,
    )
)
def test_any_cells_in_a_valid_csv(recording, tmp_path_factory, cells):
    file = write_recording(recording, tmp_path_factory.mktemp("cells") / "run.csv")
    rows = [line.split(",") for line in file.read_text().splitlines()]
    for row, column, cell in cells:
        rows[row + 1][column] = cell
    file.write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8", errors="replace")
    outcome(file)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(data=st.binary(max_size=300), suffix=st.sampled_from([".csv", ".json", ".npz"]))
def test_any_bytes(recording, tmp_path_factory, data, suffix):
    file = write_recording(recording, tmp_path_factory.mktemp("bytes") / "run.csv")
    spoilt = file.with_suffix(suffix)
    spoilt.write_bytes(data)
    assert outcome(spoilt if suffix == ".npz" else file) != "read"


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
def test_large_nonsense_does_not_hang(pair, text):
    pair.write_text(text)
    assert outcome(pair) != "read"
