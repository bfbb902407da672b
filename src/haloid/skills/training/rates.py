"""Skills, the learner's optimiser: Adam with a rate of its own for the critic.

rsl_rl has one learning rate for actor and critic and lowers it while the policy changes too quickly. A critic with that
rate stops learning just when the policy improves.
"""

from typing import Any

import torch
from rsl_rl.algorithms import PPO


class TwoRates(torch.optim.Adam):
    """rsl_rl sets the rate of every group before each step; the critic's is put back here."""

    def __init__(self, ppo: PPO, critic_rate: float) -> None:
        groups = [{"params": list(ppo.actor.parameters())}, {"params": list(ppo.critic.parameters())}]
        super().__init__(groups, lr=ppo.learning_rate)
        self.critic_rate = critic_rate

    def step(self, closure: Any = None) -> Any:
        self.param_groups[1]["lr"] = self.critic_rate
        return super().step(closure)
