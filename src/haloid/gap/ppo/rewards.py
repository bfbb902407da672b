"""Delta action by PPO, what is good: ASAP's Table II.

In: where the simulated robots are, where the recording says they were, the network's outputs. Out: each term, (N,),
unweighted; the reward of a control step is Σ weight·term·Δt. The tracking terms are those of skills/asap/tracking.py.

| term | weight | |
| --- | --- | --- |
| body_pos, three_points, feet | 1 | |
| body_rot, body_vel, body_ang_vel, joint_pos, joint_vel | 0.5 | |
| action_norm | −0.1 | exp(‖a‖) − 1 |
| action_rate | −0.01 | ‖a − a_last‖² |
| joint_limits | −10 | rad beyond the soft limits, summed |
| torque_limits | −0.1 | N·m beyond 0.825 of the limits, summed |
| termination | −200 | 1 where the simulation diverged; nothing else ends a replay early |

The action norm is the code's, which penalises; the paper's formula with its weight rewards large actions. Table II's
limits of joint velocities are left out: the models here state none.
"""

from __future__ import annotations

import numpy as np

from haloid.skills.asap.tracking import BodyRows, beyond_limits_rad, beyond_torque_nm, nearness
from haloid.skills.task.reference import Poses

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
GREATEST_NORM = 10.0
"""exp(‖a‖) is cut off here: one wild output is not to be all that a batch is about."""


def reward_terms(
    now: Poses,
    real: Poses,
    rows: BodyRows,
    action: np.ndarray,
    last_action: np.ndarray,
    soft_limits_rad: np.ndarray,
    torque_nm: np.ndarray,
    effort_nm: np.ndarray,
    diverged: np.ndarray,
) -> dict[str, np.ndarray]:
    """`torque_nm` is (N, n) what the servos are asked for, `action` the network's outputs."""
    norm = np.minimum(np.linalg.norm(action, axis=1), GREATEST_NORM)
    return {
        **nearness(now, real, rows),
        "action_norm": np.exp(norm) - 1.0,
        "action_rate": ((action - last_action) ** 2).sum(axis=1),
        "joint_limits": beyond_limits_rad(now.joint_pos, soft_limits_rad),
        "torque_limits": beyond_torque_nm(torque_nm, effort_nm),
        "termination": diverged.astype(float),
    }
