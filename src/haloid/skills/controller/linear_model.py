"""Controller, step four: how a small error of the state grows over one control step, with the stance soles held.

In: reference states, contacts, forces. Out: for every control step the matrices of

    x[t] = A x[t−1] + B u,

x = (pose error in MuJoCo's tangent coordinates, velocity error), u = change of the servo targets. Without constraints
they are finite differences of MuJoCo's own step, servos and the floor's forces on the soles included. Soles that rest
then keep their places: impulses λ at the soles, v⁺ ← v⁺ + M⁻¹Jᵀλ, bring J v⁺ to −r J q / h, so that a displaced sole
returns by the share r in a step of h. Along the floor r is 0: a foot that was put down beside its mark stays there, and
a model in which it came back would have the robot lean on a support it does not have. The limits of the
friction cones are assumed to be far away.
"""

from dataclasses import dataclass

import mujoco
import numpy as np

from haloid.skills.controller.contacts import SoleContacts
from haloid.skills.controller.inverse_dynamics import (
    ReferenceForces,
    put_in_the_middle,
    sole_jacobians,
    without_contacts,
)
from haloid.trajectories.mujoco_states import ModelStates

_SOFTNESS = 1e-4
"""1/kg, added to the soles' inverse inertia: four points of a rigid foot are redundant."""
_DIFFERENCE = 1e-6


@dataclass(frozen=True)
class LinearModel:
    """The control step that ends in frame t, linearised at its middle; row 0 repeats row 1."""

    state: np.ndarray
    """(T, 2 nv, 2 nv) A"""
    control: np.ndarray
    """(T, 2 nv, nu) B"""
    physics_state: np.ndarray
    """(T, 2 nv, 2 nv) the same of a single physics step, of which the control step has `physics_steps`."""
    physics_control: np.ndarray
    """(T, 2 nv, nu)"""
    physics_steps: int
    force_by_state: np.ndarray
    """(T, 3 s, 2 nv) change of the floor's forces on the soles, world axes, by an error of the state with soles in
    place; 0 for soles that do not rest."""
    force_by_control: np.ndarray
    """(T, 3 s, nu)"""
    free_part: np.ndarray
    """(T, nv, nv) 1 − M⁻¹Jᵀ(J M⁻¹Jᵀ)⁻¹J: what remains of a sudden change when the soles do not give way."""

    def over(self, frame: int, physics_steps: int) -> tuple[np.ndarray, np.ndarray]:
        """A and B over a part of the control step."""
        state, control = np.eye(self.state.shape[1]), np.zeros(self.control.shape[1:])
        for _ in range(physics_steps):
            state = self.physics_state[frame] @ state
            control = self.physics_state[frame] @ control + self.physics_control[frame]
        return state, control


def linear_model(
    model: mujoco.MjModel,
    reference: ModelStates,
    contacts: SoleContacts,
    forces: ReferenceForces,
    target_rad: np.ndarray,
    tip_return: float,
) -> LinearModel:
    """A and B of every control step about the reference; `tip_return` is r upwards, for feet that tip."""
    free_model = without_contacts(model)
    free_model.dof_frictionloss[:] = 0.0  # a joint that sticks has no slope that would hold for a larger error
    free_model.actuator_forcelimited[:] = 0  # nor has a servo at its limit, where differences straddle the kink
    free_model.jnt_actfrclimited[:] = 0
    data = mujoco.MjData(free_model)
    substeps = max(1, round(reference.step_s / model.opt.timestep))
    size = 2 * model.nv
    state, control = np.empty((len(reference), size, size)), np.empty((len(reference), size, model.nu))
    physics_state, physics_control = np.empty_like(state), np.empty_like(control)
    soles = 3 * len(contacts.geom_ids)
    force_by_state, force_by_control = (
        np.zeros((len(reference), soles, size)),
        np.zeros((len(reference), soles, model.nu)),
    )
    free_part = np.tile(np.eye(model.nv), (len(reference), 1, 1))
    one_state, one_control = np.empty((size, size)), np.empty((size, model.nu))
    for frame in range(1, len(reference)):
        put_in_the_middle(free_model, data, reference, frame)
        data.ctrl[:] = target_rad[frame]
        mujoco.mj_kinematics(free_model, data)
        _push(free_model, data, contacts.geom_ids, forces.sole_force_w_n[frame])
        mujoco.mjd_transitionFD(free_model, data, _DIFFERENCE, False, one_state, one_control, None, None)
        mujoco.mj_forward(free_model, data)
        resting = contacts.resting[frame - 1] & contacts.resting[frame]
        rows = np.repeat(resting, 3)
        if resting.any():
            force_by_state[frame][rows], force_by_control[frame][rows], free_part[frame] = _hold(
                free_model, data, contacts.geom_ids[resting], one_state, one_control, tip_return
            )
        state[frame], control[frame] = physics_state[frame], physics_control[frame] = one_state, one_control
        for _ in range(substeps - 1):
            control[frame] = one_state @ control[frame] + one_control
            state[frame] = one_state @ state[frame]
    for values in (state, control, physics_state, physics_control, force_by_state, force_by_control, free_part):
        values[0] = values[1]
    return LinearModel(
        state, control, physics_state, physics_control, substeps, force_by_state, force_by_control, free_part
    )


def _push(model: mujoco.MjModel, data: mujoco.MjData, geom_ids: np.ndarray, force_w_n: np.ndarray) -> None:
    """Apply the floor's forces to the feet; needs mj_kinematics."""
    data.xfrc_applied[:] = 0.0
    for geom, force in zip(geom_ids, force_w_n, strict=True):
        foot = model.geom_bodyid[geom]
        point_w_m = data.geom_xpos[geom] - [0.0, 0.0, model.geom_size[geom, 0]]
        data.xfrc_applied[foot, :3] += force
        data.xfrc_applied[foot, 3:] += np.cross(point_w_m - data.xipos[foot], force)


def _hold(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    geom_ids: np.ndarray,
    state: np.ndarray,
    control: np.ndarray,
    tip_return: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add the impulses that keep the soles in place to one step's matrices, in place; needs mj_forward.

    Returns the changes of the soles' forces by an error of the state, (3 s, 2 nv), and of the control, (3 s, nu), and
    the free part of a sudden change, (nv, nv).
    """
    nv, step_s = model.nv, model.opt.timestep
    inertia = np.empty((nv, nv))
    mujoco.mj_fullM(model, data, inertia)
    inertia[6:, 6:] -= step_s * np.diag(model.actuator_biasprm[:, 2])  # the step is implicit in the servos' damping
    inertia += step_s * np.diag(model.dof_damping)
    jacobian = sole_jacobians(model, data, geom_ids).reshape(-1, nv)
    moved = np.linalg.solve(inertia, jacobian.T)
    apparent = jacobian @ moved
    impulse = np.linalg.inv(apparent + _SOFTNESS * np.eye(len(apparent)))
    accelerated = state[nv:].copy()
    accelerated[:, nv:] -= np.eye(nv)
    force_by_state = -impulse @ jacobian @ accelerated / step_s
    force_by_control = -impulse @ jacobian @ control[nv:] / step_s
    back = np.tile([0.0, 0.0, tip_return], len(geom_ids))[:, None] * jacobian / step_s
    stay = np.hstack([-back, np.zeros_like(jacobian)])
    change = moved @ impulse @ (stay - jacobian @ state[nv:])
    state[nv:] += change
    state[:nv] += step_s * change
    change = step_s * moved @ force_by_control
    control[nv:] += change
    control[:nv] += step_s * change
    return force_by_state, force_by_control, np.eye(nv) - moved @ impulse @ jacobian
