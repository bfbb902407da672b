"""The ankle's linkage: two motors move pitch and roll together, through rods whose leverage changes with the angle.

A model with a servo on each joint has τ = kp·(target − q). The linkage's motors turn by

    m₁ = u₁ − β·u₁²,   m₂ = u₂ − β·u₂²,   u₁ = pitch + roll,   u₂ = pitch − roll,

close their loops on m, and their torques reach the joints by the transpose of ∂m/∂(pitch, roll). Near the zero pose
this is the model's servo; away from it stiffness changes and the axes couple. No gain, mass or friction reproduces it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Linkage:
    pitch: np.ndarray
    """(ankles,) columns of the pitch joints."""
    roll: np.ndarray
    """(ankles,) columns of the roll joints."""
    warp_per_rad: float = 0.6
    """β: the leverage changes by twice this for each radian."""

    def servo_target_rad(self, target_rad: np.ndarray, q_rad: np.ndarray) -> np.ndarray:
        """(N, n) the targets with which servos on the joints would push as the linkage's motors do."""
        told = target_rad.copy()
        u, wanted = self._motor_side(q_rad), self._motor_side(target_rad)
        leverage = 1.0 - 2.0 * self.warp_per_rad * u
        push = leverage * (self._warped(wanted) - self._warped(u)) / 2.0
        told[:, self.pitch] = q_rad[:, self.pitch] + push[..., 0] + push[..., 1]
        told[:, self.roll] = q_rad[:, self.roll] + push[..., 0] - push[..., 1]
        return told

    def _motor_side(self, q_rad: np.ndarray) -> np.ndarray:
        """(N, ankles, 2) u₁ and u₂."""
        pitch, roll = q_rad[:, self.pitch], q_rad[:, self.roll]
        return np.stack([pitch + roll, pitch - roll], axis=-1)

    def _warped(self, u_rad: np.ndarray) -> np.ndarray:
        return u_rad - self.warp_per_rad * u_rad**2


def ankle_linkage(joint_names: tuple[str, ...]) -> Linkage:
    """Of a robot whose ankles have a pitch and a roll joint, by their names."""
    pitch = [name for name in joint_names if "ankle_pitch" in name]
    roll = [name.replace("pitch", "roll") for name in pitch]
    columns = [np.array([joint_names.index(name) for name in names], dtype=int) for names in (pitch, roll)]
    return Linkage(columns[0], columns[1])
