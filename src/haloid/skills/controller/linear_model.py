"""Controller, step four: how a small error of the state grows over one control step, with the stance soles held.

In: reference states, contacts, forces. Out: for every control step the matrices of

    x[t] = A x[t−1] + B u + E d,

x = (pose error in MuJoCo's tangent coordinates, velocity error), u = change of the servo targets, d = moments on the
torso about the world's x and y, which stand for masses and centres of mass that are not where the model has them.
Without constraints the matrices are finite differences of MuJoCo's own step, servos and the floor's forces on the soles
included. Soles that rest then keep their places: impulses λ at the soles, v⁺ ← v⁺ + M⁻¹Jᵀλ, bring J v⁺ to −r J q / h,
so that a displaced sole returns by the share r in a step of h. Along the floor r is 0: a foot that was put down beside
its mark stays there, and a model in which it came back would have the robot lean on a support it does not have. The
limits of the friction cones are assumed to be far away.
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
OFFSETS = 2
"""Moments on the torso that stay: about the world's x and y axes."""


@dataclass(frozen=True)
class LinearModel:
    """The control step that ends in frame t, linearised at its middle; row 0 repeats row 1."""

    state: np.ndarray
    """(T, 2 nv, 2 nv) A"""
    inputs: np.ndarray
    """(T, 2 nv, nu + 2) B and E"""
    physics_state: np.ndarray
    """(T, 2 nv, 2 nv) the same of a single physics step, of which the control step has `physics_steps`."""
    physics_inputs: np.ndarray
    """(T, 2 nv, nu + 2)"""
    physics_steps: int
    force_by_state: np.ndarray
    """(T, 3 s, 2 nv) change of the floor's forces on the soles, world axes, by an error of the state with soles in
    place; 0 for soles that do not rest."""
    force_by_inputs: np.ndarray
    """(T, 3 s, nu + 2)"""
    free_part: np.ndarray
    """(T, nv, nv) 1 − M⁻¹Jᵀ(J M⁻¹Jᵀ)⁻¹J: what remains of a sudden change when the soles do not give way."""

    def over(self, frame: int, physics_steps: int) -> tuple[np.ndarray, np.ndarray]:
        """A, and B and E, over a part of the control step."""
        state, inputs = np.eye(self.state.shape[1]), np.zeros(self.inputs.shape[1:])
        for _ in range(physics_steps):
            state = self.physics_state[frame] @ state
            inputs = self.physics_state[frame] @ inputs + self.physics_inputs[frame]
        return state, inputs


def linear_model(
    model: mujoco.MjModel,
    anchor: str,
    reference: ModelStates,
    contacts: SoleContacts,
    forces: ReferenceForces,
    target_rad: np.ndarray,
    tip_return: float,
) -> LinearModel:
    """A, B and E of every control step about the reference; `anchor` is the torso, `tip_return` is r upwards, for feet
    that tip."""
    free_model = without_contacts(model)
    free_model.dof_frictionloss[:] = 0.0  # a joint that sticks has no slope that would hold for a larger error
    free_model.actuator_forcelimited[:] = 0  # nor has a servo at its limit, where differences straddle the kink
    free_model.jnt_actfrclimited[:] = 0
    data = mujoco.MjData(free_model)
    substeps = max(1, round(reference.step_s / model.opt.timestep))
    frames, size, number = len(reference), 2 * model.nv, model.nu + OFFSETS
    state, inputs = np.empty((frames, size, size)), np.empty((frames, size, number))
    physics_state, physics_inputs = np.empty_like(state), np.empty_like(inputs)
    soles = 3 * len(contacts.geom_ids)
    force_by_state, force_by_inputs = np.zeros((frames, soles, size)), np.zeros((frames, soles, number))
    free_part = np.tile(np.eye(model.nv), (frames, 1, 1))
    one_state, one_control = np.empty((size, size)), np.empty((size, model.nu))
    for frame in range(1, frames):
        put_in_the_middle(free_model, data, reference, frame)
        data.ctrl[:] = target_rad[frame]
        mujoco.mj_kinematics(free_model, data)
        _push(free_model, data, contacts.geom_ids, forces.sole_force_w_n[frame])
        mujoco.mjd_transitionFD(free_model, data, _DIFFERENCE, False, one_state, one_control, None, None)
        mujoco.mj_forward(free_model, data)
        one_inputs = np.hstack([one_control, _turned(free_model, data, anchor)])
        resting = contacts.resting[frame - 1] & contacts.resting[frame]
        rows = np.repeat(resting, 3)
        if resting.any():
            force_by_state[frame][rows], force_by_inputs[frame][rows], free_part[frame] = _hold(
                free_model, data, contacts.geom_ids[resting], one_state, one_inputs, tip_return
            )
        state[frame], inputs[frame] = physics_state[frame], physics_inputs[frame] = one_state, one_inputs
        for _ in range(substeps - 1):
            inputs[frame] = one_state @ inputs[frame] + one_inputs
            state[frame] = one_state @ state[frame]
    for values in (state, inputs, physics_state, physics_inputs, force_by_state, force_by_inputs, free_part):
        values[0] = values[1]
    return LinearModel(
        state, inputs, physics_state, physics_inputs, substeps, force_by_state, force_by_inputs, free_part
    )


