"""Delta action, the fast way: no reinforcement learning. One linearisation, one regression, a few Gauss–Newton steps.

In: real data, the simulator. Out: π^Δ (networks.py). First single steps: the inverse problem of every transition and
the regression on its answers (regression.py). Then windows of up to a second (refine.py). Last, every tenth clip, which
was left out, says how much of it to keep (left_out.py): nothing where it does not help.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from haloid.errors import HaloidError
from haloid.gap.delta.action import DeltaAction
from haloid.gap.delta.linearise import linearise
from haloid.gap.delta.networks import JointTerms, joint_terms
from haloid.gap.delta.refine import SHORTEST_S, refine
from haloid.gap.delta.regression import regress
from haloid.gap.replays.data import RealData
from haloid.gap.replays.left_out import Worth, leave_out, worth
from haloid.setting_limits import check_settings
from haloid.skills.task.robot import TrackedRobot

_LOG = logging.getLogger(__name__)
LEAST_TRANSITIONS = 100
LEFT_OUT = 10
"""One of so many clips."""
JUDGED_WINDOWS = 24
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
    data, left_out = leave_out(data, data.episode, LEFT_OUT)
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
    say("replaying the clips that were left out")
    found = worth(
        robot,
        left_out,
        lambda part: DeltaAction(_part_of(network, part), robot.default_joint_pos_rad),
        horizon_s=config.horizon_s or SHORTEST_S,
        windows=JUDGED_WINDOWS,
        threads=config.threads,
    )
    return (network if found is None else _kept(network, found)).eval()


def _part_of(network: JointTerms, part: float) -> JointTerms:
    twin = JointTerms(**network.configuration)
    with torch.no_grad():
        twin.coefficients.copy_(part * network.coefficients)
    return twin


def _kept(network: JointTerms, found: Worth) -> JointTerms:
    if found.part == 0.0:
        _LOG.warning(
            "no delta action brings the clips that were left out nearer to the recording than %.3g mm without any, so "
            "none is kept: the simulator may already do what the robot does, or its gap is not in the servos",
            found.without_mm,
        )
    return _part_of(network, found.part)
