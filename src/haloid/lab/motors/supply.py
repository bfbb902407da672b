"""The supply: a battery whose voltage sags under load, and with it the torque that a fast motor has left.

All joints of a robot hang on one battery: V = V₀ − R·I, with the current I of all motors' work and heat.
A motor's torque limit falls linearly from its full value at the corner speed to 0 at the no-load speed, both ∝ V.
"""

from dataclasses import dataclass

import numpy as np

from haloid.lab.motors.friction import Value


@dataclass(frozen=True)
class Supply:
    limit_nm: Value
    """Of a slow motor at full voltage."""
    no_load_rad_s: Value
    """Speed at which no torque is left, at full voltage."""
    corner: float = 0.5
    """Share of the no-load speed up to which the full torque is there."""
    voltage_v: float = 48.0
    resistance_ohm: Value = 0.0
    """Of the battery and its leads; one per robot, as (..., 1)."""
    copper_w_per_nm2: Value = 0.05
    """Heat of the windings for each N·m squared."""

    def sag(self, torque_nm: np.ndarray, dq_rad_s: np.ndarray) -> np.ndarray:
        """(..., 1) share of the voltage that is left when the motors are asked for this."""
        power_w = np.maximum(torque_nm * dq_rad_s, 0.0) + self.copper_w_per_nm2 * torque_nm**2
        current_a = power_w.sum(axis=-1, keepdims=True) / self.voltage_v
        return np.clip(1.0 - self.resistance_ohm * current_a / self.voltage_v, 0.3, 1.0)

    def limited_nm(self, torque_nm: np.ndarray, dq_rad_s: np.ndarray) -> np.ndarray:
        """The torque that the motors can give of what they are asked for; braking is not limited by speed."""
        left = self.sag(np.clip(torque_nm, -np.asarray(self.limit_nm), self.limit_nm), dq_rad_s)
        fastest = np.asarray(self.no_load_rad_s) * left
        speed = dq_rad_s * np.sign(torque_nm)
        share = np.clip((fastest - speed) / (fastest * (1.0 - self.corner)), 0.0, 1.0)
        most = np.asarray(self.limit_nm) * left * share
        return np.clip(torque_nm, -most, most)
