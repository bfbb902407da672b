"""Controller, step three: the torques and sole forces of the reference motion, by the inverse dynamics of the model.

In: reference states and their contacts. Out: for every control step, from frame t−1 to frame t, joint torques and
forces at the soles at the middle of the step:

    M(q) a + h(q, v) = Sᵀ τ + Jᵀ f,   f in the friction cones,

with q, v and a differences of the frames. The six rows without a motor determine f: least squares over the edges of
linearised cones, non-negative, with a small regularisation that spreads the load over the soles that rest; the cone of
a clamped sole is all of space. What f cannot explain (a reference that does not fall freely in flight) remains, and no
torque can make up for it.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.optimize import nnls

from haloid.skills.controller.contacts import SoleContacts
from haloid.trajectories.mujoco_states import ModelStates

FRICTION = 0.6
"""Of the linearised cone: what the reference may ask of a floor."""
_SPREAD = 3e-3
"""Weight of the forces' size against the residual of the root's rows: small, but unique where soles are redundant."""


@dataclass(frozen=True)
class ReferenceForces:
    """What moves the reference, for the control step that ends in frame t; row 0 repeats row 1."""

    joint_torque_nm: np.ndarray
    """(T, nv − 6) torques of the joints, in dof order."""
    sole_force_w_n: np.ndarray
    """(T, s, 3) forces of the floor on the sole spheres."""


def reference_forces(
    model: mujoco.MjModel, reference: ModelStates, contacts: SoleContacts, friction: float = FRICTION
) -> ReferenceForces:
    """Inverse dynamics of every control step of `reference`."""
    frames, joints = len(reference), model.nv - 6
    torque, force = np.zeros((frames, joints)), np.zeros((frames, len(contacts.geom_ids), 3))
    free_model = without_contacts(model)
    data = mujoco.MjData(free_model)
    for frame in range(1, frames):
        put_in_the_middle(free_model, data, reference, frame)
        mujoco.mj_inverse(free_model, data)
        jacobian = sole_jacobians(free_model, data, contacts.geom_ids)
        weight = np.minimum(contacts.weight[frame - 1], contacts.weight[frame])
        force[frame] = sole_forces(data.qfrc_inverse[:6], jacobian[:, :, :6], weight, contacts.held, friction)
        torque[frame] = (data.qfrc_inverse - np.einsum("sij,si->j", jacobian, force[frame]))[6:]
    torque[0], force[0] = torque[1], force[1]
    return ReferenceForces(torque, force)


def without_contacts(model: mujoco.MjModel) -> mujoco.MjModel:
    """A copy of the model in free space and without joint limits, which a reference may touch but must not lean on.

    Nor may it lean on a clamp: a clamped foot is treated like a standing one.
    """
    free = mujoco.MjModel.__copy__(model)
    free.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    free.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_EQUALITY
    return free


def sole_jacobians(model: mujoco.MjModel, data: mujoco.MjData, geom_ids: np.ndarray) -> np.ndarray:
    """(s, 3, nv) of the spheres' lowest points, in world axes; needs mj_comPos."""
    jacobian = np.empty((len(geom_ids), 3, model.nv))
    for row, geom in enumerate(geom_ids):
        point_w_m = data.geom_xpos[geom] - [0.0, 0.0, model.geom_size[geom, 0]]
        mujoco.mj_jac(model, data, jacobian[row], None, point_w_m, model.geom_bodyid[geom])
    return jacobian


def sole_forces(
    root_force: np.ndarray, jacobian: np.ndarray, weight: np.ndarray, held: np.ndarray, friction: float
) -> np.ndarray:
    """(s, 3) forces in the cones of soles with weight > 0 whose sum on the root is as near `root_force` as can be."""
    force = np.zeros((len(weight), 3))
    active = np.flatnonzero(weight > 0)
    if not len(active):
        return force
    slope = friction / np.sqrt(2)  # the pyramid inside the round cone
    edges = np.array([[x * slope, y * slope, 1.0] for x in (-1, 1) for y in (-1, 1)])
    everywhere = np.vstack([np.eye(3), -np.eye(3)])
    cones = [everywhere if held[sole] else edges for sole in active]
    on_root = np.hstack([jacobian[sole].T @ cone.T for sole, cone in zip(active, cones, strict=True)])
    spread = _SPREAD / np.repeat(weight[active], [len(cone) for cone in cones])
    matrix = np.vstack([on_root, np.diag(spread)])
    amount, _ = nnls(matrix, np.concatenate([root_force, np.zeros(len(spread))]), maxiter=20 * matrix.shape[1])
    ends = np.cumsum([len(cone) for cone in cones])
    for sole, cone, end in zip(active, cones, ends, strict=True):
        force[sole] = amount[end - len(cone) : end] @ cone
    return force


def put_in_the_middle(model: mujoco.MjModel, data: mujoco.MjData, reference: ModelStates, frame: int) -> None:
    """Position, velocity and acceleration half-way between two frames."""
    before, after, step_s = reference.qpos[frame - 1], reference.qpos[frame], reference.step_s
    mujoco.mj_differentiatePos(model, data.qvel, step_s, before, after)
    data.qpos[:] = before
    mujoco.mj_integratePos(model, data.qpos, data.qvel, step_s / 2)
    data.qacc[:] = (reference.qvel[frame] - reference.qvel[frame - 1]) / step_s
