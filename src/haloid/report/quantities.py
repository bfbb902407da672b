"""What was found at the payload links, one quantity at a time, as tables on screen and in reports show it.

Digits follow the error bar: a number is shown to two digits of half its 95 % interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from haloid.engines.physics import INERTIA_AT, LINK_KINDS
from haloid.identify.results.answer import NORMAL_95, Answer, Estimate
from haloid.lab.truth import Truth
from haloid.report.html.parts import Table
from haloid.robots.inertia import detach

_SIGNIFICANT = 2


@dataclass(frozen=True)
class KnownRobot:
    """What a simulated robot really is; for comparing with an identification, never for making one."""

    bare: Truth
    loaded: Truth


@dataclass(frozen=True)
class Quantity:
    """One number found, with its standard deviation, in the unit it is shown in."""

    link: str
    name: str
    unit: str
    value: float
    std: float
    nominal: float = math.nan
    """NaN where the data sheet has none."""
    truth: float | None = None

    @property
    def label(self) -> str:
        return f"{self.name} ({self.unit})"

    @property
    def half95(self) -> float:
        """Half of the 95 % interval."""
        return NORMAL_95 * self.std

    @property
    def inside(self) -> bool:
        """Whether the truth lies within the 95 % interval."""
        return self.truth is not None and abs(self.value - self.truth) <= self.half95

    def text(self, number: float | None) -> str:
        """A number of this kind in as many decimals as the error bar allows."""
        if number is None or not math.isfinite(number):
            return "–"
        places = decimals(self.half95)
        return f"{round(number, places) + 0.0:.{places}f}"  # no "-0.00"

    def interval_text(self) -> str:
        return f"{self.text(self.value - self.half95)} to {self.text(self.value + self.half95)}"


def decimals(half: float, significant: int = _SIGNIFICANT) -> int:
    """Decimals that show an error bar to this many digits."""
    if not (math.isfinite(half) and half > 0):
        return 3
    return min(max(significant - 1 - math.floor(math.log10(half)), 0), 9)


def with_error_bar(value: float, half: float, significant: int = _SIGNIFICANT) -> str:
    """
    >>> with_error_bar(6.0018, 0.0306)
    '6.002 ± 0.031'
    >>> with_error_bar(6.0018, 0.0306, significant=1)
    '6.00 ± 0.03'
    """
    places = decimals(half, significant)
    return f"{value:.{places}f} ± {half:.{places}f}"


def payload_quantities(answer: Answer, known: KnownRobot | None = None) -> list[Quantity]:
    """Of every payload link: mass, what of it is payload, CoM, the payload's own CoM and inertia, as far as sought."""
    quantities = []
    for payload in answer.payload:
        link, name = answer.links[payload.link], payload.link
        sought_mass, sought_com = bool(link["mass"].std > 0), bool(np.all(link["com"].std > 0))
        truth = _truth(name, known)
        if sought_mass:
            quantities.append(_of_mass(name, "mass", link["mass"], truth.get("mass")))
            quantities.append(_of_mass(name, "payload", payload.mass_kg, truth.get("payload"), nominal=False))
        if sought_com:
            quantities += _of_com(name, "CoM", link["com"], truth.get("com"))
        if sought_com and has_payload(payload.mass_kg):
            quantities += _of_com(name, "payload CoM", payload.com_in_link_m, truth.get("payload_com"))
            if payload.inertia_about_com is not None:
                quantities += _of_inertia(name, payload.inertia_about_com, truth.get("payload_inertia"))
    return quantities


def has_payload(mass_kg: Estimate) -> bool:
    """Whether something is there for certain: only then does it have a place."""
    return bool(abs(mass_kg.value) > NORMAL_95 * mass_kg.std)


def by_link(
    columns: Sequence[str],
    quantities: Sequence[Quantity],
    cells: Callable[[Quantity], Sequence[str]],
    note: str,
    indent: str = "  ",
) -> Table:
    """A narrow table: a line for each link, and under it one line per quantity."""
    rows: list[list[str]] = []
    link = None
    for quantity in quantities:
        if quantity.link != link:
            link = quantity.link
            rows.append([link, *[""] * (len(columns) - 1)])
        rows.append([indent + quantity.label, *cells(quantity)])
    return Table(columns, rows, note)


def _of_mass(link: str, name: str, mass: Estimate, truth: float | None, nominal: bool = True) -> Quantity:
    return Quantity(
        link, name, "kg", float(mass.value), float(mass.std), float(mass.nominal) if nominal else math.nan, truth
    )


def _of_com(link: str, name: str, com_m: Estimate, truth_m: np.ndarray | None) -> list[Quantity]:
    return [
        Quantity(
            link,
            f"{name} {axis}",
            "mm",
            *(1e3 * float(numbers[k]) for numbers in (com_m.value, com_m.std, com_m.nominal)),
            truth=None if truth_m is None else 1e3 * float(truth_m[k]),
        )
        for k, axis in enumerate("xyz")
    ]


def _of_inertia(link: str, inertia: Estimate, truth: np.ndarray | None) -> list[Quantity]:
    """In g·m²."""
    return [
        Quantity(
            link,
            f"payload inertia {part}",
            "g·m²",
            1e3 * float(inertia.value[k]),
            1e3 * float(inertia.std[k]),
            truth=None if truth is None else 1e3 * float(truth[k]),
        )
        for k, part in enumerate(LINK_KINDS["inertia"])
    ]


def _truth(link: str, known: KnownRobot | None) -> dict:
    if known is None:
        return {}
    loaded, bare = known.loaded.links[link], known.bare.links[link]
    truth = {"mass": loaded.mass_kg, "com": loaded.com_in_link_m, "payload": loaded.mass_kg - bare.mass_kg}
    if truth["payload"]:
        payload = detach(loaded, bare)
        assert payload.inertia_about_com is not None
        truth["payload_com"] = payload.com_in_link_m
        truth["payload_inertia"] = payload.inertia_about_com[INERTIA_AT]
    return truth
