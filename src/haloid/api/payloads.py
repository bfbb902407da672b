"""What a robot carries, as the functions of the front door accept it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from haloid.errors import HaloidError
from haloid.identify.results.answer import PayloadEstimate
from haloid.lab.loads import Load, RigidLoad, halo_setting
from haloid.report.quantities import has_payload
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.robots.inertia import Payload

MassAndCom = tuple[float, Sequence[float]]
PayloadOnRobot = None | int | Mapping[str, MassAndCom] | Mapping[str, PayloadEstimate]
"""Nothing, HALO's Perturbation Setting 1 to 3, mass and centre of mass by link, or the `payload` of a `Result`."""


_EXPECTED = (
    "expected HALO's Perturbation Setting 1, 2 or 3, or by link (mass in kg, centre of mass in the link's frame in m): "
    '{"torso_link": (6.0, (0.0, 0.0, 0.2))}'
)


def loads_of(payload: PayloadOnRobot, robot: str = DEFAULT_ROBOT) -> tuple[Load | RigidLoad, ...]:
    """The loads to put on the robot; what was identified is put on as point masses, where its presence is certain."""
    if payload is None:
        return ()
    if isinstance(payload, int):
        return halo_setting(payload, robot)
    if not isinstance(payload, Mapping):
        raise HaloidError(f"the payload is {payload!r}; {_EXPECTED}")
    loads = []
    for link, carried in payload.items():
        if isinstance(carried, PayloadEstimate):
            if has_payload(carried.mass_kg):
                loads.append(RigidLoad(link, Payload(carried.mass_kg.value, carried.com_in_link_m.value)))
        else:
            loads.append(RigidLoad(link, _payload(link, carried)))
    return tuple(loads)


def _payload(link: str, carried: MassAndCom) -> Payload:
    try:
        mass_kg, com_in_link_m = float(carried[0]), np.array(carried[1], float)
        numbers = np.array([mass_kg, *com_in_link_m])
    except (TypeError, ValueError, IndexError, KeyError) as error:
        raise HaloidError(f"the payload of {link} is {carried!r}; {_EXPECTED}") from error
    if numbers.shape != (4,) or not np.isfinite(numbers).all() or mass_kg < 0:
        raise HaloidError(f"the payload of {link} is {carried!r}; {_EXPECTED}")
    return Payload(mass_kg, com_in_link_m)
