"""ASAP, how near a robot is to where it should be: the task rewards of Tables I and II, and the limits of joints.

In: where the robots are, where they should be. Out: each term, (N,), unweighted. Tracking terms are exp(−e/σ), e the
mean squared error:

| term | σ | e |
| --- | --- | --- |
| body_pos | 0.03 upper, 0.1 lower | ½ of the legs' and all of the trunk's and arms' ‖p̂ − p‖², in the world |
| three_points | 0.03 | ‖p̂ − p‖² of the anchor and the hands |
| feet | 0.03 | ‖p̂ − p‖² of the feet |
| body_rot, body_vel, body_ang_vel | 1 | angle², ‖v̂ − v‖², ‖ω̂ − ω‖² of all bodies |
| joint_pos, joint_vel | 1 | (q̂ − q)², (q̇̂ − q̇)² |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haloid.skills.task.reference import Poses
from haloid.skills.task.robot import TrackedRobot
from haloid.trajectories.rotations import angle_between

SOFT_TORQUE = 0.825
"""Of the greatest torque."""


@dataclass(frozen=True)
class BodyRows:
    """Rows of the tracked bodies."""

    lower: np.ndarray
    upper: np.ndarray
    three_points: np.ndarray
    feet: np.ndarray


def body_rows(robot: TrackedRobot) -> BodyRows:
    links, description, model = robot.description.tracked_links, robot.description, robot.model
    legs = {model.body(model.joint(name).bodyid[0]).name for leg in description.legs.values() for name in leg}
    lower = [row for row, link in enumerate(links) if link in legs or row == 0]

    def rows(names: list[str]) -> np.ndarray:
        return np.array([links.index(name) for name in names])

    return BodyRows(
        lower=np.array(lower),
        upper=np.setdiff1d(np.arange(len(links)), lower),
        three_points=rows([description.anchor, *description.hands.values()]),
        feet=rows(list(description.feet.values())),
    )


def nearness(now: Poses, wanted: Poses, rows: BodyRows) -> dict[str, np.ndarray]:
    """The tracking terms."""
    apart = ((now.body_pos_w - wanted.body_pos_w) ** 2).sum(axis=-1)
    angle = angle_between(wanted.body_quat_w, now.body_quat_w)
    return {
        "body_pos": 0.5 * _near(apart[:, rows.lower], 0.1) + _near(apart[:, rows.upper], 0.03),
        "three_points": _near(apart[:, rows.three_points], 0.03),
        "feet": _near(apart[:, rows.feet], 0.03),
        "body_rot": _near(angle**2, 1.0),
        "body_vel": _near(((now.body_lin_vel_w - wanted.body_lin_vel_w) ** 2).sum(axis=-1), 1.0),
        "body_ang_vel": _near(((now.body_ang_vel_w - wanted.body_ang_vel_w) ** 2).sum(axis=-1), 1.0),
        "joint_pos": _near((now.joint_pos - wanted.joint_pos) ** 2, 1.0),
        "joint_vel": _near((now.joint_vel - wanted.joint_vel) ** 2, 1.0),
    }


def beyond_limits_rad(joint_pos: np.ndarray, soft_limits_rad: np.ndarray) -> np.ndarray:
    """(N,) radians beyond the soft limits, summed over the joints."""
    low, high = soft_limits_rad.T
    return (np.maximum(low - joint_pos, 0) + np.maximum(joint_pos - high, 0)).sum(axis=1)


def beyond_torque_nm(torque_nm: np.ndarray, effort_nm: np.ndarray) -> np.ndarray:
    """(N,) N·m beyond the soft limits, summed over the joints; what a servo cannot give does not count."""
    given = np.minimum(np.abs(torque_nm), effort_nm)
    return np.clip(given - SOFT_TORQUE * effort_nm, 0.0, None).sum(axis=1)


def _near(squared: np.ndarray, sigma: float) -> np.ndarray:
    return np.exp(-squared.mean(axis=1) / sigma)
