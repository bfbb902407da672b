"""The servo of every joint: its force and how that changes with the state, the input and its own parameters.

    τ = clip(strength·(kp·(u − q) − kd·v), ±strength·limit),   or strength·u where torques are commanded

Comes in: states and inputs of any shape (..., n). Derivatives are 0 where the servo is at its limit, but for strength.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haloid.engines.physics import Physics


@dataclass(frozen=True)
class Servo:
    """(..., n) each."""

    force: np.ndarray
    stiffness: np.ndarray
    """−∂τ/∂q"""
    damping: np.ndarray
    """−∂τ/∂v"""
    gain: np.ndarray
    """∂τ/∂u"""
    by_kind: dict[str, np.ndarray]
    """∂τ by the joint's own parameters, at a fixed state; the encoder's bias moves the target."""
    damping_by_kind: dict[str, np.ndarray]
    """The same of the damping."""

    @classmethod
    def at(
        cls,
        physics: Physics,
        effort_limit: np.ndarray,
        q: np.ndarray,
        v: np.ndarray,
        inputs: np.ndarray,
        gains: tuple[np.ndarray, np.ndarray] | None,
    ) -> Servo:
        """`gains` are the recorded kp and kd; None: the inputs are torques."""
        strength = np.broadcast_to(physics.strength, q.shape)
        if gains is None:
            kp = kd = np.zeros_like(q)
            raw = strength * inputs
        else:
            kp, kd = strength * gains[0], strength * gains[1]
            raw = kp * physics.kp * (inputs - q) - kd * physics.kd * v
        limit = strength * effort_limit
        free = np.abs(raw) < limit
        kp, kd = kp * free, kd * free
        force, stiffness, damping = np.clip(raw, -limit, limit), kp * physics.kp, kd * physics.kd
        return cls(
            force=force,
            stiffness=stiffness,
            damping=damping,
            gain=strength * free if gains is None else stiffness,
            by_kind={
                "kp": kp * (inputs - q),
                "kd": -kd * v,
                "strength": force / physics.strength,
                "bias": -stiffness,
            },
            damping_by_kind={"kd": kd, "strength": damping / physics.strength},
        )
