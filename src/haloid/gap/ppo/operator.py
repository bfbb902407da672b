"""The payload operator by PPO, as in GAPONet's paper: the simulator's runs, rewarded for being where the robot was.

In: frames, the simulator. Out: a network, as from the supervised way (gap/operator/train.py), whose sensors, judgement
and stores are used here too. An iteration is an episode of a second of all runs, from recorded states; what was not
solved beforehand is found by trying, with a normal distribution about what the network says:

    r = −(36/2π)²·(mean Δq² + 0.01·mean Δdq²)

Δ is the simulator less the recording, in rad and rad/s. The critic sees also Δ and how much of the episode is left. A
run that strays is put back, and its episode ends there. Sizes and rates are the paper's, but for few robots in place of
thousands and whole episodes in place of 32 steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from haloid.gap.crowd import BaseModels
from haloid.gap.operator.frames import Frames
from haloid.gap.operator.train import FAR_RAD, TrainConfig, Training

RATE, DESIRED_KL = 1e-4, 0.008
RATES = (1e-5, 1e-2)
"""The rate adapts to how much a policy changes, within these."""
FIRST_STD_RAD = 0.05
DISCOUNT, TRACE = 0.95, 0.95
"""γ and λ: what a delta action does shows in the next tenths of a second."""
CLIP, EPOCHS, BATCHES = 0.2, 5, 4
UNIT = (36 / (2 * math.pi)) ** 2
VELOCITY_SHARE = 0.01


@dataclass(frozen=True)
class Episode:
    """Decisions of all runs, (T, B, ...)."""

    observation: torch.Tensor
    privileged: torch.Tensor
    action_rad: torch.Tensor
    log_density: torch.Tensor
    value: torch.Tensor
    reward: torch.Tensor
    ended: torch.Tensor
    """(T, B) whether the run was lost before the next decision."""


class PpoTraining(Training):
    def __init__(self, frames: Frames, models: BaseModels, config: TrainConfig) -> None:
        super().__init__(frames, models, config)
        n = frames.joints
        seen = 2 * n + 3 * n * config.network.history + 1 + 2 * n + 1
        self.critic = nn.Sequential(
            nn.Linear(seen, 256),
            nn.ELU(),
            nn.Linear(256, 128),
            nn.ELU(),
            nn.Linear(128, 128),
            nn.ELU(),
            nn.Linear(128, 1),
        )
        self.log_std = nn.Parameter(torch.full((n,), math.log(FIRST_STD_RAD)))
        self._chance = torch.Generator().manual_seed(config.seed)

    def _next(self, stage: str) -> None:
        super()._next(stage)
        if stage == "labels":
            self.stage = "runs"
        if self.stage == "runs":
            learned = [*self.network.parameters(), *self.critic.parameters(), self.log_std]
            self._optimizer = torch.optim.Adam(learned, lr=RATE)

    def _set_rate(self, share: float) -> None:
        """It is the policy's changes that set it."""

    def _learn_from(self, starts: np.ndarray, steps: int) -> float:
        """An episode of all runs, and what PPO makes of it; the loss is how far the reward is from 0."""
        episode = self.play_episode(self.random.choice(starts, self.config.batch), steps)
        gain = advantages(episode.reward, episode.value, episode.ended)
        wanted = gain + episode.value[:-1]
        gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        count = gain.numel()
        flat = [one.flatten(0, 1) for one in (episode.observation, episode.privileged, episode.action_rad)]
        observation, privileged, action = flat
        before, gain, wanted = episode.log_density.flatten(), gain.flatten(), wanted.flatten()
        with torch.no_grad():
            first_mean, first_std = self.network(observation), self.log_std.exp()
        for _ in range(EPOCHS):
            for rows in torch.as_tensor(self.random.permutation(count)).chunk(BATCHES):
                mean = self.network(observation[rows])
                ratio = torch.exp(self._log_density(action[rows], mean) - before[rows])
                clipped = torch.clamp(ratio, 1 - CLIP, 1 + CLIP)
                surrogate = torch.minimum(ratio * gain[rows], clipped * gain[rows]).mean()
                missed = (self._value(observation[rows], privileged[rows]) - wanted[rows]).square().mean()
                self._adapt(first_mean[rows], first_std, mean.detach())
                self._step(missed - surrogate)
        return float(-episode.reward.mean())

    @torch.no_grad()
    def play_episode(self, chosen: np.ndarray, steps: int) -> Episode:
        """Runs from the frames `chosen`, with chance in what they are told."""
        f, every = self.frames, self.config.duration
        kept: dict[str, list[torch.Tensor]] = {name: [] for name in ("observation", "privileged", "action", "density")}
        reward, ended = (torch.zeros(-(-steps // every), len(chosen)) for _ in range(2))
        off = np.zeros((len(chosen), 2 * f.joints))

        def act(observation: torch.Tensor) -> torch.Tensor:
            left = np.full((len(chosen), 1), 1 - every * len(kept["action"]) / steps)
            mean = self.network(observation)
            action = mean + self.log_std.exp() * torch.randn(mean.shape, generator=self._chance)
            kept["observation"].append(observation)
            kept["privileged"].append(torch.as_tensor(np.concatenate([off, left], axis=1), dtype=torch.float32))
            kept["action"].append(action)
            kept["density"].append(self._log_density(action, mean))
            return action

        for number, step in enumerate(self._play(chosen, steps, act)):
            off_rad, off_rad_s = (np.nan_to_num(one, nan=FAR_RAD) for one in (step.off_rad, step.off_rad_s))
            off_rad, off_rad_s = np.clip(off_rad, -FAR_RAD, FAR_RAD), np.clip(off_rad_s, -10.0, 10.0)
            cost = UNIT * ((off_rad**2).mean(axis=1) + VELOCITY_SHARE * (off_rad_s**2).mean(axis=1))
            reward[number // every] -= torch.as_tensor(cost, dtype=torch.float32) / every
            ended[number // every] = torch.maximum(ended[number // every], torch.as_tensor(step.lost).float())
            off = np.where(step.lost[:, None], 0.0, np.concatenate([off_rad, off_rad_s], axis=1))
        stacked = {name: torch.stack(values) for name, values in kept.items()}
        value = self._value(stacked["observation"], stacked["privileged"])
        value = torch.cat([value, torch.zeros_like(value[:1])])  # an episode ends, and the critic knows when
        return Episode(
            stacked["observation"], stacked["privileged"], stacked["action"], stacked["density"], value, reward, ended
        )

    def _log_density(self, action_rad: torch.Tensor, mean_rad: torch.Tensor) -> torch.Tensor:
        return torch.distributions.Normal(mean_rad, self.log_std.exp()).log_prob(action_rad).sum(-1)

    def _value(self, observation: torch.Tensor, privileged: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            features = self.network.features(observation.flatten(0, -2))
        seen = torch.cat([one.flatten(1) for one in features], dim=1).reshape(*observation.shape[:-1], -1)
        return self.critic(torch.cat([seen, privileged], dim=-1))[..., 0]

    def _adapt(self, first_mean: torch.Tensor, first_std: torch.Tensor, mean: torch.Tensor) -> None:
        """The rate, from how far the policy is from the one that played: KL(first ‖ now)."""
        std = self.log_std.detach().exp()
        apart = (first_std**2 + (first_mean - mean) ** 2) / (2 * std**2) + torch.log(std / first_std) - 0.5
        kl, group = float(apart.sum(-1).mean()), self._optimizer.param_groups[0]
        if kl > 2 * DESIRED_KL:
            group["lr"] = max(RATES[0], group["lr"] / 1.5)
        elif 0 < kl < DESIRED_KL / 2:
            group["lr"] = min(RATES[1], group["lr"] * 1.5)

    def state_dict(self) -> dict:
        chance = {
            "critic": self.critic.state_dict(),
            "log_std": self.log_std.detach(),
            "chance": self._chance.get_state(),
        }
        return {**super().state_dict(), **chance}

    def load_state_dict(self, state: dict) -> None:
        if state["stage"] == "runs":
            self._next("runs")
        super().load_state_dict(state)
        self.critic.load_state_dict(state["critic"])
        self.log_std.data = state["log_std"].clone()
        self._chance.set_state(state["chance"])


def advantages(reward: torch.Tensor, value: torch.Tensor, ended: torch.Tensor) -> torch.Tensor:
    """(T, B) of rewards (T, B) and values (T + 1, B): A_t = δ_t + γλ·A_{t+1}, δ_t = r_t + γ·V_{t+1} − V_t."""
    found, following = torch.empty_like(reward), torch.zeros_like(reward[0])
    for t in reversed(range(len(reward))):
        goes_on = 1 - ended[t]
        following = reward[t] + DISCOUNT * value[t + 1] * goes_on - value[t] + DISCOUNT * TRACE * goes_on * following
        found[t] = following
    return found
