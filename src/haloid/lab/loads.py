"""Loads: what the lab robot carries, and HALO's three perturbation settings (Table II).

In: an MjSpec. Out: the same spec with heavier links. A `Load` changes a link as the paper does, by mass and CoM
offsets; a `RigidLoad` is a thing fixed to a link, with an inertia of its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import mujoco

from haloid.errors import HaloidError
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


def halo_setting(number: int) -> tuple[Load, ...]:
    """HALO's Perturbation Setting 1, 2 or 3 of the G1: torso, left hand, right hand."""
    settings = {
        1: (6.0, (0.01, 0.02, 0.05), 2.4, 2.0),
        2: (9.0, (0.02, 0.04, 0.07), 3.2, 2.8),
        3: (12.0, (0.02, 0.04, 0.07), 3.5, 3.0),
    }
    if number not in settings:
        raise HaloidError(f"HALO has no Perturbation Setting {number}; expected 1, 2 or 3")
    torso_kg, torso_com_offset_m, left_kg, right_kg = settings[number]
    return (
        Load("torso_link", torso_kg, torso_com_offset_m),
        Load("left_wrist_yaw_link", left_kg),
        Load("right_wrist_yaw_link", right_kg),
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
