"""Own motions, flight: the pelvis turns such that the robot's angular momentum about its centre of mass is constant.

In: poses and the rows in flight. Out: rotation vectors θ to turn the pelvis by. In flight θ' = −I⁻¹ (L − L₀), with the
robot's inertia I about its centre of mass and the constant L₀ for which θ is 0 at take-off and at landing; on the
ground before and after, a smooth bump leads to and from the rate that θ has there. Repeated, it converges with the rest
of `balance.py`.
"""

import mujoco
import numpy as np
from scipy.interpolate import BPoly

_GAIN = np.array([2.2, 2.2, 1.0])
"""The feet keep their poses, so that turning the pelvis turns only a part of the inertia; in roll and pitch, half."""
_LEAD_S = 0.4
"""How long the bump on the ground lasts: somewhat longer than the push for a jump."""


def turn_to_keep_momentum(
    model: mujoco.MjModel, qpos: np.ndarray, momentum: np.ndarray, in_flight: np.ndarray, times_s: np.ndarray
) -> np.ndarray:
    """(T, 3) rotation vectors in the world's axes; `momentum` is (T, 3) about the centre of mass."""
    turn_rad = np.zeros((len(qpos), 3))
    rows = np.flatnonzero(in_flight)
    if not len(rows):
        return turn_rad
    inverse = np.linalg.inv([_inertia_about_com(model, qpos[row]) for row in rows])
    turning = np.einsum("tij,tj->ti", inverse, momentum[rows])
    kept = np.linalg.solve(_mean(inverse), _mean(turning))
    step_s = times_s[1] - times_s[0]
    rate = -_GAIN * (turning - inverse @ kept)
    turn_rad[rows] = np.concatenate([np.zeros((1, 3)), np.cumsum(0.5 * (rate[1:] + rate[:-1]), axis=0) * step_s])
    still = np.zeros((1, 3, 3))
    take_off_s, landing_s = times_s[rows[0]], times_s[rows[-1]]
    for moment_s, at_rate, knots in (
        (take_off_s, rate[0], (take_off_s - _LEAD_S, take_off_s)),
        (landing_s, rate[-1], (landing_s, landing_s + _LEAD_S)),
    ):
        moving = np.stack([np.zeros(3), at_rate, np.zeros(3)])[None]
        ends = [still, moving] if moment_s == knots[1] else [moving, still]
        around = (times_s >= knots[0]) & (times_s <= knots[1]) & ~in_flight
        turn_rad[around] = BPoly.from_derivatives(knots, np.concatenate(ends))(times_s[around])
    return turn_rad


def _mean(values: np.ndarray) -> np.ndarray:
    """Over time, by trapezoids."""
    return (values.sum(axis=0) - 0.5 * (values[0] + values[-1])) / (len(values) - 1)


def _inertia_about_com(model: mujoco.MjModel, qpos: np.ndarray) -> np.ndarray:
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    total = np.zeros((3, 3))
    for body in range(1, model.nbody):
        axes = data.ximat[body].reshape(3, 3)
        arm = data.xipos[body] - data.subtree_com[1]
        total += axes @ np.diag(model.body_inertia[body]) @ axes.T
        total += model.body_mass[body] * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return total
