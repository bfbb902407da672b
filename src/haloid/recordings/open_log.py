"""Opening whatever a user has: a recording in haloid's own format, or a robot's log with its description beside it.

A log does not say which robot it is from or how that robot was held. A json of the log's name beside it does
(`run.json` for `run.mcap`, `run_bag.json` for the folder `run_bag`):

    {"format": "haloid-log-1", "robot": ROBOT, "clamp": LINK, "payload": "none"}
"""

import json
from dataclasses import fields
from pathlib import Path

from haloid.recordings.errors import RecordingError, did_you_mean, listed, shown
from haloid.recordings.files.csv_table import decoded, read_bytes
from haloid.recordings.files.metadata import FORMAT, json_object
from haloid.recordings.files.read import read_recording
from haloid.recordings.logs.convert import LogOptions, read_log
from haloid.recordings.recording import Recording
from haloid.robots.description import describe
from haloid.robots.entries import DEFAULT_ROBOT

LOG_FORMAT = "haloid-log-1"
_TYPES = {
    "clamp": (str, type(None)),
    "rate_hz": (int, float, type(None)),
    "episode": (int,),
    "gains": (str, type(None)),
    "actuation": (str, type(None)),
    "columns": (dict, type(None)),
    "nm_per_a": (dict, type(None)),
}
_CHOICES = {"support": ("single", "double"), "angles": ("rad", "deg"), "actuation": ("position", "torque", None)}
_EXPECTED = {
    "rate_hz": "a number",
    "episode": "a number",
    "columns": 'an object of columns by name, as {"time": 0, "q": "1-6"}',
    "nm_per_a": 'an object of numbers by joint, as {"elbow": 13.2}',
}


def open_log(path: str | Path, *, allow_gaps: bool = False) -> Recording:
    """The recording at `path`, or of the log at `path`."""
    path = Path(path)
    described = _description(path)
    if described is None or described.get("format") == FORMAT or path.suffix.lower() == ".json":
        if path.is_dir() or path.suffix.lower() in (".mcap", ".db3", ".parquet"):
            raise _undescribed(path)
        return read_recording(path, allow_gaps=allow_gaps, described=described)
    return read_log(path, _options(path, described), allow_gaps=allow_gaps)


def description_file(path: Path) -> Path:
    return Path(f"{path}.json") if path.is_dir() else path.with_suffix(".json")


def _description(path: Path) -> dict | None:
    """The json beside the log, where there is one."""
    file = description_file(path)
    if not file.is_file():
        return None
    return json_object(decoded(read_bytes(file), str(file)), str(file))


def _undescribed(path: Path) -> RecordingError:
    robot = describe(DEFAULT_ROBOT)
    described = {"format": LOG_FORMAT, "robot": robot.name, "clamp": robot.clamp, "payload": "unknown"}
    example = json.dumps(described)
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
        choices = _CHOICES.get(key)
        if choices is not None and value not in choices:
            raise RecordingError(
                str(file),
                f"key {shown(key)}",
                found=f"found {shown(value)}",
                expected=f"one of {listed([choice for choice in choices if choice])}",
                next_step="Correct the value.",
            )
        if not isinstance(value, _TYPES.get(key, (str,))) or isinstance(value, bool) or not _is_plain(key, value):
            raise RecordingError(
                str(file),
                f"key {shown(key)}",
                found=f"found {shown(value)}",
                expected=_EXPECTED.get(key, "text"),
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
    values |= {key: {k: str(v) for k, v in values[key].items()} for key in ("columns",) if values.get(key)}
    robot = values.get("robot", DEFAULT_ROBOT)
    if (file.parent / robot).is_file():
        values["robot"] = str((file.parent / robot).resolve())
    return LogOptions(**values)


def _is_plain(key: str, value: object) -> bool:
    """Whether an object's entries are of the kind that the key asks for."""
    kinds = {"columns": (str, int), "nm_per_a": (int, float)}.get(key)
    if kinds is None or not isinstance(value, dict):
        return True
    return all(isinstance(entry, kinds) and not isinstance(entry, bool) for entry in value.values())
