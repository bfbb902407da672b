"""Corrected replay of recordings: as `haloid.identify.replay`, with what the operator adds to the commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from haloid.errors import HaloidError
from haloid.gap.crowd import BaseModels
from haloid.gap.dataset.from_logs import base_of, long_pieces, pairs_of, payload_of
from haloid.gap.operator.corrected import corrected_runs
from haloid.gap.operator.model import Operator
from haloid.identify.replay import Replay
from haloid.recordings.recording import Recording


def replay_corrected(
    operator: Operator, recordings: Sequence[Recording], model: str | None = None, payload_kg: float | None = None
) -> list[Replay]:
    """Plays whole recordings on the simulator that the operator corrects (or on another `model` of the robot)."""
    found = []
    for recording in recordings:
        operator.check(recording.joint_names, 1 / recording.control_dt_s, recording.title)
        if not np.isfinite(recording.q_rad).all():
            raise HaloidError(f"{recording.title} holds readings that are not numbers; expected numbers throughout")
        payload = payload_of(recording, payload_kg)
        operator.warn_payload(payload, recording.title)
        base = replace(base_of(recording), model=operator.base.model if model is None else model)
        models = BaseModels(base)
        pairs = pairs_of(recording, models, payload)
        runs = corrected_runs(operator.network, models, pairs, operator.duration)
        played, compared = recording.q_rad.copy(), np.zeros(len(recording.time_s), bool)
        for piece, run in zip(long_pieces(recording), runs, strict=True):
            played[piece] = run
            compared[piece.start + 1 : piece.stop] = True
        found.append(Replay(recording.name, recording.joint_names, recording.time_s, recording.q_rad, played, compared))
    return found
