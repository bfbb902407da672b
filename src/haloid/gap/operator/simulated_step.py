"""A control step of MuJoCo that gradients pass through.

Forward is MuJoCo itself; backward uses the slopes that were measured at the recorded state of the same frame, which a
corrected simulator stays close to. So a network is trained on what it does to whole runs, not to one step alone.

A servo forgets where it was: what passes back through a step is made no longer than what came in (an angle counts 1, a
velocity `VELOCITY_WEIGHT`). Slopes at the stops of a joint or at the edges of friction would multiply without end.
"""

from typing import Any

import numpy as np
import torch

from haloid.gap.crowd import Crowd
from haloid.gap.operator.frames import VELOCITY_WEIGHT


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
        came, passed = _size(upstream[0]), _size(to_state)
        to_state = to_state * torch.clamp(came / passed.clamp_min(1e-12), max=1.0)
        return to_state, to_delta, None, None, None, None


def _size(gradient: torch.Tensor) -> torch.Tensor:
    """(B, 1) of gradients (B, 2n) by positions and velocities."""
    n = gradient.shape[1] // 2
    return torch.cat([gradient[:, :n], gradient[:, n:] / VELOCITY_WEIGHT], dim=1).norm(dim=1, keepdim=True)
