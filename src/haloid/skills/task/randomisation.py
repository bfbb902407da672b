"""Skills, robots that differ: HALO's domain randomisation (Table I), mjlab's, and ASAP's (its Table VI).

In: ranges, and a batch of robots. Out: the same batch, in which every robot has its own masses, centres of mass,
friction and servo gains, drawn once; its encoders' bias, and how late its servos are. A link's inertia grows with its
mass, I' = I·m'/m: the same shape, denser.
"""

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.skills.task.robot import TrackedRobot
from haloid.skills.task.starts import VELOCITY_RANGE

if TYPE_CHECKING:
    from mjbatch import Batch

Range = tuple[float, float]
RANDOMISED_FIELDS = ("body_mass", "body_inertia", "body_ipos", "geom_friction")
"""Of MuJoCo's model: what differs from robot to robot."""
PUSH_EVERY_S = (1.0, 3.0)
LEAST_MASS_RATIO = 0.2
"""A link never gets lighter than this part of its model: Table I would make an empty hand's mass negative."""


@dataclass(frozen=True)
class Randomisation:
    """Uniform ranges, each robot's own draw; offsets are added to the training model's values."""

    torso_mass_kg: Range = (0.0, 0.0)
    torso_com_m: tuple[Range, Range, Range] = ((0.0, 0.0), (0.0, 0.0), (0.0, 0.0))
    """Offset in the link's x, y, z."""
    hands_mass_kg: Range = (0.0, 0.0)
    """Each hand draws its own."""
    hands_com_m: Range = (0.0, 0.0)
    """In x, y and z."""
    encoder_bias_rad: Range = (0.0, 0.0)
    foot_friction: Range | None = None
    """One coefficient for both feet; None: the model's."""
    kp_ratio: Range = (1.0, 1.0)
    """Of every servo, to what the policy believes."""
    delay_s: Range | None = None
    """From the policy's targets to the servos, one to two control steps; None: the task's own."""
    push_every_s: Range = PUSH_EVERY_S
    push_velocity: tuple[float, ...] = tuple(VELOCITY_RANGE.tolist())
    """Half widths of what a push adds to the root's velocities: m/s and rad/s, in the world's axes."""


@dataclass(frozen=True)
class Drawn:
    """What of the robots' differences is not in their models."""

    encoder_bias_rad: np.ndarray
    """(N, n)"""
    kp_ratio: np.ndarray
    """(N, n)"""
    delay_s: np.ndarray | None
    """(N,)"""
    body: np.ndarray
    """(N, 13) of each robot: what was added to the torso's and the hands' masses, kg, and centres of mass, cm; friction
    of the feet."""

    @property
    def seen_by_critic(self) -> np.ndarray:
        """(N, 14 + 2n) all of it, in units in which it is of the order of one."""
        number = len(self.body)
        late = np.zeros(number) if self.delay_s is None else 100 * self.delay_s
        columns = [self.body, 100 * self.encoder_bias_rad, 10 * (self.kp_ratio - 1), late[:, None]]
        return np.concatenate(columns, axis=1, dtype=np.float32)


def _cube(half_width_m: float) -> tuple[Range, Range, Range]:
    axis = (-half_width_m, half_width_m)
    return axis, axis, axis


RANDOMISATIONS: dict[str, Randomisation] = {
    "none": Randomisation(),
    "nominal": Randomisation(
        torso_mass_kg=(-0.5, 0.5),
        torso_com_m=_cube(0.03),
        hands_mass_kg=(-0.5, 0.5),
        hands_com_m=(-0.02, 0.02),
        encoder_bias_rad=(-0.01, 0.01),
        foot_friction=(0.3, 1.2),
    ),
    "wide": Randomisation(
        torso_mass_kg=(2.0, 8.0),
        torso_com_m=_cube(0.08),
        hands_mass_kg=(1.0, 4.0),
        hands_com_m=(-0.05, 0.05),
        encoder_bias_rad=(-0.01, 0.01),
        foot_friction=(0.3, 1.2),
    ),
    "mjlab": Randomisation(
        torso_com_m=((-0.025, 0.025), (-0.05, 0.05), (-0.05, 0.05)),
        encoder_bias_rad=(-0.01, 0.01),
        foot_friction=(0.3, 1.2),
    ),
    "asap": Randomisation(
        foot_friction=(0.2, 1.1),
        kp_ratio=(0.925, 1.05),
        delay_s=(0.02, 0.04),
        push_every_s=(10.0, 10.0),
        push_velocity=(0.5, 0.5, 0.0, 0.0, 0.0, 0.0),
    ),
}
RANDOMISATIONS["asap-on-time"] = replace(RANDOMISATIONS["asap"], delay_s=None)
"""For fine-tuning with a delta model, which the real robot's delay is in."""
RandomisationName = Literal["none", "nominal", "wide", "mjlab", "asap", "asap-on-time"]


