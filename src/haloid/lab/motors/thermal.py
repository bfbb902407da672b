"""Temperature: windings heat with the square of the torque and cool to the room; a warm motor is weaker and runs freer.

C·dT/dt = r·τ² − (T − T_room)/R_th,   time constant C·R_th;   T_room + r·R_th·τ² is where a steady torque ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from haloid.lab.motors.friction import Value


@dataclass
class Thermal:
    heat_w_per_nm2: Value = 0.05
    """r: heat of the windings for each N·m squared."""
    resistance_k_per_w: Value = 2.0
    """R_th, to the room."""
    time_constant_s: float = 300.0
    room_c: float = 25.0
    torque_drop_per_k: Value = 0.0
    """Share of the torque lost for each kelvin above the room: magnets weaken."""
    friction_drop_per_k: Value = 0.0
    """Share of the friction lost for each kelvin: grease thins."""
    temperature_c: np.ndarray = field(init=False, repr=False)

    def reset(self, shape: tuple[int, ...], temperature_c: Value | None = None) -> None:
        """At room temperature, or as warm as it is after earlier work."""
        start = self.room_c if temperature_c is None else temperature_c
        self.temperature_c = np.broadcast_to(np.asarray(start, float), shape).copy()

    def heat(self, torque_nm: np.ndarray, h_s: float) -> None:
        """The exact step for a constant torque."""
        end = self.room_c + self.heat_w_per_nm2 * torque_nm**2 * self.resistance_k_per_w
        self.temperature_c = end + (self.temperature_c - end) * np.exp(-h_s / self.time_constant_s)

    @property
    def torque_scale(self) -> np.ndarray:
        return np.clip(1.0 - self.torque_drop_per_k * (self.temperature_c - self.room_c), 0.2, 1.5)

    @property
    def friction_scale(self) -> np.ndarray:
        return np.clip(1.0 - self.friction_drop_per_k * (self.temperature_c - self.room_c), 0.2, 1.5)
