"""Efficiency that falls with the load: gears and iron pass on less of a large torque than of a small one.

    τ_out = τ·(1 − loss·|τ|/limit),   loss the share that is lost at the torque limit,

and the gears' teeth rub the more, the harder they are pressed: friction of `rub`·|τ| on top of the joint's own.
"""

from dataclasses import dataclass

import numpy as np

from haloid.lab.motors.friction import Value


@dataclass(frozen=True)
class Efficiency:
    limit_nm: Value
    loss_at_limit: Value = 0.0
    """Between 0 and 0.5, so that more torque in is never less torque out."""
    rub: Value = 0.0
    """N·m of friction for each N·m of load."""

    def passed_on_nm(self, torque_nm: np.ndarray) -> np.ndarray:
        return torque_nm * (1.0 - self.loss_at_limit * np.minimum(np.abs(torque_nm) / self.limit_nm, 1.0))

    def friction_nm(self, torque_nm: np.ndarray) -> np.ndarray:
        return self.rub * np.abs(torque_nm)