def _push(model: mujoco.MjModel, data: mujoco.MjData, geom_ids: np.ndarray, force_w_n: np.ndarray) -> None:
    """Apply the floor's forces to the feet; needs mj_kinematics."""
    data.xfrc_applied[:] = 0.0
    for geom, force in zip(geom_ids, force_w_n, strict=True):
        foot = model.geom_bodyid[geom]
        point_w_m = data.geom_xpos[geom] - [0.0, 0.0, model.geom_size[geom, 0]]
        data.xfrc_applied[foot, :3] += force
        data.xfrc_applied[foot, 3:] += np.cross(point_w_m - data.xipos[foot], force)


def _turned(model: mujoco.MjModel, data: mujoco.MjData, anchor: str) -> np.ndarray:
    """(2 nv, 2) what 1 N·m on the torso about the world's x and y axes does in a physics step; needs mj_forward."""
    rotation = np.zeros((3, model.nv))
    mujoco.mj_jacBody(model, data, None, rotation, model.body(anchor).id)
    change = model.opt.timestep * np.linalg.solve(_inertia(model, data), rotation[:OFFSETS].T)
    return np.vstack([model.opt.timestep * change, change])


def _inertia(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    """(nv, nv) what a force in a physics step has to move; needs mj_forward."""
    inertia, step_s = np.empty((model.nv, model.nv)), model.opt.timestep
    mujoco.mj_fullM(model, data, inertia)
    inertia[6:, 6:] -= step_s * np.diag(model.actuator_biasprm[:, 2])  # the step is implicit in the servos' damping
    return inertia + step_s * np.diag(model.dof_damping)


def _hold(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    geom_ids: np.ndarray,
    state: np.ndarray,
    inputs: np.ndarray,
    tip_return: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add the impulses that keep the soles in place to one step's matrices, in place; needs mj_forward.

    Returns the changes of the soles' forces by an error of the state, (3 s, 2 nv), and by the inputs, (3 s, nu + 2),
    and the free part of a sudden change, (nv, nv).
    """
    nv, step_s = model.nv, model.opt.timestep
    inertia = _inertia(model, data)
    jacobian = sole_jacobians(model, data, geom_ids).reshape(-1, nv)
    moved = np.linalg.solve(inertia, jacobian.T)
    apparent = jacobian @ moved
    impulse = np.linalg.inv(apparent + _SOFTNESS * np.eye(len(apparent)))
    accelerated = state[nv:].copy()
    accelerated[:, nv:] -= np.eye(nv)
    force_by_state = -impulse @ jacobian @ accelerated / step_s
    force_by_inputs = -impulse @ jacobian @ inputs[nv:] / step_s
    back = np.tile([0.0, 0.0, tip_return], len(geom_ids))[:, None] * jacobian / step_s
    stay = np.hstack([-back, np.zeros_like(jacobian)])
    change = moved @ impulse @ (stay - jacobian @ state[nv:])
    state[nv:] += change
    state[:nv] += step_s * change
    change = step_s * moved @ force_by_inputs
    inputs[nv:] += change
    inputs[:nv] += step_s * change
    return force_by_state, force_by_inputs, np.eye(nv) - moved @ impulse @ jacobian
