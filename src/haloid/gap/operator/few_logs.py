"""Fitting the operator for a handful of logs (sticking.py), in seconds.

In: frames with their delta actions. Out: the numbers of every joint, by least squares over the frames in which it
moves: there it is one stick behind where it is led to,

    Δa = p − target − stick·sign(dq),

with a penalty on numbers that are large for what they are. `gain`, by joint, is what sequences that were left out say:
a correction, or a part of it, is kept if it makes them better by more than twice the standard error of that, else it is
0. A model that knows its friction already is also tried with `stick` 0.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from haloid.gap.crowd import BaseModels, payload_links
from haloid.gap.dataset.pairs import Motion, Pair
from haloid.gap.operator.corrected import corrected_runs
from haloid.gap.operator.frames import Frames, Progress, delta_labels_rad, servos_of
from haloid.gap.operator.networks import NetworkConfig
from haloid.gap.operator.sticking import Sticking

SLOW_RAD_S, MOVING = 0.05, 0.7
"""The direction of motion is tanh(dq / SLOW_RAD_S); a joint moves where it is more than MOVING."""
LEAST_FRAMES = 100
"""A joint that moved less in the data is not corrected."""
PENALTY = 1e-5
"""Of least squares, for numbers in units of `_UNITS`; chosen on simulated arms (`haloid.lab.motors.hobby_arm`)."""
_UNITS = {"bias": 0.01, "load": 0.1, "stick": 0.1}
GAINS = (1.0, 0.5, 0.25)
GROUPS, PIECE_S = 4, 10.0
"""Sequences are left out in this many groups and played in pieces of this length."""


def fit_sticking(
    frames: Frames, pairs: Sequence[Pair], models: BaseModels, config: NetworkConfig, say: Progress | None = None
) -> Sticking:
    """Of all frames of `pairs`, its gains from groups of them that are left out in turn."""
    network = Sticking(frames.joints, config)
    model = models.of(0.0, frames.rate_hz)
    network.load.of(model, models.base.joint_names, payload_links(models.base.robot))
    kp = model.actuator_gainprm[servos_of(models, frames.rate_hz), 0]
    network.give[:] = torch.as_tensor(1 / np.maximum(kp, 1e-9))
    columns = _columns(frames, network)
    labels = delta_labels_rad(frames, models)
    sequence = np.repeat(np.arange(len(pairs)), np.diff(frames.start))
    group = sequence % min(GROUPS, len(pairs))
    _solve(network, columns, labels, frames.has_next)
    if len(pairs) > 1:
        errors = []
        for left_out in range(group.max() + 1):
            if say:
                say(f"leaving out group {left_out + 1} of {group.max() + 1}", left_out / (group.max() + 1))
            other = copy.deepcopy(network)
            _solve(other, columns, labels, frames.has_next & (group != left_out))
            errors.append(_errors_rad(other, models, [p for i, p in enumerate(pairs) if i % GROUPS == left_out]))
        gain, sticks = _kept(np.array(errors))
        network.gain[:] = torch.as_tensor(gain)
        network.stick *= torch.as_tensor(sticks)
    return network


def _columns(frames: Frames, network: Sticking) -> np.ndarray:
    """(F, n, H + 2) what the lags, bias, sag and stick are multiplied with, in their units."""
    past = frames.target_rad[frames.history(np.arange(len(frames.q_rad)), network.config.history)]
    lags = (past[:, 1:] - past[:, :1]).transpose(0, 2, 1)
    with torch.no_grad():
        q, payload = (torch.as_tensor(one, dtype=torch.float32) for one in (frames.q_rad, frames.payload_kg))
        load = network.load(q, payload if network.config.payload else torch.zeros_like(payload)).numpy()
    direction = np.tanh(frames.dq_rad_s / SLOW_RAD_S)
    one = np.ones_like(load)
    rest = (_UNITS["bias"] * one, _UNITS["load"] * load, _UNITS["stick"] * direction)
    return np.concatenate([lags, np.stack(rest, axis=2)], axis=2)


def _solve(network: Sticking, columns: np.ndarray, labels_rad: np.ndarray, used: np.ndarray) -> None:
    lags = network.config.history - 1
    for j in range(network.joints):
        rows = used & (np.abs(columns[:, j, -1]) > MOVING * _UNITS["stick"])
        x, y = columns[rows, j], labels_rad[rows, j]
        solved = np.zeros(x.shape[1])
        if len(x) >= LEAST_FRAMES:
            solved = np.linalg.solve(x.T @ x / len(x) + PENALTY * np.eye(x.shape[1]), x.T @ y / len(x))
        network.lag[:, j] = torch.as_tensor(solved[:lags])
        network.bias[j], network.sag[j] = _UNITS["bias"] * solved[lags], _UNITS["load"] * solved[lags + 1]
        network.stick[j] = max(0.0, -_UNITS["stick"] * solved[lags + 2])
        network.gain[j] = float(len(x) >= LEAST_FRAMES)


def _errors_rad(network: Sticking, models: BaseModels, pairs: Sequence[Pair]) -> np.ndarray:
    """(1 + 2·gains, n) rms: without a correction, with each gain, with each gain and no stick."""
    pieces = [piece for pair in pairs for piece in _pieces(pair)]
    tried: list[Sticking | None] = [None]
    for stick, gain in itertools.product((1.0, 0.0), GAINS):
        one = copy.deepcopy(network)
        one.stick *= stick
        one.gain *= gain
        tried.append(one)
    found = []
    for one in tried:
        off = [run - piece.real.q_rad for run, piece in zip(corrected_runs(one, models, pieces), pieces, strict=True)]
        found.append(np.sqrt((np.concatenate(off) ** 2).mean(axis=0)))
    return np.array(found)


def _kept(errors_rad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gains and sticks' factors (n,) from (groups, 1 + 2·gains, n) errors."""
    worse = errors_rad[:, 1:] - errors_rad[:, :1]
    doubt = worse.std(axis=0, ddof=1) / np.sqrt(len(worse))
    score = worse.mean(axis=0) + 2 * doubt
    best = score.argmin(axis=0)
    kept = score.min(axis=0) < 0
    gains = np.array(GAINS * 2)[best] * kept
    return gains, (best < len(GAINS)).astype(float)


def _pieces(pair: Pair) -> list[Pair]:
    """Of about PIECE_S each."""
    count = max(1, round(len(pair) / pair.rate_hz / PIECE_S))
    found = []
    for rows in np.array_split(np.arange(len(pair)), count):
        part = slice(rows[0], rows[-1] + 1)
        sides = [
            Motion(*(getattr(side, name)[part] for name in ("q_rad", "dq_rad_s", "ddq_rad_s2", "tau_nm")))
            for side in (pair.real, pair.sim)
        ]
        found.append(
            replace(
                pair,
                target_rad=pair.target_rad[part],
                real=sides[0],
                sim=sides[1],
                temperature_c=pair.temperature_c[part],
            )
        )
    return found
