"""Controller, step six: the best guess of the full state from one noisy observation and the last target.

In: the linear model, full-state gains K, what the sensors show C and how noisy they are. Out: F[t], the gain on what is
observed and on what the last target was off by. That target is the policy's only memory: it was computed from the
observation before this one, so it says something about the state too, and the regression on both filters the
sensors' noise. It also goes on acting until the new one arrives, a physics step or so later: the gain is on where
the state will be then. With z = (x, p, d), x the error of the state, p that of the last target and d moments on the
torso that stay, o = C_z z the observation of x and p with noise N, and the covariance P of z in the closed loop,

    M = P C_zᵀ (C_z P C_zᵀ + N)⁻¹,   F = (K L) S M,   S = (A_d  B_d  E_d; 0  0  1),
    P[t] = G (P + W) Gᵀ + H N Hᵀ,   G = ((A_r  E_r) S; 0; d ↦ d) − H C_z,   H = (B_r; 1; 0) F,

where A_d, B_d, E_d are the step until the new target acts and A_r, B_r, E_r the rest of it. Nobody sees d either: a
robot whose centre of mass is not where its model has it leans, and its targets are off for as long; so the regression
finds d, and L takes it back (offset-free tracking). Nothing measures the root's position
and velocity; the regression finds them from soles that stay where they are, and trusts encoders, gyroscope and
orientation by their noise. Disturbances W are those that the soles leave free: nothing but a step moves a foot that
rests.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.linalg import block_diag, cho_factor, cho_solve

from haloid.skills.controller.contacts import SoleContacts
from haloid.skills.controller.linear_model import OFFSETS, LinearModel
from haloid.trajectories.mujoco_states import ModelStates


@dataclass(frozen=True)
class Noise:
    """Standard deviations; mjlab's uniform observation noise by default, and disturbances of every control step."""

    torso_rad: float = 0.03
    gyro_rad_s: float = 0.115
    joint_rad: float = 0.008
    joint_vel_rad_s: float = 0.29
    tip_rad: float = 0.005
    """Of the feet on the floor: the whole robot turns with them about the middle of the soles that rest."""
    tip_return: float = 0.01
    """Share of a tip that the floor takes back in a physics step."""
    push_m: float = 0.002
    push_rad: float = 0.005
    push_m_s: float = 0.013
    push_rad_s: float = 0.045
    push_joint_rad: float = 0.003
    push_joint_rad_s: float = 0.1
    offset_nm: float = 1.5
    """Moment on the torso, about the world's x and y, of a centre of mass and a load that are not where the model has
    them: it stays."""
    target_rad: float = 0.003
    """How much targets differ from what this controller computes: the network's corrections."""


DELAY_PHYSICS_STEPS = 1
"""Until a target acts. Robots have some delay, and assuming one does no harm where there is none."""
READ_BACK_RAD = 1e-3
"""How exactly the last target is known; more than 0, for the regression."""


def observation_matrix(model: mujoco.MjModel, data: mujoco.MjData, anchor: str) -> np.ndarray:
    """(6 + 2 n, 2 nv) C: the anchor's rotation in its axes, root angular velocity, joints, their velocities."""
    nv, n = model.nv, model.nv - 6
    torso_id = model.body(anchor).id
    rotation = np.zeros((3, nv))
    mujoco.mj_jacBody(model, data, None, rotation, torso_id)
    matrix = np.zeros((6 + 2 * n, 2 * nv))
    matrix[:3, :nv] = data.xmat[torso_id].reshape(3, 3).T @ rotation
    matrix[3:6, nv + 3 : nv + 6] = np.eye(3)
    matrix[6 : 6 + n, 6:nv] = np.eye(n)
    matrix[6 + n :, nv + 6 :] = np.eye(n)
    return matrix


def observed_gains(
    model: mujoco.MjModel,
    reference: ModelStates,
    contacts: SoleContacts,
    linear: LinearModel,
    gains: np.ndarray,
    observed: np.ndarray,
    noise: Noise,
    settle_steps: int = 60,
) -> np.ndarray:
    """(T, nu, 6 + 2 n + nu) gains on the observed errors and on the last target's."""
    n, nu, size = model.nv - 6, model.nu, 2 * model.nv
    sensors = (noise.torso_rad, noise.gyro_rad_s, noise.joint_rad, noise.joint_vel_rad_s, READ_BACK_RAD)
    of_sensors = np.diag(np.repeat(sensors, [3, 3, n, n, nu]) ** 2)
    places = (noise.push_m, noise.push_rad, noise.push_joint_rad)
    pushes = (*places, noise.push_m_s, noise.push_rad_s, noise.push_joint_rad_s)
    of_pushes = np.diag(np.repeat(pushes, [3, 3, n, 3, 3, n]) ** 2)
    covariance = block_diag(10 * of_pushes, np.zeros((nu, nu)), noise.offset_nm**2 * np.eye(OFFSETS))
    stays = np.eye(size + nu + OFFSETS)[size + nu :]
    output = np.empty((len(reference), nu, len(of_sensors)))
    tips = noise.tip_rad * tipping(model, reference, contacts)
    for frame in [1] * settle_steps + list(range(1, len(reference))):
        c = np.asarray(block_diag(observed[frame], np.eye(nu), np.zeros((0, OFFSETS))))
        seen = covariance @ c.T
        regression = cho_solve(cho_factor(c @ seen + of_sensors), seen.T).T
        when_it_acts = np.vstack([np.hstack(linear.over(frame, DELAY_PHYSICS_STEPS)), stays])
        rest_state, rest_inputs = linear.over(frame, linear.physics_steps - DELAY_PHYSICS_STEPS)
        output[frame] = gains[frame] @ when_it_acts @ regression
        by_target = np.vstack([rest_inputs[:, :nu], np.eye(nu), np.zeros((OFFSETS, nu))])
        reaction = by_target @ output[frame]
        rest = np.hstack([rest_state, rest_inputs[:, nu:]])
        grown = np.vstack([rest @ when_it_acts, np.zeros((nu, size + nu + OFFSETS)), stays]) - reaction @ c
        free = block_diag(linear.free_part[frame], linear.free_part[frame])
        covariance[:size, :size] += free @ of_pushes @ free.T
        covariance = grown @ covariance @ grown.T + reaction @ of_sensors @ reaction.T
        covariance += noise.target_rad**2 * by_target @ by_target.T
        covariance[:size, :size] += tips[frame] @ tips[frame].T
    output[0] = output[1]
    return output


def tipping(model: mujoco.MjModel, reference: ModelStates, contacts: SoleContacts) -> np.ndarray:
    """(T, 2 nv, 2) turns of the whole robot about the world's x and y axes through its support, a radian each; a
    clamped robot does not tip."""
    directions = np.zeros((len(reference), 2 * model.nv, 2))
    if contacts.held.any():
        return directions
    data = mujoco.MjData(model)
    for frame, weight in enumerate(contacts.weight):
        if weight.sum() > 0:
            data.qpos[:] = reference.qpos[frame]
            mujoco.mj_kinematics(model, data)
            arm_m = data.qpos[:3] - weight @ data.geom_xpos[contacts.geom_ids] / weight.sum()
            for column, axis in enumerate(np.eye(3)[:2]):
                directions[frame, :3, column] = np.cross(axis, arm_m)
                directions[frame, 3:6, column] = data.xmat[model.jnt_bodyid[0]].reshape(3, 3).T @ axis
    return directions
