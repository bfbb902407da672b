"""Robots, the result: what an identification changed, as a small file and as an edit of any spec of the same robot.

`patch.json` holds the changed values only, in full precision: links by name, with mass (kg), centre of mass in the link
frame (m) and inertia about it along the link frame's axes (kg·m², three rows), payload included; joints by name, with
what changed of damping, frictionloss and armature, the servo's gains kp and kd, the torque it can give (effort), how
late it acts (delay, s), what its encoder reads beyond the true angle (bias, rad) and the impedance of its dry friction
(friction_impedance: MuJoCo's solimpfriction, where 1 is friction that sticks); all in SI units. `servos` says whether
the gains were identified or are merely those the robot was recorded with, `simulation` what the values hold for.

    {"format": "haloid-patch-1", "robot": "g1",
     "links": {"torso_link": {"mass": 13.8, "com": [0.01, 0.02, 0.23], "inertia": [[..], [..], [..]]}},
     "joints": {"left_knee_joint": {"damping": 0.31, "kp": 600.0, "kd": 30.0}},
     "servos": "recorded", "simulation": {"timestep": 0.005}}
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.outputs import atomic_file
from haloid.robots.clamp import resolve_damping_ratios
from haloid.robots.drives import set_drives
from haloid.robots.inertia import LinkParameters, check_physical, write_links

FORMAT = "haloid-patch-1"
PASSIVE_QUANTITIES = ("damping", "frictionloss", "armature")
SERVO_QUANTITIES = ("kp", "kd", "effort", "delay")
JOINT_QUANTITIES = (*PASSIVE_QUANTITIES, *SERVO_QUANTITIES, "bias", "friction_impedance")
SIMULATION = ("timestep", "tolerance")
SERVOS = ("recorded", "identified")
_LINK_KEYS = ("mass", "com", "inertia")


class PatchError(HaloidError):
    """A patch that does not fit the robot, or states what no joint can have."""


class PatchFileError(HaloidError):
    def __init__(self, path: Path, found: str) -> None:
        super().__init__(f"{path} is not a usable patch: {found}")


@dataclass(frozen=True)
class Patch:
    """The identified values of one robot that differ from its model."""

    robot: str
    """The model it was identified with: a known robot's name or the path of its file. For the reader; not looked up."""
    links: dict[str, LinkParameters] = field(default_factory=dict)
    joints: dict[str, dict[str, float]] = field(default_factory=dict)
    """By joint, then by quantity: one of `JOINT_QUANTITIES`."""
    servos: str | None = None
    """Where kp and kd come from, one of `SERVOS`; None: the patch has none."""
    simulation: dict[str, float] = field(default_factory=dict)
    """The step (s) and the solver's tolerance that the values hold for: `SIMULATION`."""

    def without_recorded_servos(self) -> "Patch":
        """For anyone who drives the robot with other gains: gains that were not identified say nothing about it."""
        if self.servos != "recorded":
            return self
        joints = {
            name: {kind: value for kind, value in values.items() if kind not in ("kp", "kd")}
            for name, values in self.joints.items()
        }
        return replace(self, joints={name: values for name, values in joints.items() if values}, servos=None)


def apply_patch(spec: mujoco.MjSpec, patch: Patch) -> None:
    """Write the patch's values to the spec, in place; nothing is written if any of it does not fit.

    Without gains in the patch the servos stay what they were: gains MuJoCo derives from the inertias (`dampratio`,
    `springdamper`) are made numbers first.
    """
    _check_joints(patch.joints)
    by_name = {joint.name: joint for joint in spec.joints if joint.name}
    for name in patch.joints:
        if name not in by_name:
            near = get_close_matches(name, by_name, n=3, cutoff=0.5) or list(by_name)
            raise PatchError(
                f"the robot has no joint '{name}'; the nearest are: {', '.join(near)}. "
                f"The patch was identified with the robot '{patch.robot}'; apply it to the same robot"
            )
    original = spec.compile()  # not a copy's: only then do the spec's elements know their rows in the model
    write_links(spec, patch.links)
    resolve_damping_ratios(spec, original)
    if "timestep" in patch.simulation:
        spec.option.timestep = patch.simulation["timestep"]
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    if "tolerance" in patch.simulation:
        spec.option.tolerance = patch.simulation["tolerance"]
        spec.option.iterations, spec.option.ls_iterations = 100, 50
    set_drives(spec, patch.joints, keep_own_gains=patch.servos == "recorded")
    for name, values in patch.joints.items():
        _set_joint(by_name[name], values)


def _set_joint(joint: mujoco.MjsJoint, values: Mapping[str, float]) -> None:
    for quantity, value in values.items():
        if quantity == "damping":
            joint.damping[0] = value
        elif quantity == "friction_impedance":
            joint.solimp_friction[:2] = value
        elif quantity == "bias":  # the coordinate becomes what the encoder reads, and the stops move with it
            joint.ref += value
            joint.range[:] = joint.range + value
        elif quantity in PASSIVE_QUANTITIES:
            setattr(joint, quantity, value)


def patched_spec(spec_fn: Callable[[], mujoco.MjSpec], patch: Patch) -> mujoco.MjSpec:
    """The spec that `spec_fn` makes, with the patch applied; made for mjlab's `EntityCfg.spec_fn`:

    >>> from functools import partial
    >>> from haloid.robots.load import load_spec
    >>> patch = Patch("g1", joints={"left_knee_joint": {"damping": 1.0}})  # or read_patch("patch.json")
    >>> spec_fn = partial(patched_spec, partial(load_spec, "g1"), patch)
    >>> float(spec_fn().joint("left_knee_joint").damping[0])
    1.0
    """
    spec = spec_fn()
    apply_patch(spec, patch)
    return spec


