"""Robots, what is known: everything this package knows about a robot beside what its model file states.

In: the name of a known robot, or the path of a model file, with or without a yaml beside it. Out: a `Robot`. A file
without a yaml that has exactly the joints of a known robot, such as an identification's calibrated.xml, is that robot;
a yaml replaces what it says otherwise. Entries that nothing states are empty, and the code that needs one says so with
`Robot.need`, which names the entry and where to add it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import mujoco
import yaml

from haloid.errors import HaloidError
from haloid.robots.entries import (
    ENTRIES,
    KNOWN_ROBOTS,
    DescriptionError,
    check_name,
    file_beside,
    known_file,
    matching_joints,
    nearest,
    read_entries,
)
from haloid.robots.load import joints_in_qpos_order, load_spec, model_file_of, scalar_joints
from haloid.robots.servos import Gains, model_gains

MODEL_GAINS = "model"
"""The gain set that is the position servos of the robot's own model file."""


class MissingEntryError(HaloidError):
    def __init__(self, robot: Robot, entry: str, task: str):
        known = ENTRIES[entry]
        super().__init__(
            f"The robot {robot.name} has no `{entry}`: {task} needs {known.meaning}. "
            f"Add {known.example} to {robot.description_file}."
        )


class UnknownGainSetError(HaloidError):
    def __init__(self, robot: Robot, name: str):
        available = ", ".join(sorted({*robot.gains, MODEL_GAINS}))
        super().__init__(
            f"No gain set '{name}' for the robot '{robot.name}'. Available: {available}. Others go into `gains` of "
            f"{robot.description_file}, or, for a recording, kp and kd of every joint into its json."
        )


@dataclass(frozen=True)
class Robot:
    """A robot's description. What is not known is empty; dicts by joint are in the model's joint order."""

    name: str
    """A known robot's name, or the path of its model file."""
    model_file: Path
    description_file: Path
    """The yaml it is from, or where a user may put one."""
    joints: tuple[str, ...]
    """All hinges and slides in the model's order."""
    floats: bool
    """Whether it has a free joint."""
    title: str = ""
    like: str = ""
    """The known robot whose entries hold where its own yaml says nothing."""
    payload_links: tuple[str, ...] = ()
    clamp: str = ""
    feet: dict[str, str] = field(default_factory=dict)
    """By side."""
    hands: dict[str, str] = field(default_factory=dict)
    legs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By side, from hip to foot."""
    arms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    waist: tuple[str, ...] = ()
    ankles: tuple[str, ...] = ()
    imu_site: str = ""
    anchor: str = ""
    """The link that a tracking policy follows first."""
    tracked_links: tuple[str, ...] = ()
    """The first is the root."""
    standing_pose: dict[str, float] = field(default_factory=dict)
    """rad; joints not named are at 0. A policy's actions are offsets from it."""
    standing_height_m: float = 0.0
    stance_half_width_m: float = 0.0
    excitation_pose: dict[str, float] = field(default_factory=dict)
    gains: dict[str, Gains] = field(default_factory=dict)
    effort_limits_nm: dict[str, float] = field(default_factory=dict)
    """Where the model file has none."""
    speed_limits_rad_s: dict[str, float] = field(default_factory=dict)
    motor_order: tuple[str, ...] = ()
    """The joint of each motor of its SDK; slots of motors that this variant lacks have names too."""
    mjlab: str = ""
    motions: tuple[str, ...] = ()
    fixed_joints: tuple[str, ...] = ()
    """Joints of the model file that this robot lacks; they stay at 0."""

    def need(self, task: str, *entries: str) -> None:
        """Raise for the first of the entries that is not known."""
        for entry in entries:
            if not getattr(self, entry):
                raise MissingEntryError(self, entry, task)

    @property
    def end_effectors(self) -> tuple[str, ...]:
        """Feet, then hands."""
        return (*self.feet.values(), *self.hands.values())

    def gain_set(self, name: str) -> Gains:
        """The gains of that name, in the order of the model's joints; `model`: the servos of the model file."""
        if name == MODEL_GAINS:
            return model_gains(load_spec(self.name))
        if name not in self.gains:
            raise UnknownGainSetError(self, name)
        return self.gains[name]

    @property
    def recording_gains(self) -> str:
        """The gain set to record with: `stiff` where there is one, else the model's own."""
        return "stiff" if "stiff" in self.gains else MODEL_GAINS

    def usual_clamp(self, task: str) -> str | None:
        """The link that is usually clamped; None for a robot that is fixed in the world anyway."""
        if not self.floats and not self.clamp:
            return None
        self.need(task, "clamp")
        return self.clamp

    def limb(self, joint: str) -> str:
        """The limb a joint belongs to: "legs", "waist", "left arm", "right arm" or "arm"."""
        if any(joint in leg for leg in self.legs.values()):
            return "legs"
        if joint in self.waist:
            return "waist"
        return next((f"{side} arm" for side, arm in self.arms.items() if joint in arm), "arm")


def describe(robot: str | Path) -> Robot:
    """What is known about a robot: by its name, or by its model file."""
    if isinstance(robot, str) and robot in KNOWN_ROBOTS:
        return _known(robot)
    path = model_file_of(robot)
    beside = file_beside(path)
    return _of_file(str(robot), path, path.stat().st_mtime_ns, beside.stat().st_mtime_ns if beside.is_file() else None)


