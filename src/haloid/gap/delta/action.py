"""Delta action: π^Δ(s, a) between the policy's targets and the servos, f(s, a + π^Δ(s, a)).

In: a network and the robot it is for. Out: a correction of the simulator for replays (simulator.py) and a transform for
trainings (skills/task/transforms.py).
"""

from __future__ import annotations

import numpy as np
import torch

from haloid.gap.delta.features import features
from haloid.gap.replays.simulator import States
from haloid.skills.policies.networks import Network
from haloid.skills.task.transforms import Command, Now


class DeltaAction:
    def __init__(self, network: Network, default_rad: np.ndarray) -> None:
        self.network, self.default_rad = network.eval(), default_rad

    def delta_rad(self, states: States, target_rad: np.ndarray) -> np.ndarray:
        """(N, n)"""
        with torch.inference_mode():
            seen = torch.from_numpy(features(states, target_rad, self.default_rad))
            return self.network(seen).numpy().astype(float)

    def targets(self, states: States, target_rad: np.ndarray) -> np.ndarray:
        return target_rad + self.delta_rad(states, target_rad)

    def reached(self, states: States, target_rad: np.ndarray, qpos: np.ndarray, qvel: np.ndarray) -> States:
        return States(qpos, qvel, target_rad)


class DeltaTransform:
    """The same in an environment. What the servos held is what they were sent, before the correction; it is remembered
    for each size of batch, as a training and its trials share a transform."""

    def __init__(self, action: DeltaAction) -> None:
        self._action = action
        self._sent_rad: dict[int, np.ndarray] = {}

    def __call__(self, command: Command, now: Now) -> Command:
        sent = self._sent_rad.get(len(now.qpos), now.held_rad).copy()
        fresh = now.episode_step == 0
        sent[fresh] = now.held_rad[fresh]
        states = States(now.qpos, now.qvel, sent)
        self._sent_rad[len(now.qpos)] = command[-1][0].copy()
        return [(self._action.targets(states, target_rad), steps) for target_rad, steps in command]
