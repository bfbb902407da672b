"""Skills, robots that differ: HALO's domain randomisation (Table I), and mjlab's.

In: ranges, and a batch of robots. Out: the same batch, in which every robot has its own masses, centres of mass and
friction, drawn once; and its encoders' bias. A link's inertia grows with its mass, I' = I·m'/m: the same shape, denser.
"""

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.skills.task.robot import TrackedRobot

if TYPE_CHECKING:
    from mjbatch import Batch

Range = tuple[float, float]
RANDOMISED_FIELDS = ("body_mass", "body_inertia", "body_ipos", "geom_friction")
"""Of MuJoCo's model: what differs from robot to robot."""
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
}
RandomisationName = Literal["none", "nominal", "wide", "mjlab"]


def randomise(batch: "Batch", robot: TrackedRobot, ranges: Randomisation, random: np.random.Generator) -> np.ndarray:
    """Give every robot of the batch its own body, whatever it had before; (N, n) encoder biases are returned."""
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
    return random.uniform(*ranges.encoder_bias_rad, (number, len(robot.joint_names))).astype(np.float32)


def narrowed(ranges: Randomisation, part: float) -> Randomisation:
    """The same ranges about the same middles, at a part of their width."""

    def narrow(low_high: Range) -> Range:
        low, high = low_high
        less = (1 - part) * (high - low) / 2
        return low + less, high - less

    x, y, z = ranges.torso_com_m
    return Randomisation(
        torso_mass_kg=narrow(ranges.torso_mass_kg),
        torso_com_m=(narrow(x), narrow(y), narrow(z)),
        hands_mass_kg=narrow(ranges.hands_mass_kg),
        hands_com_m=narrow(ranges.hands_com_m),
        encoder_bias_rad=narrow(ranges.encoder_bias_rad),
        foot_friction=None if ranges.foot_friction is None else narrow(ranges.foot_friction),
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
