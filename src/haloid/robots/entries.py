"""Robots, the yaml: which entries a robot's description may hold, and what each of them means.

In: `robots/NAME/robot.yaml` of a robot that ships with this package, or `MODEL.yaml` beside a user's MODEL.xml or
MODEL.urdf. Out: its entries as plain values whose keys and shapes are right; `description.py` checks them against the
model's names. Nothing here needs MuJoCo.
"""

import difflib
import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from haloid.errors import HaloidError

DEFAULT_ROBOT = "g1"
"""The robot a command is about when none is named."""
USUAL_CLAMP = "usual"
"""In place of a link's name: the link that the robot's description says is usually clamped."""
_FOLDER = Path(__file__).parent
KNOWN_ROBOTS: tuple[str, ...] = tuple(sorted(file.parent.name for file in _FOLDER.glob("*/robot.yaml")))
"""The robots that ship with this package, by name."""

Kind = Literal["text", "number", "words", "joint", "joints", "motors", "link", "links", "site", "numbers", "gains"]


@dataclass(frozen=True)
class Entry:
    kind: Kind
    meaning: str
    """Completes "needs …"."""
    example: str
    by_side: bool = False
    """Given for `left` and `right`."""


ENTRIES: dict[str, Entry] = {
    "title": Entry("text", "a name for people", "title: My robot"),
    "like": Entry("text", "a known robot whose entries hold where this file says nothing", "like: g1"),
    "model": Entry("text", "the model file", "model: robot.xml"),
    "fixed_joints": Entry("joints", "joints of the model that the robot lacks", 'fixed_joints: ["*_finger_*"]'),
    "payload_links": Entry("links", "the links that usually carry a payload", "payload_links: [torso, left_hand]"),
    "clamp": Entry("link", "the link that is usually held fixed for a recording", "clamp: left_foot"),
    "feet": Entry("link", "the links that stand on the ground", "feet: {left: LINK, right: LINK}", by_side=True),
    "hands": Entry("link", "the links that hold things", "hands: {left: LINK, right: LINK}", by_side=True),
    "legs": Entry(
        "joints", "the joints of each leg from hip to foot", "legs: {left: [JOINT, …], right: [JOINT, …]}", by_side=True
    ),
    "arms": Entry(
        "joints", "the joints of each arm from shoulder to hand", "arms: {left: […], right: […]}", by_side=True
    ),
    "waist": Entry("joints", "the joints between legs and trunk", "waist: [JOINT, …]"),
    "ankles": Entry("joints", "the joints that balance a robot on its foot", 'ankles: ["*_ankle_*"]'),
    "imu_site": Entry("site", "the site where the IMU sits", "imu_site: SITE"),
    "anchor": Entry("link", "the link that a tracking policy follows first, usually the trunk", "anchor: LINK"),
    "tracked_links": Entry("links", "the links that a policy tracks, the root first", "tracked_links: [LINK, …]"),
    "standing_pose": Entry(
        "numbers", "the angles of a stand; joints not named are at 0", "standing_pose: {JOINT: RAD}"
    ),
    "standing_height_m": Entry("number", "the height of the root link in the standing pose", "standing_height_m: 0.76"),
    "stance_half_width_m": Entry("number", "half the distance between the feet", "stance_half_width_m: 0.12"),
    "excitation_pose": Entry("numbers", "the angles around which joints are shaken", "excitation_pose: {JOINT: RAD}"),
    "gains": Entry("gains", "servo gains by name", 'gains: {soft: {"*": [KP, KD]}}'),
    "effort_limits_nm": Entry("numbers", "the joints' largest torques", "effort_limits_nm: {JOINT: NM}"),
    "speed_limits_rad_s": Entry("numbers", "the joints' largest speeds", "speed_limits_rad_s: {JOINT: RAD_S}"),
    "motor_order": Entry("motors", "the joint of each motor of its SDK", "motor_order: [JOINT, …]"),
    "mjlab": Entry("text", "its name in mjlab's asset zoo, where only the G1 is", "mjlab: unitree_g1"),
    "motions": Entry("words", "haloid's own motions that are made for it", "motions: [stand, squat]"),
}
"""Everything a description may say, in the order in which it is shown."""


