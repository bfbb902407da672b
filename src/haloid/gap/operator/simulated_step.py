"""A control step of MuJoCo that gradients pass through.

Forward is MuJoCo itself; backward uses the slopes that were measured at the recorded state of the same frame, which a
corrected simulator stays close to. So a network is trained on what it does to whole runs, not to one step alone.
"""

from typing import Any

import numpy as np
import torch

from haloid.gap.crowd import Crowd


class SimulatedStep(torch.autograd.Function):
    """state (B, 2n), heard commands with their corrections (B, steps, n) → state one control step on."""

    @staticmethod
    def forward(
        ctx: Any,
        state: torch.Tensor,
        delta_rad: torch.Tensor,
        heard_rad: torch.Tensor,
        by_state: torch.Tensor,
        by_command: torch.Tensor,
        crowd: Crowd,
    ) -> torch.Tensor:
        ctx.save_for_backward(by_state, by_command)
        n = delta_rad.shape[1]
        now = state.numpy().astype("float64")
        crowd.put(now[:, :n], now[:, n:])
        crowd.step(heard_rad.numpy().astype("float64") + delta_rad.numpy().astype("float64")[:, None])
        return torch.as_tensor(np.concatenate([crowd.q_rad, crowd.dq_rad_s], axis=1), dtype=torch.float32)

    @staticmethod
    def backward(ctx: Any, *upstream: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        by_state, by_command = ctx.saved_tensors
        gradient = upstream[0][:, None]
        to_state = torch.bmm(gradient, by_state)[:, 0]
        to_delta = torch.bmm(gradient, by_command)[:, 0]
        return to_state, to_delta, None, None, None, None
