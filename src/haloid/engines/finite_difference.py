"""The finite-difference engine: MuJoCo C rollouts, one parameter nudged at a time, all cores.

Any model, any parameter, contact included: the check on the analytic engine and the fallback where that does not
apply. One Jacobian costs two rollouts per parameter and two for each coordinate of the initial state (the same nudge
in every fragment at once, since fragments do not influence each other).
"""

from __future__ import annotations

import numpy as np

from haloid.engines.engine import Engine, Sensitivities
from haloid.engines.fragments import Fragments
from haloid.engines.physics import Column, Physics

_NUDGE = {
    "mass": 1e-4,
    "com": 1e-5,
    "inertia": 1e-6,
    "damping": 1e-4,
    "frictionloss": 1e-5,
    "armature": 1e-6,
    "kp": 1e-5,
    "kd": 1e-5,
    "strength": 1e-5,
    "bias": 1e-6,
    "delay": 1e-6,
    "floor_height": 1e-8,
    "floor_friction": 1e-5,
    "floor_stiffness": 1e-5,
}
"""Central-difference steps in each kind's own unit: far above rounding, far below any curvature."""
_BENT_AT_ZERO = ("damping", "frictionloss", "armature", "delay")
"""At zero these are only nudged upwards; a delay may lie below it."""
_STATE_NUDGE = 1e-6
_BATCH = 4096
"""Rollouts in one call; bounds the memory."""


class FiniteDifferenceEngine(Engine):
    """Rolls out and differentiates in MuJoCo C."""

    name = "finite-difference"

    def jacobian(
        self, physics: Physics, columns: list[Column], fragments: Fragments, q0: np.ndarray, v0: np.ndarray
    ) -> Sensitivities:
        n = q0.shape[1]
        total = len(columns) + 2 * n
        values = physics.values(columns)
        up = np.array([_NUDGE[column.kind] for column in columns] + [_STATE_NUDGE] * 2 * n)
        down = up.copy()
        for k, column in enumerate(columns):
            if column.kind in _BENT_AT_ZERO and values[k] >= 0:
                down[k] = min(up[k], values[k])
        out = np.empty((fragments.count, fragments.rows + 1, fragments.width, total))
        per_call = max(1, _BATCH // (2 * fragments.count))
        for start in range(0, total, per_call):
            chosen = range(start, min(start + per_call, total))
            physics_list, q_list, v_list = [], [], []
            for k in chosen:
                for nudge in (up[k], -down[k]):
                    nudged, q, v = physics, q0, v0
                    if k < len(columns):
                        shifted = values.copy()
                        shifted[k] += nudge
                        nudged = physics.with_values(columns, shifted)
                    elif k < len(columns) + n:
                        q = q0 + nudge * (np.arange(n) == k - len(columns))
                    else:
                        v = v0 + nudge * (np.arange(n) == k - len(columns) - n)
                    physics_list.append(nudged)
                    q_list.append(q)
                    v_list.append(v)
            readings = self.simulator.readings(physics_list, fragments, np.array(q_list), np.array(v_list))
            for position, k in enumerate(chosen):
                out[..., k] = (readings[2 * position] - readings[2 * position + 1]) / (up[k] + down[k])
        parameters = len(columns)
        return Sensitivities(self.predict(physics, fragments, q0, v0), out[..., :parameters], out[..., parameters:])
