"""Skills, the bridge to rsl_rl: the environment as a `VecEnv` whose actions are the network's outputs.

In: network outputs. Out: observations as tensors, rewards, ends. The action mode (actions.py) stands between the
network and the environment, which only knows mjlab's actions.
"""

from typing import Any

import numpy as np
import torch
from rsl_rl.env import VecEnv
from tensordict import TensorDict

from haloid.skills.policies.actions import Actions
from haloid.skills.task.environment import EPISODE_STEPS, Step, TrackingEnvironment


class TrackingVecEnv(VecEnv):
    def __init__(self, environment: TrackingEnvironment, actions: Actions) -> None:
        self.environment, self.actions = environment, actions
        self.num_envs, self.num_actions = environment.robots, actions.outputs
        self.max_episode_length = EPISODE_STEPS
        self.episode_length_buf = torch.zeros(self.num_envs, dtype=torch.long)
        self.device, self.cfg = "cpu", {}
        self.last: Step | None = None
        """The outcome of the last step, for progress and metrics."""
        self._observations = self._observe()

    def get_observations(self) -> TensorDict:
        return self._observations

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict]:
        frames = torch.from_numpy(self.environment.time_step)
        action = self.actions(self._observations["actor"], frames, actions)
        self.last = self.environment.step(action.numpy())
        self._observations = self._observe()
        done = torch.from_numpy(self.last.terminated | self.last.timed_out)
        extras = {"time_outs": torch.from_numpy(self.last.timed_out)}
        return self._observations, torch.from_numpy(self.last.reward), done, extras

    def state(self) -> dict[str, Any]:
        observed = {name: self._observations[name].clone() for name in ("actor", "critic")}
        return {"environment": self.environment.state(), "observed": observed}

    def load_state(self, state: dict[str, Any]) -> None:
        """The observation is kept as it was: making it again would draw new noise."""
        self.environment.load_state(state["environment"])
        self._observations = TensorDict(dict(state["observed"]), batch_size=[self.num_envs])

    def _observe(self) -> TensorDict:
        actor, critic = self.environment.observations()
        groups = {"actor": torch.from_numpy(actor), "critic": torch.from_numpy(np.ascontiguousarray(critic))}
        return TensorDict(groups, batch_size=[self.num_envs])