def randomise(batch: "Batch", robot: TrackedRobot, ranges: Randomisation, random: np.random.Generator) -> Drawn:
    """Give every robot of the batch its own body, whatever it had before."""
    model, number = robot.model, batch.num_sims
    torso = model.body(robot.description.anchor).id
    hands = [model.body(name).id for name in robot.description.hands.values()]
    feet = [model.body(name).id for name in robot.description.feet.values()]
    with batch.model_update(*RANDOMISED_FIELDS):
        for name in RANDOMISED_FIELDS:
            batch.expand(name)[:] = getattr(model, name)
        mass, inertia = batch.expand("body_mass"), batch.expand("body_inertia")
        com, friction = batch.expand("body_ipos"), batch.expand("geom_friction")
        com[:, torso] += np.stack([random.uniform(*axis, number) for axis in ranges.torso_com_m], axis=1)
        _add_mass(mass, inertia, torso, random.uniform(*ranges.torso_mass_kg, number))
        for hand in hands:
            com[:, hand] += random.uniform(*ranges.hands_com_m, (number, 3))
            _add_mass(mass, inertia, hand, random.uniform(*ranges.hands_mass_kg, number))
        if ranges.foot_friction is not None:
            soles = np.isin(model.geom_bodyid, feet)
            friction[:, soles, 0] = random.uniform(*ranges.foot_friction, number)[:, None]
        links = [torso, *hands]
        added_kg = mass[:, links] - model.body_mass[links]
        added_cm = 100 * (com[:, links] - model.body_ipos[links]).reshape(number, -1)
        sole = np.flatnonzero(np.isin(model.geom_bodyid, feet))[:1]
        body = np.concatenate([added_kg, added_cm, friction[:, sole, 0]], axis=1)
    joints = len(robot.joint_names)
    bias_rad = random.uniform(*ranges.encoder_bias_rad, (number, joints)).astype(np.float32)
    kp_ratio, delay_s = np.ones((number, joints)), None
    if ranges.kp_ratio != (1.0, 1.0):
        kp_ratio = random.uniform(*ranges.kp_ratio, (number, joints))
        _set_stiffness(batch, robot, kp_ratio)
    if ranges.delay_s is not None:
        delay_s = random.uniform(*ranges.delay_s, number)
    return Drawn(bias_rad, kp_ratio, delay_s, body)


def _set_stiffness(batch: "Batch", robot: TrackedRobot, kp_ratio: np.ndarray) -> None:
    """A servo's torque is gain·target + bias·q + …, with gain = kp and bias = −kp."""
    servos = [robot.model.actuator(name).id for name in robot.joint_names]
    with batch.model_update("actuator_gainprm", "actuator_biasprm"):
        batch.expand("actuator_gainprm")[:, servos, 0] = robot.model.actuator_gainprm[servos, 0] * kp_ratio
        batch.expand("actuator_biasprm")[:, servos, 1] = robot.model.actuator_biasprm[servos, 1] * kp_ratio


def narrowed(ranges: Randomisation, part: float) -> Randomisation:
    """The same ranges about the same middles, at a part of their width."""

    def narrow(low_high: Range) -> Range:
        low, high = low_high
        less = (1 - part) * (high - low) / 2
        return low + less, high - less

    x, y, z = ranges.torso_com_m
    return replace(
        ranges,
        torso_mass_kg=narrow(ranges.torso_mass_kg),
        torso_com_m=(narrow(x), narrow(y), narrow(z)),
        hands_mass_kg=narrow(ranges.hands_mass_kg),
        hands_com_m=narrow(ranges.hands_com_m),
        encoder_bias_rad=narrow(ranges.encoder_bias_rad),
        foot_friction=None if ranges.foot_friction is None else narrow(ranges.foot_friction),
        kp_ratio=narrow(ranges.kp_ratio),
        delay_s=None if ranges.delay_s is None else narrow(ranges.delay_s),
    )


def middle_of(robot: TrackedRobot, ranges: Randomisation) -> mujoco.MjModel:
    """The robot's model with the middle of all masses and centres of mass that `ranges` may give it."""
    model = copy.copy(robot.model)
    offsets = {robot.description.anchor: (ranges.torso_mass_kg, ranges.torso_com_m)}
    offsets |= {hand: (ranges.hands_mass_kg, (ranges.hands_com_m,) * 3) for hand in robot.description.hands.values()}
    for name, (mass_kg, com_m) in offsets.items():
        body = model.body(name).id
        model.body_ipos[body] += np.mean(com_m, axis=1)
        _add_mass(model.body_mass[None], model.body_inertia[None], body, np.mean(mass_kg, keepdims=True))
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


def _add_mass(mass: np.ndarray, inertia: np.ndarray, body: int, offset_kg: np.ndarray) -> None:
    before = mass[:, body].copy()
    if not (before > 0).all():
        raise HaloidError("a link without mass cannot be randomised by Table I; give it its mass in the model")
    mass[:, body] = np.maximum(before + offset_kg, LEAST_MASS_RATIO * before)
    inertia[:, body] *= (mass[:, body] / before)[:, None]