def carry_description(robot: str, model_file: Path) -> None:
    """Copy a user's yaml about a robot to another model of it; a known robot is recognised by its joints."""
    beside = None if robot in KNOWN_ROBOTS else file_beside(model_file_of(robot))
    if beside is not None and beside.is_file():
        done = ("model", "fixed_joints", "effort_limits_nm")  # the other model was written with these applied
        entries = {name: value for name, value in read_entries(beside).items() if name not in done}
        file_beside(model_file).write_text(yaml.safe_dump(entries, sort_keys=False), encoding="utf-8")


@cache
def _known(name: str) -> Robot:
    return _from(name, model_file_of(name), known_file(name), load_spec(name), read_entries(known_file(name)))


@cache
def _of_file(name: str, path: Path, _model_mtime_ns: int, yaml_mtime_ns: int | None) -> Robot:
    beside = file_beside(path)
    return _from(name, path, beside, load_spec(path), {} if yaml_mtime_ns is None else read_entries(beside))


def _from(name: str, model_file: Path, yaml_file: Path, spec: mujoco.MjSpec, entries: dict[str, Any]) -> Robot:
    joints = scalar_joints(spec)
    floats = any(joint.type == mujoco.mjtJoint.mjJNT_FREE for joint in joints_in_qpos_order(spec))
    like = entries.get("like") or ("" if name in KNOWN_ROBOTS else _same_joints(joints))
    if like and like not in KNOWN_ROBOTS:
        known = ", ".join(KNOWN_ROBOTS)
        next_step = f"{nearest(like, KNOWN_ROBOTS)}Correct the name."
        raise DescriptionError(yaml_file, f"like names the robot {like}", f"a known robot ({known})", next_step)
    facts = Robot(name, model_file, yaml_file, joints, floats)
    if like:
        facts = replace(_on(_known(like), joints), **{key: getattr(facts, key) for key in _OWN}, like=like)
    names = _Names(yaml_file, spec, joints)
    return replace(facts, **{key: names.resolved(key, value) for key, value in entries.items() if key != "model"})


_OWN = ("name", "model_file", "description_file", "joints", "floats", "title")
"""What a robot does not inherit from the one it is `like`."""


def _same_joints(joints: tuple[str, ...]) -> str:
    """The known robot with exactly these joints, or nothing."""
    return next((name for name in KNOWN_ROBOTS if set(_known(name).joints) == set(joints)), "")


def _on(robot: Robot, joints: tuple[str, ...]) -> Robot:
    """The description without joints that are not there."""

    def kept(values: dict[str, float]) -> dict[str, float]:
        return {joint: value for joint, value in values.items() if joint in joints}

    def those(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name for name in names if name in joints)

    same = set(joints) == set(robot.joints)
    return replace(
        robot,
        mjlab=robot.mjlab if same else "",
        motions=robot.motions if same else (),
        legs={side: those(leg) for side, leg in robot.legs.items()},
        arms={side: those(arm) for side, arm in robot.arms.items()},
        waist=those(robot.waist),
        ankles=those(robot.ankles),
        standing_pose=kept(robot.standing_pose),
        excitation_pose=kept(robot.excitation_pose),
        effort_limits_nm=kept(robot.effort_limits_nm),
        speed_limits_rad_s=kept(robot.speed_limits_rad_s),
        gains={name: Gains(kept(gains.kp), kept(gains.kd)) for name, gains in robot.gains.items()},
    )


class _Names:
    """The names of a model, against which the values of a yaml are checked."""

    def __init__(self, file: Path, spec: mujoco.MjSpec, joints: tuple[str, ...]):
        self.file, self.spec, self.joints = file, spec, joints
        self.links = [body.name for body in spec.bodies if body.name and body.name != "world"]
        self.sites = [site.name for site in spec.sites]

    def resolved(self, key: str, value: Any) -> Any:
        """The value as the description holds it: patterns written out, joints in the model's order."""
        kind = ENTRIES[key].kind
        if ENTRIES[key].by_side:
            return {side: self._one(kind, key, value[side]) for side in ("left", "right")}
        return self._one(kind, key, value)

    def _one(self, kind: str, key: str, value: Any) -> Any:
        match kind:
            case "link":
                return self._checked(key, value, "link", self.links)
            case "links":
                return tuple(self._checked(key, one, "link", self.links) for one in value)
            case "site":
                return self._checked(key, value, "site", self.sites)
            case "joints" if key == "fixed_joints":
                return tuple(value)  # the model no longer has them: loading checked them against its file
            case "joints":
                return tuple(dict.fromkeys(joint for one in value for joint in self._matching(key, one)))
            case "numbers":
                return self._by_joint(key, value, float)
            case "gains":
                return {name: self._gains(f"{key}, {name}", pairs) for name, pairs in value.items()}
            case "words" | "motors":
                return tuple(value)
            case "number":
                return float(value)
        return value

    def _gains(self, key: str, pairs: Any) -> Gains:
        if pairs == MODEL_GAINS:
            return model_gains(self.spec)
        by_joint = self._by_joint(key, pairs, tuple)
        return Gains(
            {joint: float(kp) for joint, (kp, _) in by_joint.items()},
            {joint: float(kd) for joint, (_, kd) in by_joint.items()},
        )

    def _by_joint(self, key: str, values: dict[str, Any], made: Callable[[Any], Any]) -> dict[str, Any]:
        """Later lines win over earlier ones, so that a line for all joints comes first."""
        found = {joint: made(value) for pattern, value in values.items() for joint in self._matching(key, pattern)}
        return {joint: found[joint] for joint in self.joints if joint in found}

    def _matching(self, key: str, pattern: str) -> list[str]:
        return matching_joints(self.file, key, pattern, self.joints)

    def _checked(self, key: str, name: str, what: str, valid: Sequence[str]) -> str:
        return check_name(self.file, key, name, what, valid)
