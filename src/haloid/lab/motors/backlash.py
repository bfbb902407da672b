"""Backlash: play between the gears. When the torque changes sign, the rotor first crosses the gap, turning nothing.

In: the gears' torque. Out: what reaches the joint. The place of the rotor in its gap, between −gap/2 and +gap/2, is the
state; it crosses at a constant speed and passes torque on at the end where it pushes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from haloid.lab.motors.friction import Value


@dataclass
class Backlash:
    gap_rad: Value
    """At the joint; 0: none."""
    crossing_rad_s: float = 1.0
    """Speed of the free rotor, at the joint."""
    place_rad: np.ndarray = field(init=False, repr=False)

    def reset(self, shape: tuple[int, ...]) -> None:
        """The rotor is in the middle."""
        self.place_rad = np.zeros(shape)

    def passed_on_nm(self, torque_nm: np.ndarray, h_s: float) -> np.ndarray:
        """The share of the step that the rotor spends at its end, times the torque."""
        end = np.sign(torque_nm) * np.asarray(self.gap_rad) / 2
        away = np.abs(end - self.place_rad)
        step = self.crossing_rad_s * h_s
        self.place_rad = self.place_rad + np.sign(end - self.place_rad) * np.minimum(away, step)
        return torque_nm * np.clip(1.0 - away / step, 0.0, 1.0)
