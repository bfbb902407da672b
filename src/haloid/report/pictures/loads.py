"""Loads to be drawn: what a robot carries, where it is, how large it is drawn, and how certain all that is.

In: the payload of an identification. Out: ellipsoids in the frame of the link that carries it: the load itself, and the
region that holds its centre of mass with 95 % probability, enlarged where it would be too small to see.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haloid.identify.results.answer import NORMAL_95, PayloadEstimate

DENSITY_KG_M3 = 7850.0
"""Steel: a load of unknown inertia is drawn as a ball of it."""
CHI_95 = 2.7955
"""Standard deviations from the middle to the edge of the region that holds 95 % of a normal distribution in space."""
VISIBLE_M = 0.025
"""The region's largest half axis is drawn at least about this long."""
ENLARGEMENTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True)
class Ellipsoid:
    """In a link's frame."""

    centre_m: np.ndarray
    half_axes_m: np.ndarray
    axes: np.ndarray
    """(3, 3) columns: directions of the half axes."""


@dataclass(frozen=True)
class Load:
    link: str
    mass_kg: float
    half95_kg: float
    """Half of the mass's 95 % interval."""
    com_in_link_m: np.ndarray
    com_std_m: np.ndarray
    inertia_about_com: np.ndarray | None = None
    """(3, 3) kg·m² along the link's axes; None: unknown."""

    @property
    def shape(self) -> Ellipsoid:
        """The solid ellipsoid of this mass and inertia, or a steel ball of this mass."""
        if self.inertia_about_com is not None:
            # A solid ellipsoid has I_x = m (b² + c²) / 5, and so a² = 5 (I_y + I_z − I_x) / 2m.
            principal, axes = np.linalg.eigh(self.inertia_about_com)
            squares = 2.5 * (principal.sum() - 2 * principal) / self.mass_kg
            if np.all(squares > 0):
                return Ellipsoid(self.com_in_link_m, np.sqrt(squares), axes)
        radius = float(np.cbrt(3 * self.mass_kg / (4 * np.pi * DENSITY_KG_M3)))
        return Ellipsoid(self.com_in_link_m, np.full(3, radius), np.eye(3))

    def doubt(self, enlarged: float = 1.0) -> Ellipsoid:
        """Where its centre of mass is with 95 % probability, correlations between the axes left out."""
        return Ellipsoid(self.com_in_link_m, enlarged * CHI_95 * self.com_std_m, np.eye(3))


def loads_of(payload: Sequence[PayloadEstimate]) -> list[Load]:
    """Of an identification, those with a weight and a place."""
    loads = [
        Load(
            link=one.link,
            mass_kg=float(one.mass_kg.value),
            half95_kg=float(NORMAL_95 * one.mass_kg.std),
            com_in_link_m=one.com_in_link_m.value,
            com_std_m=one.com_in_link_m.std,
        )
        for one in payload
    ]
    return [load for load in loads if load.mass_kg > 0 and np.all(np.isfinite(load.com_in_link_m))]


def enlargement(loads: Sequence[Load]) -> int:
    """How many times all regions are to be enlarged so that the largest can be seen."""
    largest_m = max((CHI_95 * float(load.com_std_m.max()) for load in loads), default=0.0)
    if largest_m <= 0:
        return 1
    return next((times for times in ENLARGEMENTS if times * largest_m >= VISIBLE_M), ENLARGEMENTS[-1])
