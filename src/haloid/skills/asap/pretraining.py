"""ASAP's pre-training, what is good and when an episode has failed: Table I and the termination curriculum.

In: a `Moment` (terms.py). Out: a `Verdict`. Weights by term; the tracking terms are those of tracking.py:

| term | weight | |
| --- | --- | --- |
| body_pos, three_points, feet | 1, 1.6, 2.1 | |
| body_rot, body_ang_vel, body_vel | 0.5 | |
| joint_pos, joint_vel | 0.75, 0.5 | |
| joint_limits | −10 | rad beyond the soft limits, summed |
| torque_limits | −5 | N·m beyond 0.825 of the limits, summed |
| torques | −10⁻⁶ | Σ τ² |
| action_rate | −0.5 | ‖a − a_last‖² |
| feet_orientation | −2 | sine of the tilt of each foot, summed |
| feet_heading | −0.1 | angle between the headings of each foot and the root, summed |
| slippage | −1 | speed of each foot whose sole is within 5 mm of the floor, summed |
| termination | −200 | 1 where the episode has failed |

Table I's limits of joint velocities are left out: the models here state none. ASAP sees a foot on the floor by its
contact force, which is not simulated apart; the lowest corner of the sole tells as much.

An episode fails when a tracked body is 0.3 m from where it should be, which a curriculum loosens up to 1.5 m, or when
the anchor has tipped over as in mjlab. As in ASAP's code the penalties, but for the termination's, begin with a tenth
of their weights; here they grow as the distance shrinks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haloid.robots.sole import sole_points_in_foot_m
from haloid.skills.asap.tracking import BodyRows, beyond_limits_rad, beyond_torque_nm, body_rows, nearness
from haloid.skills.task.reference import Poses
from haloid.skills.task.robot import TrackedRobot
from haloid.skills.task.terminations import tipped_over
from haloid.skills.task.terms import Moment, Verdict
from haloid.trajectories.rotations import angle_between, apply, apply_inverse, heading

WEIGHTS = {
    "body_pos": 1.0,
    "three_points": 1.6,
    "feet": 2.1,
    "body_rot": 0.5,
    "body_vel": 0.5,
    "body_ang_vel": 0.5,
    "joint_pos": 0.75,
    "joint_vel": 0.5,
    "joint_limits": -10.0,
    "torque_limits": -5.0,
    "torques": -1e-6,
    "action_rate": -0.5,
    "feet_orientation": -2.0,
    "feet_heading": -0.1,
    "slippage": -1.0,
    "termination": -200.0,
}
FARTHEST_M, FARTHEST_AT_FIRST_M = 0.3, 1.5
LOOSEST = FARTHEST_AT_FIRST_M / FARTHEST_M
"""The curriculum's first factor on the distance."""
PENALTIES_AT_FIRST = 0.1
ON_FLOOR_M = 0.005


@dataclass(frozen=True)
class PretrainingTerms:
    rows: BodyRows
    anchor: int
    """Row of the tracked bodies."""
    soft_limits_rad: np.ndarray
    """(n, 2)"""
    effort_nm: np.ndarray
    """(n,)"""
    soles_in_foot_m: np.ndarray
    """(feet, 4, 3) corners of each sole in its foot's frame."""

    def __call__(self, moment: Moment, slack: float) -> Verdict:
        robot, frame = moment.robot, moment.frame
        apart_m = np.linalg.norm(frame.body_pos_w - robot.body_pos_w, axis=-1)
        ends = {
            "far": np.any(apart_m > FARTHEST_M * slack, axis=1),
            "anchor_ori": tipped_over(robot, frame, self.anchor),
        }
        terms = self.reward_terms(moment, np.any(list(ends.values()), axis=0))
        grown = PENALTIES_AT_FIRST + (1 - PENALTIES_AT_FIRST) * (LOOSEST - slack) / (LOOSEST - 1)
        weights = {
            name: weight * (grown if weight < 0 and name != "termination" else 1.0) for name, weight in WEIGHTS.items()
        }
        return Verdict({name: weights[name] * term for name, term in terms.items()}, ends)

    def reward_terms(self, moment: Moment, failed: np.ndarray) -> dict[str, np.ndarray]:
        """Each term, unweighted, (N,)."""
        robot = moment.robot
        feet_quat, root_quat = robot.body_quat_w[:, self.rows.feet], robot.body_quat_w[:, :1]
        tilt = apply_inverse(feet_quat, np.array([0.0, 0.0, -1.0]))[..., :2]
        speed_m_s = np.linalg.norm(robot.body_lin_vel_w[:, self.rows.feet], axis=-1)
        return {
            **nearness(robot, moment.frame, self.rows),
            "joint_limits": beyond_limits_rad(robot.joint_pos, self.soft_limits_rad),
            "torque_limits": beyond_torque_nm(moment.torque_nm, self.effort_nm),
            "torques": (moment.torque_nm**2).sum(axis=1),
            "action_rate": ((moment.action - moment.last_action) ** 2).sum(axis=1),
            "feet_orientation": np.linalg.norm(tilt, axis=-1).sum(axis=1),
            "feet_heading": angle_between(heading(feet_quat), heading(root_quat)).sum(axis=1),
            "slippage": (speed_m_s * self._on_floor(robot)).sum(axis=1),
            "termination": failed.astype(float),
        }

    def _on_floor(self, robot: Poses) -> np.ndarray:
        """(N, feet) bool"""
        feet = self.rows.feet
        corners = apply(robot.body_quat_w[:, feet, None], self.soles_in_foot_m)
        lowest_m = robot.body_pos_w[:, feet, 2] + corners[..., 2].min(axis=-1)
        return lowest_m < ON_FLOOR_M


def pretraining_terms(robot: TrackedRobot) -> PretrainingTerms:
    description = robot.description
    return PretrainingTerms(
        rows=body_rows(robot),
        anchor=description.tracked_links.index(description.anchor),
        soft_limits_rad=robot.soft_limits_rad,
        effort_nm=robot.effort_nm,
        soles_in_foot_m=np.stack([_corners_m(robot, foot) for foot in description.feet.values()]),
    )


def _corners_m(robot: TrackedRobot, foot: str) -> np.ndarray:
    """(4, 3) of the sole in the foot's frame."""
    centre, front, left = sole_points_in_foot_m(robot.model, robot.model.body(foot).id)
    forwards, sideways = front - centre, left - centre
    return np.array([centre + x * forwards + y * sideways for x in (1, -1) for y in (1, -1)])
