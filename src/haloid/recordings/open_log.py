"""Opening whatever a user has: a recording in haloid's own format, or a robot's log with its description beside it.

A log does not say which robot it is of or how that was held. A json of the log's name beside it does (`run.json` for
`run.mcap`, `run_bag.json` for the folder `run_bag`):

    {"format": "haloid-log-1", "robot": "g1", "clamp": "left_ankle_roll_link", "payload": "none"}
"""

import json
from dataclasses import fields
from pathlib import Path

from haloid.recordings.csv_table import decoded, read_bytes
from haloid.recordings.errors import RecordingError, did_you_mean, listed, shown
from haloid.recordings.logs.convert import LogOptions, read_log
from haloid.recordings.metadata import FORMAT
from haloid.recordings.read import read_recording
from haloid.recordings.recording import Recording

LOG_FORMAT = "haloid-log-1"
_TYPES = {
    "clamp": (str, type(None)),
    "rate_hz": (int, float, type(None)),
    "episode": (int,),
    "gains": (str, type(None)),
}


def open_log(path: str | Path, *, allow_gaps: bool = False) -> Recording:
    """The recording at `path`, or of the log at `path`."""
    path = Path(path)
    described = _description(path)
    if described is None or described.get("format") == FORMAT or path.suffix.lower() == ".json":
        if path.is_dir() or path.suffix.lower() in (".mcap", ".db3", ".parquet"):
            raise _undescribed(path)
        return read_recording(path, allow_gaps=allow_gaps)
    return read_log(path, _options(path, described), allow_gaps=allow_gaps)


def description_file(path: Path) -> Path:
    return Path(f"{path}.json") if path.is_dir() else path.with_suffix(".json")


def _description(path: Path) -> dict | None:
    """The json beside the log, where there is one."""
    file = description_file(path)
    if not file.is_file():
        return None
    try:
        described = json.loads(decoded(read_bytes(file), str(file)))
    except (ValueError, RecursionError):
        return None
    return described if isinstance(described, dict) else None


def _undescribed(path: Path) -> RecordingError:
    example = '{"format": "haloid-log-1", "robot": "g1", "clamp": "left_ankle_roll_link", "payload": "unknown"}'
    return RecordingError(
        str(path),
        found=f"there is no {description_file(path).name} of format {LOG_FORMAT} beside it"
        if path.exists()
        else "there is no such file or folder",
        expected="a log with a description of robot and clamp beside it, or a recording",
        next_step=f"Write one, such as {example}, or make a recording with `haloid convert`.",
    )


def _options(path: Path, described: dict) -> LogOptions:
    file = description_file(path)
    known = [field.name for field in fields(LogOptions)]
    values = {key: value for key, value in described.items() if key != "format"}
    for key, value in values.items():
        if key not in known:
            raise RecordingError(
                str(file),
                f"key {shown(key)}",
                found="the key is unknown",
                expected=f"one of {listed(known, limit=10)}",
                next_step=f"{did_you_mean(key, known)}Rename or remove the key.",
            )
        if not isinstance(value, _TYPES.get(key, (str,))) or isinstance(value, bool):
            raise RecordingError(
                str(file),
                f"key {shown(key)}",
                found=f"found {shown(value)}",
                expected="a number" if key in ("rate_hz", "episode") else "text",
                next_step="Correct the value.",
            )
    if described.get("format") != LOG_FORMAT:
        raise RecordingError(
            str(file),
            "key 'format'",
            found=f"found {shown(described.get('format'))}",
            expected=f"{LOG_FORMAT} for a robot's log, {FORMAT} for a recording",
            next_step="Correct the value.",
        )
    robot = values.get("robot", "g1")
    if (file.parent / robot).is_file():
        values["robot"] = str((file.parent / robot).resolve())
    return LogOptions(**values)
