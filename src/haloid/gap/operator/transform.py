"""The operator between a policy and the servos of a simulator: training then happens on the corrected robot.

A plug-in of `haloid.skills.task.transforms`; put it into `EnvironmentConfig.transforms`. Joints that the operator does
not know keep their targets.
"""

from __future__ import annotations

import numpy as np
import torch

from haloid.errors import HaloidError
from haloid.gap.operator.corrected import Memory
from haloid.gap.operator.model import Operator
from haloid.skills.task.transforms import Command, Now


class OperatorTransform:
    def __init__(self, operator: Operator, joint_names: tuple[str, ...], payload_kg: float = 0.0) -> None:
        """`joint_names` are those of the environment's robot, in its order."""
        if missing := [name for name in operator.joint_names if name not in joint_names]:
            raise HaloidError(
                f"the operator corrects {', '.join(missing)}, which the robot does not have; it has "
                f"{', '.join(joint_names)}. Train an operator for this robot"
            )
        operator.warn_payload(payload_kg, "the simulated robot")
        self.operator, self.payload_kg = operator, payload_kg
        self._columns = np.array([joint_names.index(name) for name in operator.joint_names])
        self._memory: Memory | None = None
        self._delta = np.zeros((0, len(self._columns)))

    @torch.no_grad()
    def __call__(self, command: Command, now: Now) -> Command:
        count, joints = now.held_rad.shape
        q, dq = now.qpos[:, -joints:][:, self._columns], now.qvel[:, -joints:][:, self._columns]
        target = command[-1][0][:, self._columns]
        fresh = Memory.filled(q, dq, target, self.operator.network.config.history)
        began = np.asarray(now.episode_step) == 0
        if self._memory is None or len(self._memory.q_rad) != count:
            self._memory, self._delta = fresh, np.zeros((count, len(self._columns)))
        else:
            self._memory.push(q, dq, target)
            for name in ("q_rad", "dq_rad_s", "target_rad"):
                getattr(self._memory, name)[began] = getattr(fresh, name)[began]
        due = np.asarray(now.episode_step) % self.operator.duration == 0
        observation = self._memory.observation(np.full(count, self.payload_kg))
        self._delta[due] = self.operator.network(observation).numpy()[due]
        corrected = []
        for target_rad, steps in command:
            target_rad = target_rad.copy()
            target_rad[:, self._columns] += self._delta
            corrected.append((target_rad, steps))
        return corrected
