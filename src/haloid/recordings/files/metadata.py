"""Reading, step two: the json text becomes `Metadata`, its keys and types checked.

Whether the values fit the robot and the columns is for `validate` to say.
"""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from haloid.recordings.errors import RecordingError, listed, near_miss, shown

FORMAT = "haloid-recording-1"
MAX_CHARS = 250_000
"""The gains of a hundred joints and a long note take a tenth of it."""
_KEYS_REQUIRED = ("format", "robot", "clamp")
_KEYS_OPTIONAL = ("support", "actuation", "kp", "kd", "payload", "note", "clamp_pose", "encoder_step")


@dataclass(frozen=True)
class Metadata:
    """What the json says; a missing optional key has its default."""

    robot: str
    """As written: a known robot's name, or a path relative to the json file."""
    clamp: str | None
    support: str = "single"
    actuation: str = "position"
    kp: dict[str, float] | None = None
    kd: dict[str, float] | None = None
    payload: str = "unknown"
    note: str = ""
    clamp_pose: list[float] | None = None
    encoder_step: dict[str, float] | None = None


def parse_metadata(text: str, file: str) -> Metadata:
    return metadata_of(json_object(text, file), file)


def metadata_of(values: dict, file: str) -> Metadata:
    """Of a json object, as `json_object` reads it."""
    for key in _KEYS_REQUIRED:
        if key not in values:
            typed = near_miss(key, [name for name in values if name not in _KEYS_REQUIRED + _KEYS_OPTIONAL])
            raise _error(
                file,
                key,
                found="the key is missing",
                expected=f"the keys {listed(_KEYS_REQUIRED)}",
                next_step=f"Rename {shown(typed)} to {shown(key)}." if typed else f"Add {shown(key)} to the json.",
            )
    for key in values:
        meant = near_miss(key, _KEYS_REQUIRED + _KEYS_OPTIONAL)
        if meant and meant not in values:
            raise _error(
                file,
                key,
                found="the key is unknown",
                expected=f"one of {listed(_KEYS_REQUIRED + _KEYS_OPTIONAL, limit=20)}",
                next_step=f"Did you mean {shown(meant)}? Rename or remove the key.",
            )
    _check_format(values["format"], file)
    fields = {key: _FIELDS[key][0](values[key]) for key in _FIELDS if key in values}
    for key, value in fields.items():
        if value is _WRONG:
            raise _error(
                file,
                key,
                found=f"found {shown(values[key])}",
                expected=_FIELDS[key][1],
                next_step="Correct the value.",
            )
    return Metadata(**fields)


def json_object(text: str, file: str) -> dict:
    if not text.strip():
        raise RecordingError(
            file,
            found="the json is empty",
            expected="the recording's metadata",
            next_step="Write it as the recording format describes, or copy the file again.",
        )
    if len(text) > MAX_CHARS:
        raise RecordingError(
            file,
            found=f"the json has {len(text):,} characters",
            expected=f"at most {MAX_CHARS:,}",
            next_step="Give the recording's own json: the rows belong in the csv.",
        )
    try:
        values = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise RecordingError(
            file,
            f"line {error.lineno}, character {error.colno}",
            found=f"not valid json ({error.msg})",
            expected="a json object",
            next_step=_json_remedy(text, error),
        ) from error
    except (ValueError, RecursionError) as error:
        raise RecordingError(
            file,
            found=f"not valid json ({shown(str(error))})",
            expected="a json object",
            next_step="Correct the file.",
        ) from error
    if not isinstance(values, dict):
        raise RecordingError(
            file,
            found=f"the json holds {_kind(values)}",
            expected='an object: {"format": ..., "robot": ...}',
            next_step="Give the recording's own json.",
        )
    return values


def _json_remedy(text: str, error: json.JSONDecodeError) -> str:
    if text.startswith("//", error.pos) or text.startswith("/*", error.pos) or text.startswith("#", error.pos):
        return "Json has no comments: remove them."
    if error.pos >= len(text.rstrip()):
        return "The file is cut off: copy it again."
    if error.msg.startswith("Unterminated string"):
        return "Close the string with a double quote, or copy the file again if it is cut off there."
    if text.startswith("'", error.pos):
        return "Json strings have double quotes."
    if text[: error.pos].rstrip().endswith(","):
        return "Remove the comma after the last entry."
    return "Correct that place."


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) < len(pairs):
        repeated = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {repeated!r} is given twice")
    return values


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a json number")


def _check_format(value: object, file: str) -> None:
    if value == FORMAT:
        return
    next_step = f"Write {shown(FORMAT)} if this is a recording; `haloid convert` makes one from other logs."
    if isinstance(value, str) and value.startswith("haloid-recording-"):
        next_step = "The file has another version of the format: update haloid, or convert the log again."
    elif isinstance(value, str) and value.startswith("haloid-"):
        next_step = "This is another of haloid's files: give the recording's json."
    raise _error(file, "format", found=f"found {shown(value)}", expected=shown(FORMAT), next_step=next_step)


def _error(file: str, key: str, *, found: str, expected: str, next_step: str) -> RecordingError:
    return RecordingError(file, f"key {shown(key)}", found=found, expected=expected, next_step=next_step)


_WRONG = object()
"""What a field's parser returns for a value it does not accept."""


def _text(value: object) -> Any:
    return value if isinstance(value, str) else _WRONG


def _name(value: object) -> Any:
    return value if isinstance(value, str) and value.strip() else _WRONG


def _name_or_null(value: object) -> Any:
    return None if value is None else _name(value)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _numbers_by_joint(value: object) -> Any:
    if not isinstance(value, dict):
        return None if value is None else _WRONG
    numbers = {joint: _number(number) for joint, number in value.items()}
    return _WRONG if None in numbers.values() else numbers


def _pose(value: object) -> Any:
    if value is None:
        return None
    numbers = [_number(number) for number in value] if isinstance(value, list) else []
    return numbers if len(numbers) == 7 and None not in numbers else _WRONG


_FIELDS: dict[str, tuple[Callable[[object], Any], str]] = {
    "robot": (_name, "a known robot's name, or the path of an MJCF or URDF file"),
    "clamp": (_name_or_null, "the name of the link held fixed, or null"),
    "support": (_name, '"single" or "double"'),
    "actuation": (_name, '"position" or "torque"'),
    "kp": (_numbers_by_joint, 'an object of gains by joint, as {"left_knee_joint": 99.1}'),
    "kd": (_numbers_by_joint, 'an object of gains by joint, as {"left_knee_joint": 6.3}'),
    "encoder_step": (_numbers_by_joint, 'an object of steps by joint in rad, as {"left_knee_joint": 0.00153}'),
    "payload": (_text, '"none", "unknown" or free text'),
    "note": (_text, "free text"),
    "clamp_pose": (_pose, "seven numbers: x, y, z in m and a unit quaternion w, x, y, z"),
}


def _kind(value: object) -> str:
    return {list: "a list", str: "a string", type(None): "null"}.get(type(value), f"the value {shown(value)}")
