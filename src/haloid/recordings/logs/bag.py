"""Bags: a `.mcap` file, a `.db3` file or a rosbag2 folder becomes the messages of each topic, in order of log time.

Payloads stay undecoded. A file that ends too early or is damaged in places is read as far as it is intact, and a note
says what was left out.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from haloid.recordings.errors import RecordingError, listed
from haloid.recordings.logs.log import optional_package

MAX_CHUNK_BYTES = 1_000_000_000
_MCAP_MAGIC = b"\x89MCAP0\r\n"
_LATEST_NS = 2**62
"""Later stamps are damage; they are sorted last and lie outside of every grid."""
_SQLITE_MAGIC = b"SQLite format 3\0"

logger = logging.getLogger(__name__)


@dataclass
class Topic:
    name: str
    type_name: str
    log_time_ns: list[int] = field(default_factory=list)
    payloads: list[bytes] = field(default_factory=list)
    message_count: int = 0
    """Payloads of types that were not requested are counted, not kept."""


@dataclass
class Bag:
    path: Path
    topics: list[Topic] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def is_bag(path: Path) -> bool:
    """By content: magic bytes, or a folder with bag files in it."""
    if path.is_dir():
        return bool(_files_of(path)) or (path / "metadata.yaml").is_file()
    return path.suffix.lower() in (".mcap", ".db3") or _starts_with(path, _MCAP_MAGIC, _SQLITE_MAGIC)


def read_bag(path: Path, types: Iterable[str]) -> Bag:
    """All topics of the bag, with the payloads of those of `types`."""
    bag, wanted = Bag(path), set(types)
    files = _files_of(path) if path.is_dir() else [path]
    if not files:
        raise _no_files(path)
    by_name: dict[tuple[str, str], Topic] = {}
    for file in files:
        if _starts_with(file, _SQLITE_MAGIC):
            _read_db3(file, wanted, by_name, bag.notes)
        elif _starts_with(file, _MCAP_MAGIC):
            _read_mcap(file, wanted, by_name, bag.notes)
        else:
            size = file.stat().st_size
            raise RecordingError(
                str(file),
                found="the file is empty" if size == 0 else "the file starts like neither an MCAP nor an SQLite file",
                expected="a bag as `ros2 bag record` writes it",
                next_step="The file is damaged or was not closed: copy it again, or record again.",
            )
    bag.topics = list(by_name.values())
    for topic in bag.topics:
        order = sorted(range(len(topic.log_time_ns)), key=topic.log_time_ns.__getitem__)
        topic.log_time_ns = [topic.log_time_ns[i] for i in order]
        topic.payloads = [topic.payloads[i] for i in order]
    for note in bag.notes:
        logger.warning("%s", note)
    return bag


def _starts_with(file: Path, *magics: bytes) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as stream:
        return stream.read(16).startswith(magics)


def _files_of(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.suffix.lower() in (".mcap", ".db3"))


def _no_files(folder: Path) -> RecordingError:
    compressed = sorted(file.name for file in folder.iterdir() if file.suffix.lower() in (".zstd", ".zst"))
    found = "the folder holds no .mcap or .db3 file"
    next_step = "Copy the bag's data files beside its metadata.yaml."
    if compressed:
        found += f", but {listed(compressed, limit=2)}"
        next_step = f"Unpack the compressed file first: zstd -d {compressed[0]}"
    return RecordingError(str(folder), found=found, expected="a whole rosbag2 folder", next_step=next_step)


def _read_mcap(file: Path, wanted: set[str], topics: dict[tuple[str, str], Topic], notes: list[str]) -> None:
    what = "MCAP files"
    stream_reader = optional_package("mcap.stream_reader", "mcap", what)
    records = optional_package("mcap.records", "mcap", what)
    schemas: dict[int, str] = {}
    channels: dict[int, Topic] = {}
    damaged = 0

    def take(record: Any) -> None:
        if isinstance(record, records.Schema):
            schemas[record.id] = record.name
        elif isinstance(record, records.Channel):
            key = record.topic, schemas.get(record.schema_id, "")
            channels[record.id] = topics.setdefault(key, Topic(*key))
        elif isinstance(record, records.Message) and record.channel_id in channels:
            topic = channels[record.channel_id]
            topic.message_count += 1
            if topic.type_name in wanted:
                topic.log_time_ns.append(min(record.log_time, _LATEST_NS))
                topic.payloads.append(record.data)

    with file.open("rb") as stream:
        size = file.stat().st_size
        reader = stream_reader.StreamReader(stream, emit_chunks=True, record_size_limit=size)
        # A damaged file can fail anywhere in the parser and its decompressors, so any exception ends the intact part.
        try:
            for record in reader.records:
                if not isinstance(record, records.Chunk):
                    take(record)
                    continue
                try:
                    if record.uncompressed_size > MAX_CHUNK_BYTES:
                        raise ValueError("an implausibly large chunk")
                    for inner in stream_reader.breakup_chunk(record, validate_crc=True):
                        take(inner)
                except Exception:
                    damaged += 1
        except Exception:
            read_share = stream.tell() / size
            notes.append(
                f"{file.name} ends too early or is damaged: the messages before byte {stream.tell():,} of {size:,} "
                f"({read_share:.0%}) were salvaged"
            )
    if damaged:
        notes.append(f"{file.name}: {damaged} damaged chunk{'s' * (damaged != 1)} left out")


def _read_db3(file: Path, wanted: set[str], topics: dict[tuple[str, str], Topic], notes: list[str]) -> None:
    missing_bytes = _sqlite_bytes(file) - file.stat().st_size
    if 0 < missing_bytes <= MAX_CHUNK_BYTES:
        with tempfile.TemporaryDirectory() as folder:
            padded = Path(folder) / file.name
            shutil.copyfile(file, padded)
            os.truncate(padded, _sqlite_bytes(file))
            _read_tables(padded, file, wanted, topics, notes)
    else:
        _read_tables(file, file, wanted, topics, notes)


def _sqlite_bytes(file: Path) -> int:
    """How long the database is by its own header: SQLite refuses a shorter file, but not one padded with zeros."""
    with file.open("rb") as stream:
        header = stream.read(100).ljust(100, b"\0")
    page_bytes = int.from_bytes(header[16:18], "big")
    return (65536 if page_bytes == 1 else page_bytes) * int.from_bytes(header[28:32], "big")


def _read_tables(
    database: Path, file: Path, wanted: set[str], topics: dict[tuple[str, str], Topic], notes: list[str]
) -> None:
    """The messages of `database`, which messages call `file`."""
    connection = sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    connection.text_factory = lambda data: data.decode(errors="replace")
    taken = 0
    try:
        by_id = {}
        for topic_id, name, type_name in connection.execute("SELECT id, name, type FROM topics"):
            key = str(name), str(type_name)
            by_id[topic_id] = topics.setdefault(key, Topic(*key))
        for topic_id, time_ns, data in connection.execute("SELECT topic_id, timestamp, data FROM messages"):
            topic = by_id.get(topic_id)
            if topic is None or not isinstance(time_ns, int) or not isinstance(data, bytes):
                continue
            topic.message_count += 1
            taken += 1
            if topic.type_name in wanted:
                topic.log_time_ns.append(time_ns)
                topic.payloads.append(data)
    except sqlite3.Error as error:
        if not taken:
            raise RecordingError(
                str(file),
                found=f"the database cannot be read ({error})",
                expected="a rosbag2 database with the tables topics and messages",
                next_step="The file is damaged or not a bag: copy it again, or repair it with sqlite3's .recover.",
            ) from error
        notes.append(f"{file.name} is damaged ({error}): the {taken:,} messages before that were salvaged")
    finally:
        connection.close()
