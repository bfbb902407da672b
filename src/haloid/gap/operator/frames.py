"""Frames: the data that an operator is trained on, with what the simulator makes of each of them.

In: pairs and the base simulator. Out: for every frame the state that the simulator would be in one control step after
the *recorded* state, how that depends on the state (A) and on the command (B), by differences in MuJoCo,

    s⁺ = f(s, a) ,   A = ∂f/∂s ,   B = ∂f/∂a ,   s = (q, dq),

and from these the delta action of the frame, the answer to ASAP's one-step inverse problem:

    Δa = argmin ‖s'_real − f(s, a) − B·Δa‖²_W + λ‖Δa‖².
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from haloid.errors import HaloidError
from haloid.gap.crowd import BaseModels
from haloid.gap.dataset.pairs import Pair

NUDGE = {"q": 1e-3, "dq": 2e-2, "target": 3e-2}
"""rad, rad/s and rad: wide enough to look across the edges of dry friction."""
VELOCITY_WEIGHT = 0.02
"""s: a velocity error counts as the angle it makes in this time."""
EVERY = 3
"""Slopes are measured at every third frame and used for its neighbours too; the states themselves are exact."""
_CHUNK = 256
Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Frames:
    """Sequences one after the other; a frame has a successor unless it ends its sequence."""

    rate_hz: float
    start: np.ndarray
    """(S + 1,) where each sequence starts, and the end."""
    payload_kg: np.ndarray
    """(F,)"""
    q_rad: np.ndarray
    """(F, n) the real states"""
    dq_rad_s: np.ndarray
    target_rad: np.ndarray
    heard_rad: np.ndarray
    """(F, steps, n) what the servos hear."""
    next_state: np.ndarray
    """(F, 2n) of the simulator."""
    by_state: np.ndarray
    """(F, 2n, 2n) float32"""
    by_command: np.ndarray
    """(F, 2n, n) float32"""

    @property
    def joints(self) -> int:
        return self.q_rad.shape[1]

    @property
    def state(self) -> np.ndarray:
        return np.concatenate([self.q_rad, self.dq_rad_s], axis=1)

    @property
    def has_next(self) -> np.ndarray:
        """(F,)"""
        found = np.ones(len(self.q_rad), bool)
        found[self.start[1:] - 1] = False
        return found

    def history(self, frames: np.ndarray, length: int) -> np.ndarray:
        """(K, length) the frames before, the newest first; the first of a sequence is used for earlier ones."""
        first = self.start[np.searchsorted(self.start, frames, side="right") - 1]
        return np.maximum(frames[:, None] - np.arange(length), first[:, None])


def build_frames(models: BaseModels, pairs: Sequence[Pair], progress: Progress | None = None) -> Frames:
    rates = sorted({pair.rate_hz for pair in pairs})
    if max(rates) / min(rates) > 1.01:
        raise HaloidError(
            f"the sequences were recorded at {', '.join(f'{rate:g}' for rate in rates)} Hz; expected one rate, since a "
            "correction holds for one control step. Choose one with --rate-hz"
        )
    rate, n = rates[0], len(models.base.joint_names)
    heard = np.concatenate([models.heard_rad(pair.target_rad, rate) for pair in pairs])
    q, dq = (np.concatenate([getattr(pair.real, name) for pair in pairs]) for name in ("q_rad", "dq_rad_s"))
    payload = np.concatenate([np.full(len(pair), pair.payload_kg) for pair in pairs])
    count = len(q)
    start = np.concatenate([[0], np.cumsum([len(pair) for pair in pairs])])
    next_state = np.empty((count, 2 * n))
    for first in range(0, count, _CHUNK * 8):
        rows = slice(first, min(first + _CHUNK * 8, count))
        next_state[rows] = _after(models, q[rows], dq[rows], heard[rows], payload[rows], rate)
    sample = np.unique(np.concatenate([np.arange(a, b, EVERY) for a, b in pairwise(start)]))
    by_state, by_command = np.empty((count, 2 * n, 2 * n), np.float32), np.empty((count, 2 * n, n), np.float32)
    for first in range(0, len(sample), _CHUNK):
        rows = sample[first : first + _CHUNK]
        until = sample[first + _CHUNK] if first + _CHUNK < len(sample) else count
        slopes = _slopes(models, q[rows], dq[rows], heard[rows], payload[rows], rate)
        lasting = np.diff(np.append(rows, until))
        by_state[rows[0] : until] = np.repeat(slopes[..., : 2 * n], lasting, axis=0)
        by_command[rows[0] : until] = np.repeat(slopes[..., 2 * n :], lasting, axis=0)
        if progress:
            progress(f"frame {rows[0]} of {count}", rows[0] / count)
    return Frames(
        rate_hz=rate,
        start=start,
        payload_kg=payload,
        q_rad=q,
        dq_rad_s=dq,
        target_rad=np.concatenate([pair.target_rad for pair in pairs]),
        heard_rad=heard,
        next_state=next_state,
        by_state=by_state,
        by_command=by_command,
    )


def _after(
    models: BaseModels, q: np.ndarray, dq: np.ndarray, heard: np.ndarray, payload: np.ndarray, rate_hz: float
) -> np.ndarray:
    """(K, 2n) one control step on."""
    crowd = models.crowd(payload, rate_hz)
    crowd.put(q, dq)
    crowd.step(heard)
    return np.concatenate([crowd.q_rad, crowd.dq_rad_s], axis=1)


def _slopes(
    models: BaseModels, q: np.ndarray, dq: np.ndarray, heard: np.ndarray, payload: np.ndarray, rate_hz: float
) -> np.ndarray:
    """(K, 2n, 3n) by differences: q, dq and target of every joint in turn."""
    count, n = q.shape
    sizes = np.repeat(list(NUDGE.values()), n)
    turns = np.concatenate([np.zeros((1, 3 * n)), np.diag(sizes)])
    more_q, more_dq, more_target = (turns[:, i * n : (i + 1) * n] for i in range(3))
    after = _after(
        models,
        (q[:, None] + more_q).reshape(-1, n),
        (dq[:, None] + more_dq).reshape(-1, n),
        (heard[:, None] + more_target[None, :, None]).reshape(-1, heard.shape[1], n),
        np.repeat(payload, 3 * n + 1),
        rate_hz,
    ).reshape(count, 3 * n + 1, 2 * n)
    return ((after[:, 1:] - after[:, :1]) / sizes[:, None]).transpose(0, 2, 1)


def delta_labels_rad(frames: Frames, smallness: float = 0.05, most_rad: float = 0.5) -> np.ndarray:
    """(F, n) the delta action of every frame; 0 at the end of a sequence. `smallness` is √λ, relative to B."""
    n = frames.joints
    weight = np.repeat([1.0, VELOCITY_WEIGHT], n)
    wanted = np.zeros_like(frames.next_state)
    wanted[:-1] = frames.state[1:] - frames.next_state[:-1]
    wanted[~frames.has_next] = 0.0
    b = frames.by_command.astype(np.float64) * weight[:, None]
    square = np.einsum("fai,faj->fij", b, b)
    scale = np.einsum("fii->f", square) / n
    square += (smallness**2 * np.maximum(scale, 1e-8))[:, None, None] * np.eye(n)
    gradient = np.einsum("fai,fa->fi", b, wanted * weight)
    return np.clip(np.linalg.solve(square, gradient[..., None])[..., 0], -most_rad, most_rad)
