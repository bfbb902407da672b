"""Corrected replay: the simulator given the commands plus what the operator adds to them, for whole runs.

In: commands, payloads, first states. Out: what the corrected simulator does. The operator sees the simulator's own
states alone; nothing of the real run but its first frame is used.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from haloid.gap.crowd import BaseModels
from haloid.gap.dataset.pairs import Pair, q_dis_rad
from haloid.gap.operator.features import observe
from haloid.gap.operator.networks import Network

_BATCH = 128
_LOG = logging.getLogger(__name__)


@dataclass
class Memory:
    """The last frames of many robots, (B, H, n) each, the newest first."""

    q_rad: np.ndarray
    dq_rad_s: np.ndarray
    target_rad: np.ndarray

    @staticmethod
    def filled(q_rad: np.ndarray, dq_rad_s: np.ndarray, target_rad: np.ndarray, history: int) -> Memory:
        """As if the first frame had been there for a while."""
        return Memory(*(np.repeat(one[:, None], history, axis=1) for one in (q_rad, dq_rad_s, target_rad)))

    def push(self, q_rad: np.ndarray, dq_rad_s: np.ndarray, target_rad: np.ndarray) -> None:
        for name, new in (("q_rad", q_rad), ("dq_rad_s", dq_rad_s), ("target_rad", target_rad)):
            setattr(self, name, np.concatenate([new[:, None], getattr(self, name)[:, :-1]], axis=1))

    def observation(self, payload_kg: np.ndarray) -> torch.Tensor:
        parts = (self.q_rad, self.dq_rad_s, self.target_rad, payload_kg)
        return observe(*(torch.as_tensor(part, dtype=torch.float32) for part in parts))


def corrected_runs(
    network: Network | None, models: BaseModels, pairs: Sequence[Pair], duration: int = 1
) -> list[np.ndarray]:
    """(T, n) positions of the simulator for every pair, corrected every `duration` steps (None: not at all)."""
    found: dict[int, np.ndarray] = {}
    order = sorted(range(len(pairs)), key=lambda i: (pairs[i].rate_hz, len(pairs[i])))
    while order:
        first = pairs[order[0]]
        batch = [i for i in order[:_BATCH] if abs(pairs[i].rate_hz / first.rate_hz - 1) < 0.01]
        order = order[len(batch) :]
        for i, run in zip(batch, _batch(network, models, [pairs[i] for i in batch], duration), strict=True):
            found[i] = run
    return [found[i] for i in range(len(pairs))]


@torch.no_grad()
def _batch(network: Network | None, models: BaseModels, pairs: list[Pair], duration: int) -> list[np.ndarray]:
    rows, rate = max(map(len, pairs)), pairs[0].rate_hz
    target = np.stack(
        [np.concatenate([p.target_rad, np.repeat(p.target_rad[-1:], rows - len(p), axis=0)]) for p in pairs]
    )
    heard = models.heard_rad(target, rate)
    payload = np.array([pair.payload_kg for pair in pairs])
    crowd = models.crowd(payload, rate)
    crowd.put(np.stack([pair.real.q_rad[0] for pair in pairs]), np.stack([pair.real.dq_rad_s[0] for pair in pairs]))
    q = np.empty_like(target)
    unstable = np.zeros(len(pairs), bool)
    memory, delta = None, np.zeros_like(target[:, 0])
    for row in range(rows):
        q[:, row] = crowd.q_rad
        if network is not None:
            now = (crowd.q_rad, crowd.dq_rad_s, target[:, row])
            if memory is None:
                memory = Memory.filled(*now, network.config.history)
            else:
                memory.push(*now)
            if row % duration == 0:
                delta = network(memory.observation(payload)).numpy().astype(float)
        before = crowd.state
        crowd.step(heard[:, row] + delta[:, None])
        lost = ~np.isfinite(crowd.state).all(axis=1)
        crowd.state[lost] = before[lost]
        unstable |= lost
    if unstable.any():
        _LOG.warning(
            "the simulator was not stable in %d of %d replays; each stayed where it was last. Calibrate its servos "
            "first, or train the operator on more data",
            unstable.sum(),
            len(pairs),
        )
    return [q[i, : len(pair)] for i, pair in enumerate(pairs)]


def mean_q_dis_rad(runs: Sequence[np.ndarray], pairs: Sequence[Pair]) -> np.ndarray:
    """(n,) mean over the sequences."""
    return np.mean([q_dis_rad(run, pair.real.q_rad) for run, pair in zip(runs, pairs, strict=True)], axis=0)
