"""Delta action, the fast way: no reinforcement learning. One linearisation, one regression, a few Gauss–Newton steps.

In: real data, the simulator. Out: π^Δ (networks.py). First single steps: the inverse problem of every transition and
the regression on its answers (regression.py). Then windows of up to a second (refine.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from haloid.errors import HaloidError
from haloid.gap.delta.linearise import linearise
from haloid.gap.delta.networks import JointTerms, joint_terms
from haloid.gap.delta.refine import refine
from haloid.gap.delta.regression import regress
from haloid.gap.replays.data import RealData
from haloid.setting_limits import check_settings
from haloid.skills.task.robot import TrackedRobot

LEAST_TRANSITIONS = 100
_LIMITS = {
    "transitions": (LEAST_TRANSITIONS, 10_000_000),
    "windows": (1, 100_000),
    "passes": (1, 1000),
    "horizon_s": (0.0, 60.0),
    "penalty": (0.0, 1e6),
    "ridge": (0.0, 1e6),
    "seed": (0, 2**32 - 1),
    "threads": (0, 10_000),
}


@dataclass(frozen=True)
class FastConfig:
    transitions: int = 4000
    """About which the simulator is linearised."""
    windows: int = 80
    """Replayed in each pass of the refinement."""
    passes: int = 3
    """Of the refinement, for each length of windows."""
    horizon_s: float = 1.0
    """Longest windows of the refinement; 0: single steps alone."""
    penalty: float = 1e-2
    """λ, of the action norm."""
    ridge: float = 1e-4
    """Of the coefficients."""
    seed: int = 0
    threads: int = 0
    """0: all cores."""

    def __post_init__(self) -> None:
        check_settings(self, _LIMITS)


def fit_fast(
    robot: TrackedRobot,
    data: RealData,
    joints: np.ndarray,
    config: FastConfig,
    say: Callable[[str], None] = lambda detail: None,
) -> JointTerms:
    """π^Δ for the servos of `joints` (columns)."""
    rows = data.transitions(with_falls=False)
    if len(rows) < LEAST_TRANSITIONS:
        raise HaloidError(
            f"the rollouts hold {len(rows)} steps before falls; expected at least {LEAST_TRANSITIONS}. "
            "Collect more or longer clips"
        )
    if len(rows) > config.transitions:
        rows = np.sort(np.random.default_rng(config.seed).choice(rows, config.transitions, replace=False))
    network = joint_terms(robot)
    about = linearise(robot, data, rows, joints=joints, threads=config.threads, say=say)
    regress(network, robot, data, about, joints, config.penalty, config.ridge)
    refine(
        network,
        robot,
        data,
        joints,
        windows=config.windows,
        passes=config.passes,
        horizon_s=config.horizon_s,
        ridge=config.ridge,
        seed=config.seed,
        threads=config.threads,
        say=say,
    )
    return network.eval()
