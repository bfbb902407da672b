"""Priors: how far a robot may be from its data sheet, and HALO's regularisers (Eqs. 8-9) in the same terms.

The full stage-1 set is not identifiable from joint data alone; a Gaussian around nominal makes it well-posed and
leaves what the data cannot see where the data sheet has it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from haloid.engines.physics import Column, Physics
from haloid.identify.problem.unknowns import Prior


@dataclass(frozen=True)
class BasePrior:
    """Standard deviations of a robot's parameters around their nominal values."""

    mass_share: float = 0.03
    """Of a link's mass."""
    com_m: float = 0.005
    inertia_share: float = 0.2
    """Of the mean principal inertia."""
    damping: float = 0.3
    """N·m·s/rad"""
    frictionloss: float = 0.2
    """N·m"""
    armature_share: float = 0.1
    gain_share: float = 0.1
    """Of kp and kd."""
    strength_share: float = 0.05
    bias_rad: float = 0.01
    delay_s: float = 0.01
    floor_height_m: float = 0.002
    floor_friction_share: float = 0.3
    floor_stiffness_share: float = 0.5

    def over(self, physics: Physics, columns: list[Column]) -> Prior:
        """The prior of `columns` around the values of `physics`."""
        return Prior.independent(physics.values(columns), np.array([self._std(physics, c) for c in columns]))

    def _std(self, physics: Physics, column: Column) -> float:
        if column.kind == "mass":
            return self.mass_share * float(physics.mass[physics.link_index(column.owner)])
        if column.kind == "inertia":
            return self.inertia_share * float(np.trace(physics.link(column.owner).inertia_about_com)) / 3
        if column.kind == "armature":
            return self.armature_share * max(float(physics.armature[physics.joint_index(column.owner)]), 1e-3)
        return {
            "com": self.com_m,
            "damping": self.damping,
            "frictionloss": self.frictionloss,
            "kp": self.gain_share,
            "kd": self.gain_share,
            "strength": self.strength_share,
            "bias": self.bias_rad,
            "delay": self.delay_s,
            "floor_height": self.floor_height_m,
            "floor_friction": self.floor_friction_share,
            "floor_stiffness": self.floor_stiffness_share,
        }[column.kind]


_SCALED_KINDS, _FAR_MEDIAN = ("frictionloss", "damping"), 3.0
_MEDIAN_TO_STD, _LOOSE = 1.4826, 10.0


def as_wide_as_the_robot(prior: Prior, columns: list[Column], values: np.ndarray, settled: set[str]) -> Prior:
    """The prior with friction and damping as wide as this robot's, where the usual widths are not its size.

    They are those of a humanoid's joints; an industrial arm has ten times as much. If most joints lie far outside, in
    a first fit, it is the width that is wrong and not the joints. One joint that jams does not widen it. `settled`
    are columns, by name, whose prior the user gave.
    """
    information = prior.information.copy()
    for kind in _SCALED_KINDS:
        which = [i for i, column in enumerate(columns) if column.kind == kind and column.name not in settled]
        if not which:
            continue
        std = 1 / np.sqrt(np.diag(prior.information)[which])
        away = _MEDIAN_TO_STD * float(np.median(np.abs(values[which] - prior.mean[which]) / std))
        if away > _FAR_MEDIAN:
            share = np.ones(len(columns))
            share[which] = 1 / (_LOOSE * away)
            information *= np.outer(share, share)
    return replace(prior, information=information)


PAYLOAD_STD = {"mass": 30.0, "com": 0.5, "inertia": 1.0}
"""A payload may be almost anything: kg, m, kg·m²."""


def payload_prior(physics: Physics, columns: list[Column]) -> Prior:
    return Prior.independent(physics.values(columns), np.array([PAYLOAD_STD.get(c.kind, 1.0) for c in columns]))


def no_prior(physics: Physics, columns: list[Column]) -> Prior:
    """Nothing is known, as in the paper's simulation experiment (HALO IV-B)."""
    return Prior(physics.values(columns), np.zeros((len(columns), len(columns))))


@dataclass(frozen=True)
class PaperRegulariser:
    """HALO's R_total (Eq. 8): squared distance of mass and CoM from their base, damping and friction in a box.

    The box [0.8, 1.2] only makes sense for ratios to nominal. The paper does not give its weights.
    """

    mass_weight: float = 1.0
    """λ_mass, 1/kg²"""
    com_weight: float = 1e4
    """λ_com, 1/m²"""
    damping_weight: float = 10.0
    """λ_damp"""
    friction_weight: float = 10.0
    """λ_fric"""

    def over(self, physics: Physics, columns: list[Column]) -> Prior:
        values = physics.values(columns)
        quadratic = {"mass": self.mass_weight, "com": self.com_weight}
        boxed = {"damping": self.damping_weight, "frictionloss": self.friction_weight}
        ratio_unit = np.where(np.abs(values) > 1e-6, np.abs(values), 1.0)
        return Prior(
            values,
            np.diag([2 * quadratic.get(column.kind, 0.0) for column in columns]),
            0.8 * values,
            1.2 * values,
            np.array([boxed.get(column.kind, 0.0) for column in columns]) / ratio_unit**2,
        )
