"""Loads: what the lab robot carries, and HALO's three perturbation settings (Table II).

In: an MjSpec. Out: the same spec with heavier links. A `Load` changes a link as the paper does, by mass and CoM
offsets; a `RigidLoad` is a thing fixed to a link, with an inertia of its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import mujoco
import numpy as np

from haloid.errors import HaloidError
from haloid.robots.description import describe
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.robots.frames import rotation_of
from haloid.robots.inertia import Payload, attach, find_link, perturb, read_links, write_links


@dataclass(frozen=True)
class Load:
    """HALO's perturbation of a link: mass and CoM offsets, the inertia about the CoM kept."""

    link: str
    mass_kg: float
    com_offset_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Shift of the whole link's centre of mass in the link frame."""


@dataclass(frozen=True)
class RigidLoad:
    """A payload fixed to a link, composed by the parallel-axis theorem."""

    link: str
    payload: Payload


def box(mass_kg: float, sides_m: np.ndarray, com_in_link_m: np.ndarray, quat_wxyz: np.ndarray) -> Payload:
    """A uniform box, its sides turned into the link's frame by a unit quaternion."""
    square = np.asarray(sides_m, float) ** 2
    return _turned(mass_kg, mass_kg / 12 * (square.sum() - square), com_in_link_m, quat_wxyz)


def sphere(mass_kg: float, radius_m: float, com_in_link_m: np.ndarray) -> Payload:
    """A uniform ball."""
    return Payload(mass_kg, np.asarray(com_in_link_m, float), 0.4 * mass_kg * radius_m**2 * np.eye(3))


def bar(mass_kg: float, length_m: float, radius_m: float, com_in_link_m: np.ndarray, quat_wxyz: np.ndarray) -> Payload:
    """A uniform round bar, along z before it is turned."""
    across = mass_kg * (length_m**2 / 12 + radius_m**2 / 4)
    return _turned(mass_kg, np.array([across, across, mass_kg * radius_m**2 / 2]), com_in_link_m, quat_wxyz)


def _turned(mass_kg: float, principal: np.ndarray, com_in_link_m: np.ndarray, quat_wxyz: np.ndarray) -> Payload:
    rotation = rotation_of(quat_wxyz)
    return Payload(mass_kg, np.asarray(com_in_link_m, float), rotation @ np.diag(principal) @ rotation.T)


def halo_setting(number: int, robot: str = DEFAULT_ROBOT) -> tuple[Load, ...]:
    """HALO's Perturbation Setting 1, 2 or 3, which it gives for the G1: torso, left hand, right hand."""
    settings = {
        1: (6.0, (0.01, 0.02, 0.05), 2.4, 2.0),
        2: (9.0, (0.02, 0.04, 0.07), 3.2, 2.8),
        3: (12.0, (0.02, 0.04, 0.07), 3.5, 3.0),
    }
    if number not in settings:
        raise HaloidError(f"HALO has no Perturbation Setting {number}; expected 1, 2 or 3")
    torso_kg, torso_com_offset_m, left_kg, right_kg = settings[number]
    description = describe(robot)
    description.need("a perturbation setting", "anchor", "hands")
    return (
        Load(description.anchor, torso_kg, torso_com_offset_m),
        Load(description.hands["left"], left_kg),
        Load(description.hands["right"], right_kg),
    )


def put_on(spec: mujoco.MjSpec, loads: Iterable[Load | RigidLoad]) -> None:
    """Puts the loads on the links of `spec`, in place; several loads on one link add up."""
    model = spec.copy().compile()
    links = read_links(model)
    changed = {}
    for load in loads:
        find_link(model, load.link)
        link = changed.get(load.link, links[load.link])
        if isinstance(load, Load):
            changed[load.link] = perturb(link, load.mass_kg, load.com_offset_m)
        else:
            changed[load.link] = attach(link, load.payload)
    write_links(spec, changed)
