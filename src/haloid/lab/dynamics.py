"""Inverse dynamics of the lab robot: the torques that a motion takes, for the excitation and the feed-forward.

In: joint positions, velocities and accelerations in the recording's joint order. Out: torques in the same order. Dry
friction is left out: its sign is not known before the motion happens.
"""

from copy import copy

import mujoco
import numpy as np

from haloid.lab.built import BuiltRobot
from haloid.robots.floor import FLOOR

_FOOT_LOAD_WEIGHT = 3.0
"""A free foot without any load counts as much as a joint at three times its torque limit; half the weight nothing."""
_SOLE_MOMENT_NM = 5.0
"""A tilting moment under the free foot that counts as much as a joint at its torque limit."""


class LabDynamics:
    """Torques of `M(q)·ddq + c(q, dq) + damping·dq`, less what the floor carries in double support."""

    def __init__(self, built: BuiltRobot) -> None:
        self.built = built
        self.model = copy(built.model)
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        self.data = mujoco.MjData(self.model)
        self.free_foot_id = -1
        if built.free_foot is not None:
            self.free_foot_id = self.model.body(built.free_foot).id
            self.floor_height_m = float(self.model.geom(FLOOR).pos[2])
            self.half_weight_n = -0.5 * self.model.opt.gravity[2] * float(np.sum(self.model.body_mass))

    def torque(self, q_rad: np.ndarray, dq_rad_s: np.ndarray, ddq_rad_s2: np.ndarray) -> np.ndarray:
        """(T, n) torques in N·m for (T, n) motions."""
        built, data = self.built, self.data
        tau_nm = np.empty_like(q_rad)
        for row in range(len(q_rad)):
            data.qpos[built.qpos_of] = q_rad[row]
            data.qvel[built.dof_of] = dq_rad_s[row]
            data.qacc[built.dof_of] = ddq_rad_s2[row]
            mujoco.mj_inverse(self.model, data)
            tau_nm[row] = data.qfrc_inverse[built.dof_of]
            if self.free_foot_id >= 0:
                tau_nm[row] -= self._carried_by_floor(tau_nm[row])
        return tau_nm

    def static_torque(self, q_rad: np.ndarray) -> np.ndarray:
        """(n,) torques in N·m that hold the posture `q_rad` (n,)."""
        rest = np.zeros((1, len(q_rad)))
        return self.torque(q_rad[None], rest, rest)[0]

    def _carried_by_floor(self, tau_nm: np.ndarray) -> np.ndarray:
        """Joint torques that a vertical force and a tilting moment under the free foot take off the motors.

        The floor and the clamp share the weight in a way that statics leaves open; of all shares this is the one
        with the smallest torques relative to the joints' limits, about half the weight on each foot, and little moment,
        which a sole can hardly carry.
        """
        below_foot = self.data.xpos[self.free_foot_id].copy()
        below_foot[2] = self.floor_height_m
        linear, angular = np.empty((3, self.model.nv)), np.empty((3, self.model.nv))
        mujoco.mj_jac(self.model, self.data, linear, angular, below_foot, self.free_foot_id)
        wrench_to_torque = np.vstack([linear[2], angular[:2]])[:, self.built.dof_of].T
        weight = 1.0 / self.built.limits.effort_nm
        ease = np.diag([_FOOT_LOAD_WEIGHT / self.half_weight_n, 1.0 / _SOLE_MOMENT_NM, 1.0 / _SOLE_MOMENT_NM])
        rows = np.vstack([weight[:, None] * wrench_to_torque, ease])
        wanted = np.concatenate([weight * tau_nm, [_FOOT_LOAD_WEIGHT, 0.0, 0.0]])
        wrench, *_ = np.linalg.lstsq(rows, wanted, rcond=None)
        return wrench_to_torque @ wrench
