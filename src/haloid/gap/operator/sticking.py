"""The operator for a handful of logs: each joint lags behind its target, sags under its load and sticks.

    p  = target + Σ_k lag_k·(target_−k − target) + sag·load(q, payload) + bias      where the joint is led to
    c  = clip(q + give·load, p − stick, p + stick)                                  within the stick it stays
    Δa = gain·(c − target)

Some ten numbers for each joint, where the networks have 100,000; few_logs.py finds them. `load` is the torque that the
robot's model needs to stand still, `give` what its servo gives way by under 1 N·m, 1/kp: c, a command, holds the joint.
c never depends on q more than one to one: errors do not grow in long runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from haloid.gap.operator.load import Load

if TYPE_CHECKING:
    from haloid.gap.operator.networks import NetworkConfig


class Sticking(nn.Module):
    lag: torch.Tensor
    sag: torch.Tensor
    bias: torch.Tensor
    stick: torch.Tensor
    give: torch.Tensor
    gain: torch.Tensor

    def __init__(self, joints: int, config: NetworkConfig) -> None:
        super().__init__()
        self.config, self.joints = config, joints
        self.load = Load(joints)
        self.register_buffer("lag", torch.zeros(config.history - 1, joints))
        for name in ("sag", "bias", "stick", "give"):
            self.register_buffer(name, torch.zeros(joints))
        self.register_buffer("gain", torch.ones(joints))

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        n, h = self.joints, self.config.history
        target, q = observation[:, :n], observation[:, n : 2 * n]
        past = observation[:, 2 * n + 2 * n * h : 2 * n + 3 * n * h].reshape(-1, h, n)[:, 1:]
        payload_kg = observation[:, -1] if self.config.payload else torch.zeros_like(observation[:, -1])
        load = self.load(q, payload_kg)
        led = ((past - target[:, None]) * self.lag).sum(1) + self.sag * load + self.bias
        held = q + self.give * load - target
        return self.gain * torch.maximum(torch.minimum(held, led + self.stick), led - self.stick)
