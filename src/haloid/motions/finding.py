"""Motions, what a check finds: what it is, where, when, how much, the limit and what to do about it."""

from dataclasses import dataclass
from typing import Literal

import numpy as np


@dataclass(frozen=True)
class Finding:
    what: str
    where: str
    """The joint or body; empty for the whole clip."""
    start_s: float
    end_s: float
    amount: float
    limit: float
    unit: str
    advice: str
    severity: Literal["error", "warning"] = "error"


def spans(mask: np.ndarray) -> list[tuple[int, int]]:
    """First and last row of every run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return [(int(start), int(stop) - 1) for start, stop in zip(edges[::2], edges[1::2], strict=True)]
