"""Replays, whether a correction is worth having: clips that it did not learn from, with all of it, half of it and none.

In: a correction that can be taken in parts, and the real data that were kept from it. Out: the part with which the
replays end nearest to the recording; 0 where nothing does better than no correction, as where there is no gap to learn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from haloid.gap.replays.data import RealData
from haloid.gap.replays.open_loop import chosen_windows
from haloid.gap.replays.simulator import Correction, Simulator, body_errors_mm, replay
from haloid.skills.task.reference import CONTROL_HZ
from haloid.skills.task.robot import TrackedRobot

PARTS = (1.0, 0.5, 0.0)


@dataclass(frozen=True)
class Worth:
    part: float
    """Of the correction, which brings the clips nearest."""
    error_mm: float
    """With this part."""
    without_mm: float


def leave_out(data: RealData, labels: np.ndarray, every: int) -> tuple[RealData, RealData | None]:
    """What to learn from, and one of so many clips or motions: `labels` are `data.episode` or `data.source`. None:
    there are too few to leave one out."""
    left_out = np.isin(labels, np.unique(labels)[every - 1 :: every])
    return (data.rows(~left_out), data.rows(left_out)) if left_out.any() else (data, None)


def worth(
    robot: TrackedRobot,
    left_out: RealData | None,
    part_of: Callable[[float], Correction],
    *,
    horizon_s: float,
    windows: int,
    threads: int,
) -> Worth | None:
    """None where nothing can be told: no clip was left out, or none lasts as long as a replay."""
    if left_out is None:
        return None
    steps = round(horizon_s * CONTROL_HZ)
    if not len(left_out.windows(steps, stride=1)):
        return None
    firsts = chosen_windows(left_out, steps, windows, seed=0)
    simulator = Simulator(robot, len(firsts), threads)
    errors_mm = [
        float(body_errors_mm(replay(simulator, left_out, firsts, steps, part_of(part)), robot, left_out, firsts)[0])
        for part in PARTS
    ]
    best = int(np.argmin(errors_mm))
    return Worth(PARTS[best], errors_mm[best], errors_mm[PARTS.index(0.0)])
