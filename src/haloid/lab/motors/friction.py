"""Joint friction that sticks: the LuGre model with the Stribeck curve.

In: joint velocities, a physics step. Out: the torque that opposes them. With the bristles' deflection z,

    g(v) = F_c + (F_s − F_c)·exp(−(v/v_s)²),   dz/dt = v − σ₀·|v|/g(v)·z,   τ = −(σ₀·z + σ₁·dz/dt + σ₂·v)

(Canudas de Wit et al., 1995). The step of z is the exact solution for a constant v, so no step is too long for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

Value = float | np.ndarray
"""One for all, or an array that broadcasts to (..., joints)."""


@dataclass
class Friction:
    coulomb_nm: Value
    """F_c, of a sliding joint."""
    static_nm: Value
    """F_s, at least F_c: what it takes to break loose."""
    stribeck_rad_s: Value = 0.05
    """v_s: the speed over which the one falls to the other."""
    viscous: Value = 0.0
    """σ₂ in N·m·s/rad."""
    break_rad: float = 0.003
    """Deflection at which a stuck joint breaks loose: σ₀ = F_s / break_rad."""
    bristle_damping_s: float = 0.01
    """σ₁ / σ₀."""
    deflection_rad: np.ndarray = field(init=False, repr=False)

    def reset(self, shape: tuple[int, ...]) -> None:
        """Nothing is bent."""
        self.deflection_rad = np.zeros(shape)

    def level_nm(self, dq_rad_s: np.ndarray, scale: Value = 1.0, extra_nm: Value = 0.0) -> np.ndarray:
        """g(v) of a steady slide."""
        stribeck = np.exp(-((dq_rad_s / self.stribeck_rad_s) ** 2))
        return scale * (self.coulomb_nm + (np.asarray(self.static_nm) - self.coulomb_nm) * stribeck) + extra_nm

    def torque_nm(self, dq_rad_s: np.ndarray, h_s: float, scale: Value = 1.0, extra_nm: Value = 0.0) -> np.ndarray:
        """The torque over the next `h_s`; `scale` of a joint that is warm or worn, `extra_nm` due to its load."""
        stiffness = np.maximum(np.asarray(self.static_nm), 1e-9) / self.break_rad
        level = np.maximum(self.level_nm(dq_rad_s, scale, extra_nm), 1e-9)
        speed = np.abs(dq_rad_s)
        bent_fully = np.sign(dq_rad_s) * level / stiffness
        kept = np.exp(-stiffness * speed / level * h_s)
        before = self.deflection_rad
        self.deflection_rad = before * kept + bent_fully * (1.0 - kept)
        rate = (self.deflection_rad - before) / h_s
        bristles = stiffness * (self.deflection_rad + self.bristle_damping_s * rate)
        return -(np.clip(bristles, -2 * level, 2 * level) + scale * np.asarray(self.viscous) * dq_rad_s)
