"""Identifiability: what the data cannot see, in words.

Comes in: a fit with its prior and the data's information. Goes out: parameters that the data left no better known than
before, and pairs of which only a combination is known ("torso_link CoM x and pelvis CoM x cannot be told apart").
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from haloid.engines.physics import Column
from haloid.identify.solvers.fit import Fit

_UNSEEN_SHARE = 0.9
"""An error bar that is still this share of the prior's was not informed by the data."""
_CONFUSED_CORRELATION = 0.9
_CONFUSED_SHARE = 0.3
"""Two strongly correlated parameters matter only while each is this badly known, against its prior."""
_MOST_PAIRS = 8
_ROUGH = {"mass": 0.2, "com": 0.01}
"""A payload's error bar (kg, m) from which it, and what it is mixed up with, is worth mentioning."""


@dataclass(frozen=True)
class Blind:
    """One thing the data cannot see."""

    parameters: list[str]
    why: str


def words_for(column: Column) -> str:
    name = {"com": "CoM", "frictionloss": "friction loss"}.get(column.kind, column.kind)
    return " ".join(part for part in (column.owner, name, column.component) if part)


def payload_blind_spots(fit: Fit, count: int) -> list[Blind]:
    """About the first `count` columns of stage 2, whose prior is as good as none."""
    columns, std = fit.unknowns.columns[:count], fit.std[:count]
    rough = std > np.array([_ROUGH.get(column.kind, np.inf) for column in columns])
    blind = [
        Blind([c.name], f"{words_for(c)} is known only to ± {1.96 * s:.2g} {'kg' if c.kind == 'mass' else 'm'}")
        for c, s, is_rough in zip(columns, std, rough, strict=True)
        if is_rough
    ]
    correlation = _correlation(fit.covariance[:count, :count])
    for i, j in _pairs(correlation, rough):
        blind.append(_told_apart(columns[i], columns[j], correlation[i, j]))
    return blind


def base_blind_spots(fit: Fit) -> list[Blind]:
    """About stage 1's columns, against their prior."""
    columns = fit.unknowns.columns
    prior_std = 1 / np.sqrt(np.maximum(np.diag(fit.unknowns.prior.information), 1e-12))
    share = fit.std / prior_std
    unseen = [i for i in range(len(columns)) if share[i] > _UNSEEN_SHARE]
    blind = []
    for kind, number in Counter(columns[i].kind for i in unseen).items():
        names = [columns[i].name for i in unseen if columns[i].kind == kind]
        total = sum(column.kind == kind for column in columns)
        what = {"com": "CoM coordinates", "mass": "link masses"}.get(kind, f"joints' {kind}")
        blind.append(
            Blind(
                names,
                f"{number} of {total} {what} are no better known than before the recordings; the prior holds them",
            )
        )
    correlation = _correlation(fit.covariance)
    for i, j in _pairs(correlation, share > _CONFUSED_SHARE):
        blind.append(_told_apart(columns[i], columns[j], correlation[i, j]))
    return blind


def seen_directions(fit: Fit) -> tuple[int, int]:
    """How many directions of parameter space the data knows better than the prior, and how many there are."""
    scale = 1 / np.sqrt(np.maximum(np.diag(fit.unknowns.prior.information), 1e-12))
    eigenvalues = np.linalg.eigvalsh(fit.information * np.outer(scale, scale))
    return int(np.sum(eigenvalues > 1)), len(eigenvalues)


def _correlation(covariance: np.ndarray) -> np.ndarray:
    std = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    return covariance / np.outer(std, std)


def _pairs(correlation: np.ndarray, badly_known: np.ndarray) -> list[tuple[int, int]]:
    strong = np.triu(np.abs(correlation) > _CONFUSED_CORRELATION, 1) & np.outer(badly_known, badly_known)
    found = [(int(i), int(j)) for i, j in np.argwhere(strong)]
    return sorted(found, key=lambda pair: -abs(correlation[pair]))[:_MOST_PAIRS]


def _told_apart(one: Column, two: Column, correlation: float) -> Blind:
    known = "sum" if correlation < 0 else "difference"
    return Blind(
        [one.name, two.name],
        f"{words_for(one)} and {words_for(two)} cannot be told apart in these recordings "
        f"(correlation {correlation:+.2f}): only a weighted {known} of them is known",
    )