def write_patch(patch: Patch, path: str | Path) -> None:
    """Write `patch.json`; reading it gives the same numbers to the last bit."""
    _check(patch)
    document = {
        "format": FORMAT,
        "robot": patch.robot,
        "links": {
            name: {"mass": link.mass_kg, "com": link.com_in_link_m.tolist(), "inertia": link.inertia_about_com.tolist()}
            for name, link in patch.links.items()
        },
        "joints": {name: {key: float(value) for key, value in joint.items()} for name, joint in patch.joints.items()},
    }
    if patch.servos is not None:
        document["servos"] = patch.servos
    if patch.simulation:
        document["simulation"] = {key: float(value) for key, value in patch.simulation.items()}
    with atomic_file(Path(path)) as beside:
        beside.write_text(json.dumps(document, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def read_patch(path: str | Path) -> Patch:
    """Read `patch.json`. Whether its links and joints exist is checked when it is applied."""
    path = Path(path)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise PatchFileError(
            path, f"the system says «{(error.strerror or str(error)).lower()}». Check the path"
        ) from error
    except ValueError as error:
        raise PatchFileError(path, f"it is not JSON ({error}). Expected the patch.json of an identification") from error
    found = document.get("format") if isinstance(document, dict) else None
    if found != FORMAT:
        expected = f'its "format" is {json.dumps(found)}; expected "{FORMAT}". Give the patch.json of an identification'
        raise PatchFileError(path, expected)
    try:
        robot = document.get("robot")
        if not isinstance(robot, str):
            raise PatchError(f'"robot" is {json.dumps(robot)}; expected a name or a path')
        _check_keys("the patch", document, ("format", "robot", "links", "joints", "servos", "simulation"))
        links = {name: _link(name, values) for name, values in _table(document, "links").items()}
        joints = {name: dict(_joint(name, v)) for name, v in _table(document, "joints").items()}
        patch = Patch(robot, links, joints, document.get("servos"), _simulation(_table(document, "simulation")))
        _check(patch)
    except HaloidError as error:
        raise PatchFileError(path, str(error)) from error
    return patch


def _table(document: Mapping, key: str) -> Mapping:
    table = document.get(key, {})
    if not isinstance(table, dict):
        raise PatchError(f'"{key}" is {json.dumps(table)}; expected names and their values, {{"name": {{..}}}}')
    return table


def _link(name: str, values: object) -> LinkParameters:
    if not isinstance(values, dict) or set(_LINK_KEYS) - set(values):
        raise PatchError(f"link '{name}' is {json.dumps(values)}; expected all of: {', '.join(_LINK_KEYS)}")
    _check_keys(f"link '{name}'", values, _LINK_KEYS)
    for key, shape, words in (("mass", (), "a number"), ("com", (3,), "3 numbers"), ("inertia", (3, 3), "3 rows of 3")):
        if not _is_numbers(values[key], shape):
            raise PatchError(f"link '{name}': \"{key}\" is {json.dumps(values[key])}; expected {words}")
    return LinkParameters(float(values["mass"]), np.array(values["com"]), np.array(values["inertia"]))


def _joint(name: str, values: object) -> dict[str, float]:
    if not isinstance(values, dict):
        raise PatchError(f"joint '{name}' is {json.dumps(values)}; expected some of: {', '.join(JOINT_QUANTITIES)}")
    for key, value in values.items():
        if not _is_numbers(value, ()):
            raise PatchError(f"joint '{name}': \"{key}\" is {json.dumps(value)}; expected a number")
    return {key: float(value) for key, value in values.items()}


def _simulation(values: Mapping) -> dict[str, float]:
    _check_keys('"simulation"', values, SIMULATION)
    for key, value in values.items():
        if not (_is_numbers(value, ()) and 0.0 < value < 1.0):
            raise PatchError(f'"{key}" of "simulation" is {json.dumps(value)}; expected a number between 0 and 1')
    return {key: float(value) for key, value in values.items()}


def _is_numbers(value: object, shape: tuple[int, ...]) -> bool:
    """Whether a JSON value is numbers, true and false not among them, nested in this shape."""
    if not shape:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, list) and len(value) == shape[0] and all(_is_numbers(part, shape[1:]) for part in value)


def _check_keys(where: str, values: Mapping, known: tuple[str, ...]) -> None:
    for key in values:
        if key not in known:
            near = get_close_matches(key, known, n=1)
            meant = f" Did you mean '{near[0]}'?" if near else ""
            raise PatchError(f"{where} has an unknown entry '{key}'.{meant} Known: {', '.join(known)}")


def _check(patch: Patch) -> None:
    for name, link in patch.links.items():
        check_physical(name, link)
    if patch.servos is not None and patch.servos not in SERVOS:
        raise PatchError(f'"servos" is {json.dumps(patch.servos)}; expected one of: {", ".join(SERVOS)}')
    _check_joints(patch.joints)


def _check_joints(joints: Mapping[str, Mapping[str, float]]) -> None:
    for name, values in joints.items():
        _check_keys(f"joint '{name}'", values, JOINT_QUANTITIES)
        for quantity, value in values.items():
            if not math.isfinite(value) or (value < 0.0 and quantity != "bias"):
                raise PatchError(f"joint '{name}': {quantity} is {value}; expected a number of 0 or more")
            if quantity == "friction_impedance" and not 0.0 < value < 1.0:
                raise PatchError(f"joint '{name}': {quantity} is {value}; expected a number between 0 and 1")
        if ("kp" in values) != ("kd" in values):
            raise PatchError(f"joint '{name}' has one of kp and kd; expected both or neither")
