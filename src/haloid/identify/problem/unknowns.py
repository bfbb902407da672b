"""Unknowns: the solver's coordinates over the chosen physical parameters, with their prior and bounds.

Links are solved for in coordinates in which every value is physical and inverse dynamics is nearly linear:
log-mass and first moment m·c; or, when the inertia is asked for too, the log-Cholesky factor of the pseudo-inertia
matrix, so that mass, CoM and inertia together always belong to a real body. Joint parameters are their own
coordinates, kept above their lower bounds. The prior is Gaussian in the physical parameters themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase

import numpy as np

from haloid.engines.physics import FLOOR_KINDS, JOINT_KINDS, LINK_KINDS, Column, Physics
from haloid.errors import HaloidError

LOWER_BOUND = {
    "damping": 0.0,
    "frictionloss": 0.0,
    "armature": 1e-5,
    "kp": 0.05,
    "kd": 0.0,
    "strength": 0.05,
    "delay": 0.0,
    "floor_friction": 0.05,
    "floor_stiffness": 0.05,
}
"""The smallest value of each kind."""

_NEVER_BELOW = ("damping", "frictionloss", "armature")
"""Kinds whose smallest value cannot be lowered."""

LEAST_LINK_KG = 1e-6
"""A lighter link is a frame, not a body."""


class ParameterError(HaloidError):
    """A pattern that names no parameter, or a set of parameters that cannot be identified together."""


def choose_columns(physics: Physics, patterns: Sequence[str]) -> list[Column]:
    """Columns whose name without component matches one of the patterns, such as `*.mass`, `torso_link.com`, `delay`.

    A link without mass is a frame, not a body: it has none of them.
    """
    bodies = [link for link, mass in zip(physics.links, physics.mass.tolist(), strict=True) if mass > LEAST_LINK_KG]
    every = [Column(kind, link, c) for link in bodies for kind, parts in LINK_KINDS.items() for c in parts]
    every += [Column(kind, joint) for kind in JOINT_KINDS for joint in physics.joints]
    every += [Column(kind) for kind in ("delay", *(FLOOR_KINDS if physics.on_floor else ()))]
    whole = [whole_name(column) for column in every]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in whole):
            near = get_close_matches(pattern, sorted(set(whole)), n=3, cutoff=0.4)
            raise ParameterError(
                f"the pattern '{pattern}' matches no parameter; expected LINK.{{{','.join(LINK_KINDS)}}}, "
                f"JOINT.{{{','.join(JOINT_KINDS)}}} or delay, with * as a wildcard; {', '.join(FLOOR_KINDS)} in double "
                "support" + (f". Did you mean {' or '.join(near)}?" if near else "")
            )
    chosen = [
        column
        for column, name in zip(every, whole, strict=True)
        if any(fnmatchcase(name, pattern) for pattern in patterns)
    ]
    names = {whole_name(column) for column in chosen}
    for link in {column.owner for column in chosen if column.kind == "inertia"}:
        if f"{link}.mass" not in names or f"{link}.com" not in names:
            raise ParameterError(
                f"{link}.inertia was chosen without {link}.mass and {link}.com; "
                "the inertia of a link is identified together with both, so choose all three"
            )
    return chosen


def whole_name(column: Column) -> str:
    """The column's name without its component, which patterns are matched with."""
    return f"{column.owner}.{column.kind}" if column.owner else column.kind


