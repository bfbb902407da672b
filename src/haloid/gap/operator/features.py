"""What every network sees of an observation, and what an observation is.

In: for each robot [target, q, H × q, H × dq, H × target (the newest frame first), payload]. Out: the target, q, and for
each frame of the history how far it was from q, its velocity (finer near 0) and its servo error (target − q), each
divided by its spread in the data.

What lies beyond the data is seen at its edge: an arm that reaches where no log did is corrected as at the border. No
network asks for more than twice what any frame of its data did: a correction that feeds on its own mistakes stays one.
"""

from __future__ import annotations

import torch
from torch import nn

PAYLOAD_UNIT_KG = 3.0
LEAST_BOUND_RAD = 0.05
"""What a joint may be corrected by even if its data asked for nothing."""
SLOW_RAD_S = 0.03
"""Friction turns at speeds like this: velocities are seen as ±log(1 + |dq| / SLOW_RAD_S)."""


class Features(nn.Module):
    """The observation as the networks see it."""

    spread: torch.Tensor
    most_rad: torch.Tensor
    least: torch.Tensor
    most: torch.Tensor

    def __init__(self, joints: int, history: int) -> None:
        super().__init__()
        self.joints, self.history = joints, history
        self.register_buffer("spread", torch.ones(4, joints))
        self.register_buffer("most_rad", torch.ones(joints))
        size = 2 * joints + 3 * joints * history
        self.register_buffer("least", torch.full((size,), -1e9))
        self.register_buffer("most", torch.full((size,), 1e9))

    def bounded(self, delta_rad: torch.Tensor) -> torch.Tensor:
        """most·tanh(x / most)"""
        return self.most_rad * torch.tanh(delta_rad / self.most_rad)

    def fit(self, observation: torch.Tensor, labels_rad: torch.Tensor) -> None:
        """Takes the spread of q, past motion, velocity and servo error from data; a still joint keeps a least one.

        Bounds are twice the largest delta action (K, n) that the data asks for.
        """
        self.most_rad[:] = torch.clamp(2 * labels_rad.abs().amax(0), min=LEAST_BOUND_RAD)
        self.spread[:] = 1.0
        _, q, history = self.split(observation)
        least = torch.tensor([0.3, 0.005, 0.5, 0.01])
        for i, values in enumerate((q - q.mean(0), history[:, 1:, 0], history[:, :, 1], history[:, :, 2])):
            if values.numel():  # a history of one frame has no past motion
                self.spread[i] = torch.clamp(values.reshape(-1, self.joints).std(0), min=float(least[i]))
        seen = self._scaled(observation)
        self.least[:], self.most[:] = seen.amin(0), seen.amax(0)

    def split(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(B, n) target, (B, n) q and (B, H, 3, n) history, relative and not yet scaled."""
        n, h = self.joints, self.history
        target, q = observation[:, :n], observation[:, n : 2 * n]
        past = observation[:, 2 * n : 2 * n + 3 * n * h].reshape(-1, 3, h, n)
        q_past, dq_past, target_past = past[:, 0], past[:, 1], past[:, 2]
        fine = torch.sign(dq_past) * torch.log1p(torch.abs(dq_past) / SLOW_RAD_S)
        return target, q, torch.stack([q_past - q[:, None], fine, target_past - q_past], dim=2)

    def _scaled(self, observation: torch.Tensor) -> torch.Tensor:
        """(B, 2n + 3nH) target, q and history, each in units of its spread."""
        target, q, history = self.split(observation)
        return torch.cat([target / self.spread[0], q / self.spread[0], (history / self.spread[1:]).flatten(1)], dim=1)

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """The scaled target, q, history (B, H, 3, n), all no further than the data, and payload (B, 1)."""
        n = self.joints
        seen = torch.clamp(self._scaled(observation), self.least, self.most)
        history = seen[:, 2 * n :].reshape(-1, self.history, 3, n)
        return seen[:, :n], seen[:, n : 2 * n], history, observation[:, -1:] / PAYLOAD_UNIT_KG


def observation_size(joints: int, history: int) -> int:
    """20 + 30·H of the paper's ten joints, and the payload."""
    return 2 * joints + 3 * joints * history + 1


def observe(
    q_past: torch.Tensor, dq_past: torch.Tensor, target_past: torch.Tensor, payload_kg: torch.Tensor
) -> torch.Tensor:
    """Observations of histories (B, H, n), the newest frame first, and payloads (B,)."""
    parts = [target_past[:, 0], q_past[:, 0], q_past.flatten(1), dq_past.flatten(1), target_past.flatten(1)]
    return torch.cat([*parts, payload_kg[:, None]], dim=1)
