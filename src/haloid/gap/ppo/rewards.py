"""Delta action by PPO, what is good: ASAP's Table II.

In: where the simulated robots are, where the recording says they were, the network's outputs. Out: each term, (N,),
unweighted; the reward of a control step is Σ weight·term·Δt. Tracking terms are exp(−e/σ), e the mean squared error.

| term | weight | σ | e |
| --- | --- | --- | --- |
| body_pos | 1 | 0.03 upper, 0.1 lower | ½ of the legs' and all of the trunk's and arms' ‖p̂ − p‖², in the world |
| three_points | 1 | 0.03 | ‖p̂ − p‖² of the anchor and the hands |
| feet | 1 | 0.03 | ‖p̂ − p‖² of the feet |
| body_rot, body_vel, body_ang_vel | 0.5 | 1 | angle², ‖v̂ − v‖², ‖ω̂ − ω‖² of all bodies |
| joint_pos, joint_vel | 0.5 | 1 | (q̂ − q)², (q̇̂ − q̇)² |
| action_norm | −0.1 | | exp(‖a‖) − 1 |
| action_rate | −0.01 | | ‖a − a_last‖² |
| joint_limits | −10 | | rad beyond the soft limits, summed |
| torque_limits | −0.1 | | N·m beyond 0.825 of the limits, summed |
| termination | −200 | | 1 where the simulation diverged; nothing else ends a replay early |

The action norm is the code's, which penalises; the paper's formula with its weight rewards large actions. Table II's
limits of joint velocities are left out: the models here state none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haloid.skills.task.reference import Poses
from haloid.skills.task.robot import TrackedRobot
from haloid.trajectories.rotations import angle_between

WEIGHTS = {
    "body_pos": 1.0,
    "three_points": 1.0,
    "feet": 1.0,
    "body_rot": 0.5,
    "body_vel": 0.5,
    "body_ang_vel": 0.5,
    "joint_pos": 0.5,
    "joint_vel": 0.5,
    "action_norm": -0.1,
    "action_rate": -0.01,
    "joint_limits": -10.0,
    "torque_limits": -0.1,
    "termination": -200.0,
}
SOFT_TORQUE = 0.825
GREATEST_NORM = 10.0
"""exp(‖a‖) is cut off here: one wild output is not to be all that a batch is about."""


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


def reward_terms(
    now: Poses,
    real: Poses,
    rows: BodyRows,
    action: np.ndarray,
    last_action: np.ndarray,
    soft_limits_rad: np.ndarray,
    torque_use: np.ndarray,
    diverged: np.ndarray,
) -> dict[str, np.ndarray]:
    """`torque_use` is (N, n) N·m beyond the soft limits, `action` the network's outputs."""
    apart = ((now.body_pos_w - real.body_pos_w) ** 2).sum(axis=-1)
    angle = angle_between(real.body_quat_w, now.body_quat_w)
    low, high = soft_limits_rad.T
    beyond = np.maximum(low - now.joint_pos, 0) + np.maximum(now.joint_pos - high, 0)
    norm = np.minimum(np.linalg.norm(action, axis=1), GREATEST_NORM)
    return {
        "body_pos": 0.5 * _near(apart[:, rows.lower], 0.1) + _near(apart[:, rows.upper], 0.03),
        "three_points": _near(apart[:, rows.three_points], 0.03),
        "feet": _near(apart[:, rows.feet], 0.03),
        "body_rot": _near(angle**2, 1.0),
        "body_vel": _near(((now.body_lin_vel_w - real.body_lin_vel_w) ** 2).sum(axis=-1), 1.0),
        "body_ang_vel": _near(((now.body_ang_vel_w - real.body_ang_vel_w) ** 2).sum(axis=-1), 1.0),
        "joint_pos": _near((now.joint_pos - real.joint_pos) ** 2, 1.0),
        "joint_vel": _near((now.joint_vel - real.joint_vel) ** 2, 1.0),
        "action_norm": np.exp(norm) - 1.0,
        "action_rate": ((action - last_action) ** 2).sum(axis=1),
        "joint_limits": beyond.sum(axis=1),
        "torque_limits": torque_use.sum(axis=1),
        "termination": diverged.astype(float),
    }


def _near(squared: np.ndarray, sigma: float) -> np.ndarray:
    return np.exp(-squared.mean(axis=1) / sigma)