class DescriptionError(HaloidError):
    """A yaml that says something impossible about a robot."""

    def __init__(self, file: Path, found: str, expected: str, next_step: str):
        super().__init__(f"{file}: {found}. Expected {expected}. {next_step}")


def nearest(name: str, valid: Iterable[str]) -> str:
    """ "Did you mean …? " where a valid name is near, else nothing."""
    near = difflib.get_close_matches(name, list(valid), n=1, cutoff=0.5)
    return f"Did you mean {near[0]}? " if near else ""


def check_name(file: Path, key: str, name: str, what: str, valid: Sequence[str]) -> str:
    """`name`, or an error that explains why it is not a valid name of that kind."""
    if name not in valid:
        raise DescriptionError(
            file,
            f"{key} names the {what} {name}, which the model does not have",
            f"one of its {what}s ({', '.join(valid) or 'it has none'})",
            f"{nearest(name, valid)}Correct the name.",
        )
    return name


def matching_joints(file: Path, key: str, pattern: str, joints: Sequence[str]) -> list[str]:
    """The joints that a name or a pattern such as *_ankle_* means."""
    matching = fnmatch.filter(joints, pattern)
    return matching or [check_name(file, key, pattern, "joint", joints)]


def known_file(robot: str) -> Path:
    """The yaml of a robot that ships with this package."""
    return _FOLDER / robot / "robot.yaml"


def file_beside(model_file: Path) -> Path:
    """Where a user's own description of a model lies."""
    return model_file.with_suffix(".yaml")


def read_entries(file: Path) -> dict[str, Any]:
    """The entries of a yaml, keys and shapes checked. The values are shared: copy what you change."""
    return _read(file, file.stat().st_mtime_ns)


@cache
def _read(file: Path, _mtime_ns: int) -> dict[str, Any]:
    import yaml

    try:
        entries = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise DescriptionError(file, f"it is not yaml ({reason})", "entries such as feet: …", "Mend it.") from error
    if entries is None:
        return {}
    if not isinstance(entries, dict):
        raise DescriptionError(file, f"it holds {_shown(entries)}", "entries such as feet: …", "Mend it.")
    for key, value in entries.items():
        if key not in ENTRIES:
            raise DescriptionError(
                file,
                f"the entry {_shown(key)} is unknown",
                f"some of {', '.join(ENTRIES)}",
                f"{nearest(str(key), ENTRIES)}Rename or remove it.",
            )
        if not _has_shape(ENTRIES[key], value):
            raise DescriptionError(
                file, f"{key} is {_shown(value)}", f"{ENTRIES[key].meaning}, such as {ENTRIES[key].example}", "Mend it."
            )
    return entries


def _has_shape(entry: Entry, value: object) -> bool:
    if entry.by_side:
        if not isinstance(value, dict) or set(value) != {"left", "right"}:
            return False
        return all(_is_kind(entry.kind, one) for one in value.values())
    return _is_kind(entry.kind, value)


def _is_kind(kind: Kind, value: object) -> bool:
    if kind in ("text", "link", "site", "joint"):
        return isinstance(value, str) and bool(value)
    if kind == "number":
        return _is_number(value)
    if kind in ("words", "joints", "motors", "links"):
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    if kind == "numbers":
        return isinstance(value, dict) and all(isinstance(k, str) and _is_number(v) for k, v in value.items())
    return isinstance(value, dict) and all(one == "model" or _are_gains(one) for one in value.values())


def _are_gains(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(name, str) and isinstance(pair, list) and len(pair) == 2 and all(map(_is_number, pair))
        for name, pair in value.items()
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
