"""Controller, step five: time-varying linear-quadratic feedback about the reference.

In: the linear model of every control step and the reference's kinematics. Out: gains with u = K[t] (reference −
measured) − L[t] d of the full state and of moments d that stay. They minimise Σ xᵀQx + uᵀRu by the backward Riccati
recursion

    (K[t], L[t]) = (R + BᵀPB + DᵀD)⁻¹ (BᵀPA + DᵀC, Bᵀ(PE + S) + DᵀF),
    P[t−1] = Q + (A − BK)ᵀ P (A − BK) + KᵀRK + (C − DK)ᵀ(C − DK),
    S[t−1] = (A − BK)ᵀ (P(E − BL) + S) + KᵀRL + (C − DK)ᵀ(F − DL),

started with the converged P and S of the last frame: S d is the slope of the cost that d leaves to go. Q counts what
matters to a robot on its feet: the centre of mass over the soles that rest, the torso's orientation, every joint; R
counts torques (kp·u) against the motors' limits; Cx + Du + Fd are the changes of the soles' forces against the loads
they bear, since a foot pressed at its edge tips.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.linalg import cho_factor, cho_solve

from haloid.skills.controller.contacts import SoleContacts
from haloid.skills.controller.inverse_dynamics import ReferenceForces, sole_jacobians
from haloid.skills.controller.linear_model import OFFSETS, LinearModel
from haloid.trajectories.mujoco_states import ModelStates


@dataclass(frozen=True)
class FeedbackWeights:
    """One over the error that counts as much as any other, squared."""

    com_m: float = 0.008
    com_vel_m_s: float = 0.09
    torso_rad: float = 0.3
    torso_vel_rad_s: float = 0.75
    joint_rad: float = 0.4
    joint_vel_rad_s: float = 9.5
    torque_of_limit: float = 0.1
    """Share of a motor's torque limit."""
    sole_force_of_load: float = 0.6
    """Change of a sole's force as a share of the load it bears: feet must neither tip nor slip."""
    settle_steps: int = 100
    """Riccati steps at the last frame before the recursion goes backwards."""


def feedback_gains(
    model: mujoco.MjModel,
    anchor: str,
    reference: ModelStates,
    contacts: SoleContacts,
    forces: ReferenceForces,
    linear: LinearModel,
    weights: FeedbackWeights,
) -> np.ndarray:
    """(T, nu, 2 nv + 2) K and L of every control step; `anchor` is the torso, whose rotation counts."""
    frames, size, nu = len(reference), 2 * model.nv, model.nu
    limit_nm = weights.torque_of_limit * model.actuator_forcerange[:, 1]
    torque_cost = np.diag((model.actuator_gainprm[:, 0] / limit_nm) ** 2)
    gains = np.empty((frames, nu, size + OFFSETS))
    data = mujoco.MjData(model)
    cost_to_go, slope_to_go = np.zeros((size, size)), np.zeros((size, OFFSETS))
    for frame in [frames - 1] * weights.settle_steps + list(range(frames - 1, 0, -1)):
        cost_to_go = cost_to_go + state_cost(model, anchor, data, reference.qpos[frame], contacts, frame, weights)
        a, b, e = linear.state[frame], linear.inputs[frame][:, :nu], linear.inputs[frame][:, nu:]
        scale = 1 / (weights.sole_force_of_load * _loads_n(forces.sole_force_w_n[frame]))
        scale[np.repeat(contacts.held, 3)] = 0.0
        by_state, by_inputs = scale * linear.force_by_state[frame], scale * linear.force_by_inputs[frame]
        by_control, by_offset = by_inputs[:, :nu], by_inputs[:, nu:]
        quadratic = torque_cost + b.T @ cost_to_go @ b + by_control.T @ by_control
        ahead = np.hstack([cost_to_go @ a, cost_to_go @ e + slope_to_go])
        gains[frame] = cho_solve(cho_factor(quadratic), b.T @ ahead + by_control.T @ np.hstack([by_state, by_offset]))
        gain, of_offset = gains[frame][:, :size], gains[frame][:, size:]
        closed, force = a - b @ gain, by_state - by_control @ gain
        slope_to_go = closed.T @ (cost_to_go @ (e - b @ of_offset) + slope_to_go) + gain.T @ torque_cost @ of_offset
        slope_to_go += force.T @ (by_offset - by_control @ of_offset)
        cost_to_go = closed.T @ cost_to_go @ closed + gain.T @ torque_cost @ gain + force.T @ force
    gains[0] = gains[1]
    return gains


def _loads_n(sole_force_w_n: np.ndarray) -> np.ndarray:
    """(3 s, 1) the normal load of each sole, at least a quarter of the mean: the scale of its forces' changes."""
    normal = sole_force_w_n[:, 2]
    bearing = np.count_nonzero(normal > 1e-3)
    least_n = 0.25 * normal.sum() / max(bearing, 1) + 1.0
    return np.repeat(np.maximum(normal, least_n), 3)[:, None]


def state_cost(
    model: mujoco.MjModel,
    anchor: str,
    data: mujoco.MjData,
    qpos: np.ndarray,
    contacts: SoleContacts,
    frame: int,
    weights: FeedbackWeights,
) -> np.ndarray:
    """(2 nv, 2 nv) Q of a frame."""
    nv, joints = model.nv, slice(6, model.nv)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    com, torso = np.zeros((3, nv)), np.zeros((3, nv))
    mujoco.mj_jacSubtreeCom(model, data, com, 1)
    mujoco.mj_jacBody(model, data, None, torso, model.body(anchor).id)
    weight = contacts.weight[frame]
    if weight.sum() > 0:
        soles = np.einsum("s,sij->ij", weight / weight.sum(), sole_jacobians(model, data, contacts.geom_ids))
        com = com - min(1.0, weight.sum()) * soles
    cost = np.zeros((2 * nv, 2 * nv))
    place, rate = slice(0, nv), slice(nv, 2 * nv)
    cost[place, place] = com.T @ com / weights.com_m**2 + torso.T @ torso / weights.torso_rad**2
    cost[rate, rate] = com.T @ com / weights.com_vel_m_s**2 + torso.T @ torso / weights.torso_vel_rad_s**2
    cost[place, place][joints, joints] += np.eye(nv - 6) / weights.joint_rad**2
    cost[rate, rate][joints, joints] += np.eye(nv - 6) / weights.joint_vel_rad_s**2
    return cost
