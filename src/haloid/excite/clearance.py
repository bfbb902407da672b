"""Clearance: how close the robot's links come to each other during a motion, as a smooth penalty.

In: the robot and rows of joint positions. Out: the mean squared lack of clearance over the rows, each contact's as a
share of the clearance wanted, and its gradient. Pairs that are near in the posture itself do not count.
"""

from __future__ import annotations

from copy import copy

import mujoco
import numpy as np

from haloid.lab.built import BuiltRobot

CLEARANCE_M = 0.02


class Clearance:
    def __init__(self, built: BuiltRobot, posture_rad: np.ndarray) -> None:
        self._model = copy(built.collision_model)
        self._model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        self._model.geom_margin[:] = CLEARANCE_M
        self._data = mujoco.MjData(self._model)
        self._qpos_of, self._dof_of = built.qpos_of, built.dof_of
        self._always_near = {self._bodies(contact) for contact in self._contacts(posture_rad)}

    def lack(self, q_rad: np.ndarray) -> tuple[float, np.ndarray]:
        """For rows (K, n): the penalty and its gradient (K, n)."""
        total, slope = 0.0, np.zeros_like(q_rad)
        linear = np.empty((2, 3, self._model.nv))
        for row, posture_rad in enumerate(q_rad):
            for contact in self._contacts(posture_rad):
                bodies = self._bodies(contact)
                share = 1.0 - contact.dist / CLEARANCE_M
                if share <= 0.0 or bodies in self._always_near:
                    continue
                for geom, jacobian in zip(contact.geom, linear, strict=True):
                    body = int(self._model.geom_bodyid[geom])
                    mujoco.mj_jac(self._model, self._data, jacobian, None, contact.pos, body)
                distance_slope = contact.frame[:3] @ (linear[1] - linear[0])
                total += share**2
                slope[row] -= 2 * share / CLEARANCE_M * distance_slope[self._dof_of]
        return total / len(q_rad), slope / len(q_rad)

    def _contacts(self, posture_rad: np.ndarray) -> list:
        model, data = self._model, self._data
        data.qpos[self._qpos_of] = posture_rad
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_collision(model, data)
        return list(data.contact[: data.ncon]) if data.ncon else []

    def _bodies(self, contact) -> tuple[int, int]:
        one, other = sorted(int(self._model.geom_bodyid[geom]) for geom in contact.geom)
        return one, other
