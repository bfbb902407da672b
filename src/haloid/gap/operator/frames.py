"""Frames: the data that an operator is trained on, with what the simulator makes of each of them.

In: pairs and the base simulator. Out: for every frame the state that the simulator would be in one control step after
the *recorded* state and how that depends on the command (B), by differences in MuJoCo,

    s⁺ = f(s, a + Δ₀) ,   B = ∂f/∂a ,   s = (q, dq),

and from these the delta action of the frame, the answer to ASAP's one-step inverse problem:

    Δa = argmin ‖s'_real − s⁺ − B·(Δa − Δ₀)‖²_W + λ‖Δa‖².

Δ₀ is a first guess: 0, or the command to go where the joint really went, whichever brings it nearer there. A model with
servos much stiffer than the robot's saturates under the robot's commands, where B says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from haloid.errors import HaloidError
from haloid.gap.crowd import BaseModels
from haloid.gap.dataset.pairs import Pair

NUDGE_RAD = 3e-2
"""Of a target: wide enough to look across the edges of dry friction."""
LEAST_NUDGE_RAD = 1e-3
"""For a servo so stiff that half its torque is asked for by less."""
VELOCITY_WEIGHT = 0.02
"""s: a velocity error counts as the angle it makes in this time."""
STEPS = (1.0, 0.5, 0.2, 0.0)
"""Of the way from the guess to the answer of the slopes, tried in the simulator."""
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
    guess_rad: np.ndarray
    """(F, n) Δ₀, with which the simulator is stepped and its slopes are measured."""
    next_state: np.ndarray
    """(F, 2n) of the simulator."""
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
    next_q = np.concatenate([np.concatenate([pair.real.q_rad[1:], pair.real.q_rad[-1:]]) for pair in pairs])
    there = next_q - heard[:, -1]
    ends = (
        _all_after(models, q, dq, heard + one[:, None], payload, rate)[:, :n] for one in (np.zeros_like(there), there)
    )
    missed = [np.abs(end - next_q) for end in ends]
    guess = np.where(missed[1] < missed[0], there, 0.0)
    next_state = _all_after(models, q, dq, heard + guess[:, None], payload, rate)
    guided = heard + guess[:, None]
    nudges_rad = target_nudges_rad(models, rate)
    sample = np.unique(np.concatenate([np.arange(a, b, EVERY) for a, b in pairwise(start)]))
    by_command = np.empty((count, 2 * n, n), np.float32)
    for first in range(0, len(sample), _CHUNK):
        rows = sample[first : first + _CHUNK]
        until = sample[first + _CHUNK] if first + _CHUNK < len(sample) else count
        slopes = _slopes(models, q[rows], dq[rows], guided[rows], payload[rows], rate, nudges_rad)
        lasting = np.diff(np.append(rows, until))
        by_command[rows[0] : until] = np.repeat(slopes, lasting, axis=0)
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
        guess_rad=guess,
        next_state=next_state,
        by_command=by_command,
    )


def _all_after(
    models: BaseModels, q: np.ndarray, dq: np.ndarray, heard: np.ndarray, payload: np.ndarray, rate_hz: float
) -> np.ndarray:
    """(F, 2n), some at a time."""
    chunks = (slice(first, first + _CHUNK * 8) for first in range(0, len(q), _CHUNK * 8))
    return np.concatenate([_after(models, q[c], dq[c], heard[c], payload[c], rate_hz) for c in chunks])


def _after(
    models: BaseModels, q: np.ndarray, dq: np.ndarray, heard: np.ndarray, payload: np.ndarray, rate_hz: float
) -> np.ndarray:
    """(K, 2n) one control step on."""
    crowd = models.crowd(payload, rate_hz)
    crowd.put(q, dq)
    crowd.step(heard)
    return np.concatenate([crowd.q_rad, crowd.dq_rad_s], axis=1)


def target_nudges_rad(models: BaseModels, rate_hz: float) -> np.ndarray:
    """(n,) no more than half of what saturates the servo."""
    model, n = models.of(0.0, rate_hz), len(models.base.joint_names)
    limits = np.full(n, np.inf)
    for i, (name, servo) in enumerate(zip(models.base.joint_names, servos_of(models, rate_hz), strict=True)):
        joint = model.joint(name)
        torques = [model.actuator_forcerange[servo, 1]] if model.actuator_forcelimited[servo] else []
        torques += [model.jnt_actfrcrange[joint.id, 1]] if model.jnt_actfrclimited[joint.id] else []
        limits[i] = min(torques, default=np.inf) / max(model.actuator_gainprm[servo, 0], 1e-9)
    return np.clip(limits / 2, LEAST_NUDGE_RAD, NUDGE_RAD)


def servos_of(models: BaseModels, rate_hz: float) -> list[int]:
    """The actuators of the joints."""
    model = models.of(0.0, rate_hz)
    joints = [model.joint(name).id for name in models.base.joint_names]
    return [next(a for a in range(model.nu) if model.actuator_trnid[a, 0] == joint) for joint in joints]


def _slopes(
    models: BaseModels,
    q: np.ndarray,
    dq: np.ndarray,
    heard: np.ndarray,
    payload: np.ndarray,
    rate_hz: float,
    nudges_rad: np.ndarray,
) -> np.ndarray:
    """(K, 2n, n) by differences: the target of every joint in turn."""
    count, n = q.shape
    turns = np.concatenate([np.zeros((1, n)), np.diag(nudges_rad)])
    after = _after(
        models,
        np.repeat(q, n + 1, axis=0),
        np.repeat(dq, n + 1, axis=0),
        (heard[:, None] + turns[None, :, None]).reshape(-1, heard.shape[1], n),
        np.repeat(payload, n + 1),
        rate_hz,
    ).reshape(count, n + 1, 2 * n)
    return ((after[:, 1:] - after[:, :1]) / nudges_rad[:, None]).transpose(0, 2, 1)


def delta_labels_rad(frames: Frames, models: BaseModels, smallness: float = 0.05, most_rad: float = 0.5) -> np.ndarray:
    """(F, n) the delta action of every frame; 0 at the end of a sequence. `smallness` is √λ, relative to B.

    A joint goes from the guess as far towards the answer of its slopes as brings it nearest to what it really did.
    """
    f, n = frames, frames.joints
    weight = np.repeat([1.0, VELOCITY_WEIGHT], n)
    wanted = np.concatenate([f.state[1:], f.state[-1:]])
    b = f.by_command.astype(np.float64) * weight[:, None]
    square = np.einsum("fai,faj->fij", b, b)
    small = smallness**2 * np.maximum(np.einsum("fii->f", square) / n, 1e-8)
    square += small[:, None, None] * np.eye(n)
    gradient = np.einsum("fai,fa->fi", b, (wanted - f.next_state) * weight) - small[:, None] * f.guess_rad
    step = (
        np.clip(f.guess_rad + np.linalg.solve(square, gradient[..., None])[..., 0], -most_rad, most_rad) - f.guess_rad
    )
    best, least = f.guess_rad, np.full(step.shape, np.inf)
    for share in STEPS:
        tried = f.guess_rad + share * step
        after = _all_after(models, f.q_rad, f.dq_rad_s, f.heard_rad + tried[:, None], f.payload_kg, f.rate_hz)
        missed = (((after - wanted) * weight) ** 2).reshape(-1, 2, n).sum(axis=1)
        best, least = np.where(missed < least, tried, best), np.minimum(missed, least)
    return np.where(f.has_next[:, None], best, 0.0)
