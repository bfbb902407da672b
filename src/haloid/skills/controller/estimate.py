"""Controller, step six: the best guess of the full state from one noisy observation.

In: the linear model, full-state gains K, what the sensors show C and how noisy they are. Out: L[t], the linear
regression of the state on the observation, and so the gain K L on what is observed. With the covariance P of the state
errors of the closed loop,

    L = P Cᵀ (C P Cᵀ + N)⁻¹,   P[t] = G (P + W) Gᵀ + H N Hᵀ,   G = A − H C,   H = B K L.

Nothing measures the root's position and velocity; the regression finds them from soles that stay where they are, and
trusts encoders, gyroscope and orientation by their noise. Disturbances W are those that the soles leave free: nothing
but a step moves a foot that rests.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.linalg import block_diag, cho_factor, cho_solve

from haloid.skills.controller.contacts import SoleContacts
from haloid.skills.controller.linear_model import LinearModel
from haloid.skills.controller.reference import ReferenceStates


@dataclass(frozen=True)
class Noise:
    """Standard deviations; mjlab's uniform observation noise by default, and disturbances of every control step."""

    torso_rad: float = 0.03
    gyro_rad_s: float = 0.115
    joint_rad: float = 0.008
    joint_vel_rad_s: float = 0.29
    tip_rad: float = 0.02
    """Of the feet on the floor: the whole robot turns with them about the middle of the soles that rest."""
    tip_return: float = 0.01
    """Share of a tip that the floor takes back in a physics step."""
    push_m: float = 0.002
    push_rad: float = 0.005
    push_m_s: float = 0.013
    push_rad_s: float = 0.045
    push_joint_rad: float = 0.003
    push_joint_rad_s: float = 0.1


def observation_matrix(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """(6 + 2 n, 2 nv) C: torso rotation in its axes, pelvis angular velocity, joints, their velocities."""
    nv, n = model.nv, model.nv - 6
    torso_id = model.body("torso_link").id
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
    reference: ReferenceStates,
    contacts: SoleContacts,
    linear: LinearModel,
    gains: np.ndarray,
    observed: np.ndarray,
    noise: Noise,
    settle_steps: int = 60,
) -> np.ndarray:
    """(T, nu, 6 + 2 n) gains on the observed errors."""
    n = model.nv - 6
    sensors = (noise.torso_rad, noise.gyro_rad_s, noise.joint_rad, noise.joint_vel_rad_s)
    of_sensors = np.diag(np.repeat(sensors, [3, 3, n, n]) ** 2)
    places = (noise.push_m, noise.push_rad, noise.push_joint_rad)
    pushes = (*places, noise.push_m_s, noise.push_rad_s, noise.push_joint_rad_s)
    of_pushes = np.diag(np.repeat(pushes, [3, 3, n, 3, 3, n]) ** 2)
    covariance, output = 10 * of_pushes, np.empty((len(reference), model.nu, len(of_sensors)))
    tips = noise.tip_rad * tipping(model, reference, contacts)
    for frame in [1] * settle_steps + list(range(1, len(reference))):
        c = observed[frame]
        seen = covariance @ c.T
        regression = cho_solve(cho_factor(c @ seen + of_sensors), seen.T).T
        output[frame] = gains[frame] @ regression
        reaction = linear.control[frame] @ output[frame]
        grown = linear.state[frame] - reaction @ c
        free = block_diag(linear.free_part[frame], linear.free_part[frame])
        covariance = grown @ (covariance + free @ of_pushes @ free.T) @ grown.T + reaction @ of_sensors @ reaction.T
        covariance += tips[frame] @ tips[frame].T
    output[0] = output[1]
    return output


def tipping(model: mujoco.MjModel, reference: ReferenceStates, contacts: SoleContacts) -> np.ndarray:
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
