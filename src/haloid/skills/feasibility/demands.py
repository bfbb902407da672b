"""Feasibility, first step: what a motion asks of a robot and of the floor, frame by frame.

In: a robot with its load, on a floor, and reference states. Out: `Demands`, by the inverse dynamics of the whole model
(controller/inverse_dynamics.py, controller/rebalance.py): joint torques as parts of their limits, how far the
zero-moment point lies outside the soles that rest, the friction that the floor must have, and how far the motion is
from free fall where nothing touches the floor. The robot is not rebalanced: the motion is judged as it is.
"""

from dataclasses import dataclass, replace

import mujoco
import numpy as np
from scipy.ndimage import median_filter

from haloid.skills.controller.contacts import SoleContacts, sole_contacts
from haloid.skills.controller.inverse_dynamics import reference_forces, without_contacts
from haloid.skills.controller.rebalance import Margin, support_of, zero_moment_points
from haloid.trajectories.mujoco_states import ModelStates

SUSTAINED = 5
"""Frames of the running median: what lasts for less than half of them, 0.05 s, no servo and no foot would follow."""
_BORNE = 0.3
"""Of the weight: with less on the ground, neither zero-moment point nor friction means much."""


@dataclass(frozen=True)
class Demands:
    """Of every frame, (T, …); peaks shorter than 0.05 s are left out."""

    torque_of_limit: np.ndarray
    """(T, n) in the order of the model's actuators."""
    outside_m: np.ndarray
    """(T,) from the zero-moment point to the soles that rest."""
    friction: np.ndarray
    """(T,) horizontal over vertical force of the floor."""
    not_falling_g: np.ndarray
    """(T,) in flight, the acceleration that no force explains, in units of gravity; 0 on the ground."""
    contacts: SoleContacts


def demands_of(model: mujoco.MjModel, reference: ModelStates) -> Demands:
    """`model` drives its joints with torque-limited servos and stands on soles of spheres."""
    contacts = sole_contacts(model, reference)
    forces = reference_forces(model, reference, contacts)
    free_model = without_contacts(model)
    point = zero_moment_points(free_model, reference)
    torque_of_limit = np.abs(forces.joint_torque_nm) / model.actuator_forcerange[:, 1]
    support = support_of(model, reference, whole(contacts), Margin(0.0, 0.0))
    outside_m = np.linalg.norm(support.missing_m(point), axis=1)
    on_ground = contacts.resting.any(axis=1)
    borne = on_ground & (point.load > _BORNE)
    friction = np.where(borne, point.sideways / np.maximum(point.load, _BORNE), 0.0)
    not_falling_g = np.where(on_ground, 0.0, np.hypot(point.load, point.sideways))
    if contacts.held.any():  # a clamp gives whatever force is asked of it
        outside_m, friction = np.zeros_like(outside_m), np.zeros_like(friction)
    return Demands(
        torque_of_limit=_sustained(torque_of_limit),
        outside_m=_sustained(outside_m),
        friction=_sustained(friction),
        not_falling_g=_sustained(not_falling_g),
        contacts=contacts,
    )


def whole(contacts: SoleContacts) -> SoleContacts:
    """The same without ramps: a sole that rests bears what it is asked to."""
    return replace(contacts, weight=contacts.resting.astype(float))


def _sustained(values: np.ndarray) -> np.ndarray:
    return median_filter(values, size=(SUSTAINED,) + (1,) * (values.ndim - 1), mode="nearest")
