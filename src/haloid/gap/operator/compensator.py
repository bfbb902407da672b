"""The compensator: a command, distorted beforehand, under which the real joints follow a reference.

In: a reference and what is believed about the robot (a base simulator, with or without an operator). Out: commands. The
believed robot is run with the command, and the command moved by what it missed, a few times over (iterative learning
control with a lead of one row):

    c ← c + gain·smooth(reference − q)[t + 1],

on the model alone; the real robot is not needed for it. What is quicker than the servos is smoothed away: it would
grow from round to round; of all rounds the best command is kept.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.ndimage import gaussian_filter1d

from haloid.errors import HaloidError
from haloid.gap.crowd import BaseModels
from haloid.gap.dataset.pairs import Motion, Pair
from haloid.gap.operator.corrected import corrected_runs
from haloid.gap.operator.networks import Network

_GAIN = 0.6
_SMOOTH_S = 0.06


def compensated(
    reference_rad: np.ndarray,
    payload_kg: np.ndarray,
    rate_hz: float,
    models: BaseModels,
    network: Network | None = None,
    rounds: int = 12,
    duration: int = 1,
) -> np.ndarray:
    """(B, T, n) commands for references (B, T, n) that start at rest."""
    if not np.isfinite(reference_rad).all():
        raise HaloidError("the reference holds values that are not numbers; expected numbers throughout")
    command, best, least = reference_rad.copy(), reference_rad, np.full(len(reference_rad), np.inf)
    pairs = [_asked(path, kg, rate_hz) for path, kg in zip(reference_rad, payload_kg, strict=True)]
    for _ in range(rounds):
        asked = [replace(pair, target_rad=path) for pair, path in zip(pairs, command, strict=True)]
        missed = reference_rad - np.stack(corrected_runs(network, models, asked, duration))
        size = np.abs(missed).mean(axis=(1, 2))
        best = np.where((size < least)[:, None, None], command, best)
        least = np.minimum(size, least)
        smooth = gaussian_filter1d(missed, _SMOOTH_S * rate_hz, axis=1, mode="nearest")
        command = command + _GAIN * np.concatenate([smooth[:, 1:], smooth[:, -1:]], axis=1)
    return best


def _asked(reference_rad: np.ndarray, payload_kg: float, rate_hz: float) -> Pair:
    """A pair whose real side is what is wanted: at rest on the reference's first row."""
    still = np.zeros_like(reference_rad)
    wanted = Motion(reference_rad, still, still, still)
    moving = np.ptp(reference_rad, axis=0) > 0
    return Pair("reference", 0, "whole", rate_hz, float(payload_kg), moving, reference_rad, wanted, wanted, still)
