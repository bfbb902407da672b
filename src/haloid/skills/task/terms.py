"""Skills, what a task judges: its rewards and its terminations, for the environment to apply after every step.

In: a `Moment`, the robots and the frames they should be in. Out: a `Verdict`. The tracking task's is mjlab's
(rewards.py, terminations.py); another task is another callable of this kind.

Both see the reference moved to the robot's place and heading (mjlab, BeyondMimic), so that drift of the whole robot is
kept apart from errors of the pose: carried along in x, y and yaw by the robot's anchor, with Δ = yaw(q ∘ q̂⁻¹) of
the anchor, p' = (p_x, p_y, p̂_z) + Δ(p̂_body − p̂_anchor),  q' = Δ ∘ q̂_body.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from haloid.skills.task.reference import Poses
from haloid.skills.task.rewards import WEIGHTS, reward_terms
from haloid.skills.task.robot import TrackedRobot
from haloid.skills.task.terminations import HEIGHT_M, termination_terms
from haloid.trajectories.rotations import apply, heading, inverse, multiply


@dataclass(frozen=True)
class Moment:
    """All robots after a control step."""

    robot: Poses
    frame: Poses
    """Where they should be."""
    action: np.ndarray
    """(N, n) under mjlab's contract."""
    last_action: np.ndarray
    torque_nm: np.ndarray
    """(N, n) of the servos."""


@dataclass(frozen=True)
class Verdict:
    reward_terms: dict[str, np.ndarray]
    """(N,) each, weighted, per second; the reward of a step is their sum times its duration."""
    termination_terms: dict[str, np.ndarray]
    """(N,) bool each: reasons to end the episode as a failure."""


class Terms(Protocol):
    def __call__(self, moment: Moment, slack: float) -> Verdict:
        """`slack` is a factor on the thresholds that end an episode (`Difficulty.termination`)."""
        ...


@dataclass(frozen=True)
class TrackingTerms:
    """mjlab's motion tracking."""

    anchor: int
    """Row of the tracked bodies."""
    end_effectors: np.ndarray
    """Rows of the tracked bodies."""
    soft_limits_rad: np.ndarray
    """(n, 2)"""
    weights: Mapping[str, float]
    farthest_m: float | None = None
    """Mean distance of the tracked bodies from the reference that ends an episode, and heights too; None: mjlab's."""

    def __call__(self, moment: Moment, slack: float) -> Verdict:
        robot, frame = moment.robot, moment.frame
        carried = carried_along(robot, frame, self.anchor)
        height_m = HEIGHT_M if self.farthest_m is None else self.farthest_m
        ends = termination_terms(robot, frame, carried[0], self.anchor, self.end_effectors, slack, height_m)
        if self.farthest_m is not None:
            distance_m = np.linalg.norm(frame.body_pos_w - robot.body_pos_w, axis=-1).mean(axis=-1)
            ends["drift"] = distance_m > self.farthest_m * slack
        terms = reward_terms(
            robot, frame, carried, moment.action, moment.last_action, self.soft_limits_rad, self.anchor
        )
        return Verdict({name: self.weights[name] * term for name, term in terms.items()}, ends)


def tracking_terms(
    robot: TrackedRobot, weights: Mapping[str, float] = WEIGHTS, farthest_m: float | None = None
) -> TrackingTerms:
    bodies = robot.description.tracked_links
    return TrackingTerms(
        anchor=bodies.index(robot.description.anchor),
        end_effectors=np.array([bodies.index(name) for name in robot.description.end_effectors]),
        soft_limits_rad=robot.soft_limits_rad.astype(np.float32),
        weights=weights,
        farthest_m=farthest_m,
    )


def carried_along(robot: Poses, frame: Poses, anchor: int) -> tuple[np.ndarray, np.ndarray]:
    """(N, bodies, 3) positions and (N, bodies, 4) quaternions that the tracked bodies should have."""
    turn = heading(multiply(robot.body_quat_w[:, anchor], inverse(frame.body_quat_w[:, anchor])))[:, None]
    place = robot.body_pos_w[:, anchor].copy()
    place[:, 2] = frame.body_pos_w[:, anchor, 2]
    offset = frame.body_pos_w - frame.body_pos_w[:, anchor : anchor + 1]
    return place[:, None] + apply(turn, offset), multiply(turn, frame.body_quat_w)