@dataclass(frozen=True)
class Prior:
    """What is known before the data: ½ (θ − mean)ᵀ information (θ − mean), and a penalty outside a box.

    The box is HALO's φ (Eq. 9): weight · (max(0, lower − θ)² + max(0, θ − upper)²), zero inside.
    """

    mean: np.ndarray
    information: np.ndarray
    """(P, P)"""
    box_lower: np.ndarray | None = None
    box_upper: np.ndarray | None = None
    box_weight: np.ndarray | None = None

    @classmethod
    def independent(cls, mean: np.ndarray, std: np.ndarray) -> Prior:
        return cls(np.asarray(mean, float), np.diag(1 / np.asarray(std, float) ** 2))

    def cost(self, values: np.ndarray) -> float:
        offset = values - self.mean
        excess, weight = self._excess(values)
        return 0.5 * float(offset @ self.information @ offset) + float(weight @ excess**2)

    def linearise(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (P,) and Gauss–Newton matrix (P, P) of the cost."""
        excess, weight = self._excess(values)
        gradient = self.information @ (values - self.mean) + 2 * weight * excess
        return gradient, self.information + np.diag(2 * weight * (excess != 0))

    def _excess(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.box_lower is None or self.box_upper is None or self.box_weight is None:
            return np.zeros(len(values)), np.zeros(len(values))
        return np.minimum(0, values - self.box_lower) + np.maximum(0, values - self.box_upper), self.box_weight


class Unknowns:
    """Solver coordinates z over columns θ; all arrays are in the order of `columns`."""

    def __init__(
        self,
        base: Physics,
        columns: list[Column],
        prior: Prior,
        bounds: Mapping[int, tuple[float, float]] | None = None,
    ) -> None:
        """`bounds` are lower and upper ones of columns of joints, by their number."""
        self.base = base
        self.columns = columns
        self.prior = prior
        self._groups = _link_groups(columns)
        grouped = {i for group in self._groups for i in group.indices}
        self.bounds = dict(bounds or {})
        self.lower, self.upper = np.full(len(columns), -np.inf), np.full(len(columns), np.inf)
        for i, column in enumerate(columns):
            if i not in grouped:
                self.lower[i] = LOWER_BOUND.get(column.kind, -np.inf)
        for i, (low, high) in self.bounds.items():
            floor = LOWER_BOUND[columns[i].kind] if columns[i].kind in _NEVER_BELOW else -np.inf
            self.lower[i], self.upper[i] = max(low, floor), high
        values = base.values(columns)
        for group in self._groups:
            self.lower[group.indices] = group.lower(values[group.indices])

    def __len__(self) -> int:
        return len(self.columns)

    def without(self, kinds: Sequence[str]) -> Unknowns:
        """Those of other kinds; the prior of the rest must not depend on these."""
        kept = [i for i, column in enumerate(self.columns) if column.kind not in kinds]
        prior = Prior(self.prior.mean[kept], self.prior.information[np.ix_(kept, kept)])
        bounds = {number: self.bounds[i] for number, i in enumerate(kept) if i in self.bounds}
        return Unknowns(self.base, [self.columns[i] for i in kept], prior, bounds)

    def encode(self, values: np.ndarray) -> np.ndarray:
        z = np.clip(values, self.lower, self.upper)
        for group in self._groups:
            z[group.indices] = np.maximum(group.encode(values[group.indices]), self.lower[group.indices])
        return z

    def decode(self, z: np.ndarray) -> np.ndarray:
        values = z.copy()
        for group in self._groups:
            values[group.indices] = group.decode(z[group.indices])
        return values

    def slope(self, z: np.ndarray) -> np.ndarray:
        """(P, P) derivative of the columns w.r.t. the coordinates."""
        slope = np.eye(len(z))
        for group in self._groups:
            slope[np.ix_(group.indices, group.indices)] = group.slope(z[group.indices])
        return slope

    def physics(self, z: np.ndarray) -> Physics:
        return self.base.with_values(self.columns, self.decode(z))


@dataclass(frozen=True)
class _MassAndMoment:
    """θ = (m, c) over z = (log m, m·c); also mass alone."""

    indices: list[int]

    def lower(self, base: np.ndarray) -> np.ndarray:
        return np.full(len(base), -np.inf)

    def encode(self, values: np.ndarray) -> np.ndarray:
        return np.concatenate([[np.log(values[0])], values[0] * values[1:]])

    def decode(self, z: np.ndarray) -> np.ndarray:
        mass = np.exp(z[0])
        return np.concatenate([[mass], z[1:] / mass])

    def slope(self, z: np.ndarray) -> np.ndarray:
        mass = np.exp(z[0])
        slope = np.diag(np.concatenate([[mass], np.full(len(z) - 1, 1 / mass)]))
        slope[1:, 0] = -z[1:] / mass
        return slope


_TRIL = ((0, 0), (1, 1), (2, 2), (3, 3), (1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2))


@dataclass(frozen=True)
class _PseudoInertia:
    """θ = (m, c, inertia about the CoM) over the lower triangle of L, its diagonal as logarithms, J = L Lᵀ.

    J = [[Σ, m c], [m cᵀ, m]] with Σ = ½ tr(I₀)·1 − I₀ and I₀ the inertia about the link's origin is positive definite
    exactly for real bodies (Wensing, Kim and Slotine, 2018).
    """

    indices: list[int]

    def lower(self, base: np.ndarray) -> np.ndarray:
        """Second moments stay above a share of the base's: far below, their logarithms have no slope to return by."""
        lower = np.full(len(base), -np.inf)
        lower[1:4] = self.encode(base)[1:4] + 0.5 * np.log(_LEAST_SHARE_OF_BASE)
        return lower

    def encode(self, values: np.ndarray) -> np.ndarray:
        mass, c = values[0], values[1:4]
        xx, yy, zz, xy, xz, yz = values[4:]
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        sigma = _spread_out(0.5 * np.trace(inertia) * np.eye(3) - inertia) + mass * np.outer(c, c)
        pseudo = np.block([[sigma, mass * c[:, None]], [mass * c[None], np.array([[mass]])]])
        factor = np.linalg.cholesky(pseudo[::-1, ::-1])  # mass first, so that log-mass is a coordinate of its own
        return np.array([np.log(factor[r, r]) if r == s else factor[r, s] for r, s in _TRIL])

    def decode(self, z: np.ndarray) -> np.ndarray:
        factor = np.zeros((4, 4), z.dtype)
        for (r, s), value in zip(_TRIL, z, strict=True):
            factor[r, s] = np.exp(value) if r == s else value
        pseudo = (factor @ factor.T)[::-1, ::-1]
        mass = pseudo[3, 3]
        c = pseudo[:3, 3] / mass
        sigma = pseudo[:3, :3] - mass * np.outer(c, c)
        i = np.trace(sigma) * np.eye(3) - sigma
        return np.concatenate([[mass], c, [i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]]])

    def slope(self, z: np.ndarray) -> np.ndarray:
        """By complex steps: exact to rounding, and `decode` is the only place that knows the formula."""
        step = 1e-30
        nudges = 1j * step * np.eye(len(z))
        return np.array([np.imag(self.decode(z + nudge)) / step for nudge in nudges]).T


_LEAST_SHARE_OF_BASE = 0.05
_LEAST_MOMENT_SHARE, _LEAST_MOMENT = 1e-9, 1e-12
"""The smallest second moment of a body's mass about its CoM: a share of the sum of them, and kg·m²."""


def _spread_out(second_moments: np.ndarray) -> np.ndarray:
    """The nearest second moments of a body that is not flat: a flat one lies on the edge of the coordinates."""
    moments, axes = np.linalg.eigh(second_moments)
    least = max(_LEAST_MOMENT_SHARE * np.abs(moments).sum(), _LEAST_MOMENT)
    if moments[0] >= least:
        return second_moments
    return (axes * np.maximum(moments, least)) @ axes.T


def _link_groups(columns: list[Column]) -> list[_MassAndMoment | _PseudoInertia]:
    by_link: dict[str, list[int]] = {}
    for i, column in enumerate(columns):
        if column.kind in LINK_KINDS:
            by_link.setdefault(column.owner, []).append(i)
    groups = []
    for indices in by_link.values():
        kinds = [columns[i].kind for i in indices]
        if "inertia" in kinds:
            groups.append(_PseudoInertia(indices))
        elif "mass" in kinds:
            groups.append(_MassAndMoment(indices))
    return groups
