"""Priors: how far a robot may be from its data sheet, and HALO's regularisers (Eqs. 8-9) in the same terms.

The full stage-1 set is not identifiable from joint data alone; a Gaussian around nominal makes it well-posed and
leaves what the data cannot see where the data sheet has it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haloid.engines.physics import Column, Physics
from haloid.identify.unknowns import Prior


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
        }[column.kind]


PAYLOAD_STD = {"mass": 30.0, "com": 0.5, "inertia": 1.0}
"""A payload may be almost anything: kg, m, kg·m²."""


def payload_prior(physics: Physics, columns: list[Column]) -> Prior:
    return Prior.independent(physics.values(columns), np.array([PAYLOAD_STD.get(c.kind, 1.0) for c in columns]))
