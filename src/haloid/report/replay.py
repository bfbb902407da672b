"""Replays as tables: how far a model is off by run and by joint, with the nominal robot beside it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from haloid.identify.replay import Replay, mean_rms, rms
from haloid.report.html.parts import Table


def by_run(played: Sequence[Replay], nominal: Sequence[Replay]) -> Table:
    """One line per run, the last for all."""
    rows = []
    for one, other in zip(played, nominal, strict=True):
        worst = one.joint_names[int(np.argmax(one.max_rad))]
        ours, theirs = float(rms(one.error_rad)), float(rms(other.error_rad))
        rows.append([one.name, *_mrad(ours, one.max_rad.max()), worst, *_mrad(theirs), _ratio(ours, theirs)])
    ours, theirs = mean_rms(played), mean_rms(nominal)
    rows.append(["mean of runs", *_mrad(ours), "", "", *_mrad(theirs), _ratio(ours, theirs)])
    columns = ["run", "rms (mrad)", "largest", "at", "nominal rms", "model/nominal"]
    return Table(columns, rows)


def by_joint(played: Sequence[Replay], nominal: Sequence[Replay]) -> Table:
    """One line per joint, over all runs."""
    errors, nominal_errors = (np.concatenate([one.error_rad for one in side]) for side in (played, nominal))
    rows = []
    for i, joint in enumerate(played[0].joint_names):
        ours, theirs = float(rms(errors[:, i])), float(rms(nominal_errors[:, i]))
        largest = np.abs(errors[:, i]).max(), np.abs(nominal_errors[:, i]).max()
        rows.append([joint, *_mrad(ours, largest[0], theirs, largest[1]), _ratio(ours, theirs)])
    columns = ["joint", "rms (mrad)", "largest", "nominal rms", "nominal largest", "model/nominal"]
    return Table(columns, rows)


def _mrad(*values_rad: float) -> list[str]:
    return [f"{1e3 * value:.2f}" for value in values_rad]


def _ratio(ours: float, theirs: float) -> str:
    return f"{ours / theirs:.3f}" if theirs > 0 else "–"
