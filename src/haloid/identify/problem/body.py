"""A payload is a body: what its size says about the inertia of the link that carries it.

The payload is at first a point of mass m_p = m − m_b. By the parallel-axis theorem a link of mass m_b, CoM c_b and
inertia I_b with that point on it has, about the common CoM c,

    I(m, c) = I_b + m_b·m/m_p · S(c_b − c),    S(d) = d·d·1 − d dᵀ

A payload of length L adds at most about m_p·L²/12, a rod's inertia; that, and the uncertainty of I_b itself, is the
standard deviation of each component of I − I(m, c). Linearised near the solution it is a Gaussian over mass, CoM and
inertia of the loaded link, which takes over where the data says little about the inertia. The loaded link itself is
always a body that can exist (`unknowns`: log-Cholesky).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haloid.engines.physics import INERTIA_AT, LINK_KINDS, Column, Physics
from haloid.identify.problem.priors import BasePrior, payload_prior
from haloid.identify.problem.unknowns import Prior
from haloid.robots.inertia import LinkParameters

_LEAST_SHARE = 0.05
"""Of the link's mass: a lighter payload has no meaningful CoM, and its link keeps its inertia."""
_INERTIA = LINK_KINDS["inertia"]


@dataclass(frozen=True)
class _Knowledge:
    """½ Σ_k (slope_k·θ − value_k)² / std_k² over all columns θ."""

    slope: np.ndarray
    value: np.ndarray
    std: np.ndarray


def body_prior(base: Physics, near: Physics, columns: list[Column], size_m: float) -> Prior:
    """Of stage 2's columns: mass and CoM may be almost anything, the inertia fits a body of `size_m`."""
    wide = payload_prior(base, columns)
    information = wide.information.copy()
    for i, column in enumerate(columns):
        if column.kind == "inertia":
            information[i, i] = 0.0
    pull = information @ wide.mean
    for known in _known(base, near, columns, size_m):
        weighted = known.slope.T / known.std**2
        information += weighted @ known.slope
        pull += weighted @ known.value
    return Prior(np.linalg.solve(information, pull), information)


def as_points(base: Physics, near: Physics, columns: list[Column]) -> Physics:
    """`near` with the inertias that a point payload gives its links, where they are among the columns."""
    links = dict.fromkeys(column.owner for column in columns if column.kind == "inertia")
    for link in links:
        bare, loaded = base.link(link), near.link(link)
        if loaded.mass_kg - bare.mass_kg >= _LEAST_SHARE * bare.mass_kg:
            inertia = [column for column in columns if column.owner == link and column.kind == "inertia"]
            at = np.array([loaded.mass_kg, *loaded.com_in_link_m])
            near = near.with_values(inertia, _with_a_point(bare, at))
    return near


def inertia_information(base: Physics, near: Physics, columns: list[Column], size_m: float) -> np.ndarray:
    """(P, P) what the size alone says, for a bound at the true parameters `near`."""
    total = np.zeros((len(columns), len(columns)))
    for known in _known(base, near, columns, size_m):
        total += (known.slope.T / known.std**2) @ known.slope
    return total


def _known(base: Physics, near: Physics, columns: list[Column], size_m: float) -> list[_Knowledge]:
    index = {column.name: i for i, column in enumerate(columns)}
    links = dict.fromkeys(column.owner for column in columns if column.kind == "inertia")
    return [_of_link(base, near, link, index, size_m) for link in links]


def _of_link(base: Physics, near: Physics, link: str, index: dict[str, int], size_m: float) -> _Knowledge:
    bare, loaded = base.link(link), near.link(link)
    mass_com = [index[f"{link}.mass"], *(index[f"{link}.com.{axis}"] for axis in "xyz")]
    inertia = [index[f"{link}.inertia.{part}"] for part in _INERTIA]
    at = np.array([loaded.mass_kg, *loaded.com_in_link_m])

    payload_kg = loaded.mass_kg - bare.mass_kg
    slope = np.zeros((6, len(index)))
    slope[np.arange(6), inertia] = 1.0
    if payload_kg < _LEAST_SHARE * bare.mass_kg:
        value = bare.inertia_about_com[INERTIA_AT]
    else:
        nudges = 1e-6 * np.eye(4)
        by = np.array([(_with_a_point(bare, at + n) - _with_a_point(bare, at - n)) / 2e-6 for n in nudges]).T
        slope[:, mass_com] = -by
        value = _with_a_point(bare, at) - by @ at
    own = BasePrior().inertia_share * float(np.trace(bare.inertia_about_com)) / 3
    rod = max(abs(payload_kg), _LEAST_SHARE * bare.mass_kg) * size_m**2 / 12
    return _Knowledge(slope, value, np.full(6, np.hypot(own, rod)))


def _with_a_point(bare: LinkParameters, mass_and_com: np.ndarray) -> np.ndarray:
    """(6,) I(m, c): the inertia of a link with a point on it, whose common mass and CoM are known."""
    mass, offset = mass_and_com[0], bare.com_in_link_m - mass_and_com[1:]
    reach = bare.mass_kg * mass / (mass - bare.mass_kg)
    return (bare.inertia_about_com + reach * (offset @ offset * np.eye(3) - np.outer(offset, offset)))[INERTIA_AT]
