"""Robots, checks: for which tasks a model and its description suffice, and what in the model looks like a mistake.

In: a robot's name or model file. Out: what each task still needs, and flags: what was found, where, and what
to do. An error makes what is identified wrong; a warning makes something impossible or less sure.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import mujoco
import numpy as np

from haloid.robots.description import Robot, describe
from haloid.robots.entries import ENTRIES
from haloid.robots.load import actuated_joints, load_spec
from haloid.robots.servos import model_gains

LIGHT_LINK_KG, LIGHT_LINK_SHARE = 1e-4, 1e-6
"""A link that moves and weighs less than this, or than this share of the robot, has no mass to speak of."""
GYRATION_M = (1e-3, 1.0)
"""Radius of gyration √(I/m) of a link: smaller is a missing inertia, larger a placeholder or another unit."""
DEGREES_RAD = 2.1 * np.pi
"""A range that reaches further was probably given in degrees and read as radians …"""
TINY_RANGE_RAD = 0.1
"""… and one as narrow as this in radians and read as degrees."""

_HINGE, _FREE = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_FREE


@dataclass(frozen=True)
class Task:
    """What a robot is for, and what that takes."""

    name: str
    what: str
    entries: tuple[str, ...] = ()
    floating_entries: tuple[str, ...] = ()
    """Entries that only a robot with a free joint needs."""
    floats: bool = False
    """Whether it takes a robot with a free joint."""
    servos: bool = False
    """Whether every driven joint must have a position servo in the model."""


TASKS = (
    Task("identify", "find masses and friction from recordings"),
    Task("calibrate", "find servo gains, friction and delay from recordings"),
    Task("record", "simulate recordings, design excitations", ("payload_links",), ("clamp", "legs")),
    Task("convert", "read Unitree's bags and tables with numbered motors", ("motor_order",)),
    Task(
        "motions",
        "make stand and squat, repair clips",
        ("legs", "feet", "standing_pose", "standing_height_m", "stance_half_width_m", "motions"),
        floats=True,
    ),
    Task(
        "train",
        "train and evaluate policies",
        ("anchor", "tracked_links", "feet", "hands", "legs", "arms", "imu_site", "standing_pose"),
        floats=True,
        servos=True,
    ),
    Task("train --backend mjlab", "train on GPUs", ("mjlab",), floats=True),
)


@dataclass(frozen=True)
class Flag:
    severity: Literal["error", "warning"]
    what: str
    where: tuple[str, ...]
    """Links or joints; none where it is about the whole robot."""
    advice: str


@dataclass(frozen=True)
class Checked:
    robot: Robot
    missing: dict[str, tuple[str, ...]]
    """By task, in words, what it still needs."""
    flags: tuple[Flag, ...]


def check_robot(robot: str) -> Checked:
    """The model is loaded as every task loads it; what cannot be loaded is an error of its own."""
    description, spec = describe(robot), load_spec(robot)
    has_servos = set(model_gains(spec).kp) >= set(actuated_joints(spec))
    missing = {task.name: tuple(_missing(task, description, has_servos)) for task in TASKS}
    model = spec.compile()
    flags = [*_masses(model), *_ranges(model), *_drives(model)]
    return Checked(description, missing, tuple(sorted(flags, key=lambda flag: flag.severity)))


def _missing(task: Task, robot: Robot, has_servos: bool) -> Iterator[str]:
    if task.floats and not robot.floats:
        yield "a free joint in the model (<freejoint/> in its root link)"
    if task.servos and not has_servos:
        yield "a position servo for every driven joint in the model (<position kp=… kv=…>)"
    for entry in (*task.entries, *(task.floating_entries if robot.floats else ())):
        if not getattr(robot, entry):
            yield ENTRIES[entry].example


def _masses(model: mujoco.MjModel) -> Iterator[Flag]:
    mass_kg, inertia = model.body_mass, model.body_inertia
    least_kg = max(LIGHT_LINK_KG, LIGHT_LINK_SHARE * mass_kg.sum())
    moving = [body for body in range(1, model.nbody) if model.body_jntnum[body] or mass_kg[body]]
    light = [body for body in moving if mass_kg[body] < least_kg and model.body_subtreemass[body] < least_kg]
    light += [body for body in moving if mass_kg[body] < least_kg and body not in light and model.body_jntnum[body]]
    if light:
        yield Flag(
            "error",
            f"links weigh less than {1e3 * least_kg:.2g} g",
            _names(model, light),
            "State mass and inertia with <inertial>; a mesh that is missing may have given them before.",
        )
    heavy = [body for body in moving if body not in light]
    radius_m = np.sqrt(inertia.max(axis=1) / np.maximum(mass_kg, 1e-12))
    smallest, largest = GYRATION_M
    for bodies, found in (
        ([body for body in heavy if radius_m[body] < smallest], "inertias are next to nothing for their mass"),
        ([body for body in heavy if radius_m[body] > largest], "inertias are far too large for their mass"),
    ):
        if bodies:
            yield Flag("error", found, _names(model, bodies), "Give inertias about the centre of mass in kg·m².")


def _ranges(model: mujoco.MjModel) -> Iterator[Flag]:
    hinges = [joint for joint in range(model.njnt) if model.jnt_type[joint] == _HINGE]
    limited = [joint for joint in hinges if model.jnt_limited[joint]]
    wide = [joint for joint in limited if np.abs(model.jnt_range[joint]).max() > DEGREES_RAD]
    tiny = [joint for joint in limited if np.ptp(model.jnt_range[joint]) < TINY_RANGE_RAD]
    if wide:
        low, high = model.jnt_range[wide[0]]
        yield Flag(
            "error",
            f"ranges look like degrees read as radians, such as [{low:g}, {high:g}] rad",
            _joint_names(model, wide),
            'Write <compiler angle="degree"/>, or give the ranges in radians.',
        )
    if tiny:
        low, high = model.jnt_range[tiny[0]]
        yield Flag(
            "error",
            f"ranges are tiny, such as [{low:.2g}, {high:.2g}] rad: radians that were read as degrees?",
            _joint_names(model, tiny),
            'MJCF takes angles as degrees by default: write <compiler angle="radian"/>.',
        )
    free = [joint for joint in hinges if not model.jnt_limited[joint]]
    if free:
        yield Flag("warning", "joints have no range", _joint_names(model, free), "Give the range of their stops.")


def _drives(model: mujoco.MjModel) -> Iterator[Flag]:
    scalar = [joint for joint in range(model.njnt) if model.jnt_type[joint] != _FREE]
    if model.nu == 0:
        yield Flag(
            "warning",
            "the model has no actuators; every joint is taken as driven",
            (),
            "A recording brings its own gains. For simulating and training, add <position> actuators.",
        )
    driven = actuated_joints(model)
    passive = [joint for joint in scalar if model.joint(joint).name not in driven]
    if passive:
        advice = "Drive them, or name them under fixed_joints if they do not move."
        yield Flag("warning", "joints have no actuator", _joint_names(model, passive), advice)
    limited = {int(model.actuator_trnid[row, 0]) for row in range(model.nu) if model.actuator_forcelimited[row]}
    unlimited = [joint for joint in scalar if not model.jnt_actfrclimited[joint] and joint not in limited]
    if unlimited:
        advice = 'Give actuatorfrcrange="-NM NM", or effort_limits_nm in the yaml; saturation is not seen without.'
        yield Flag("warning", "joints have no torque limit", _joint_names(model, unlimited), advice)


def _names(model: mujoco.MjModel, bodies: list[int]) -> tuple[str, ...]:
    return tuple(model.body(body).name for body in bodies)


def _joint_names(model: mujoco.MjModel, joints: list[int]) -> tuple[str, ...]:
    return tuple(model.joint(joint).name for joint in joints)
