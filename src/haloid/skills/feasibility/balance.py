"""Feasibility, balance: a motion whose zero-moment point leaves the soles is moved until it stays inside.

In: reference states on a model with its load, feet that stand flat on the floor. Out: the same states with the pelvis
moved over the support, as controller/rebalance.py does it (d − h d'' = r, Kajita et al. 2003), but as far as it takes,
and lowered where a leg would be too short. Feet that stand stay where they are.
"""

from dataclasses import dataclass, replace

import mujoco
import numpy as np

from haloid.motions.leg_kinematics import SIDES, LegKinematics
from haloid.motions.own.balance import com_of_zmp
from haloid.motions.repair import lowering_for_legs_m
from haloid.robots.description import Robot
from haloid.skills.controller.contacts import SoleContacts
from haloid.skills.controller.inverse_dynamics import without_contacts
from haloid.skills.controller.rebalance import (
    GOAL,
    PELVIS_PER_COM,
    SETTLED_M,
    along_with_pelvis,
    support_of,
    with_positions,
    zero_moment_points,
)
from haloid.trajectories.mujoco_states import ModelStates

MOST_M = 0.25
"""The largest offset of the pelvis: about a step."""
_ROUNDS = 12


@dataclass(frozen=True)
class Balanced:
    states: ModelStates
    shift_m: np.ndarray
    """(T, 2) of the pelvis."""
    lowering_m: np.ndarray
    """(T,) of the pelvis."""


def balanced(model: mujoco.MjModel, robot: Robot, reference: ModelStates, contacts: SoleContacts) -> Balanced:
    """The best of a few rounds, by how far the zero-moment point stays outside the soles, drawn in by a margin."""
    free_model, contacts = without_contacts(model), _somewhere(contacts)
    support = support_of(model, reference, contacts, GOAL)
    mover = _Mover(model, robot, reference, contacts)
    found = best = Balanced(reference, np.zeros((len(reference), 2)), np.zeros(len(reference)))
    least_m2 = np.inf
    for _ in range(_ROUNDS):
        point = zero_moment_points(free_model, found.states)
        missing_m = support.missing_m(point)
        missing_m2 = float((missing_m**2).sum())
        if missing_m2 < least_m2:
            best, least_m2 = found, missing_m2
        if np.abs(missing_m).max() < SETTLED_M:
            break
        com_m = com_of_zmp(missing_m, point.height_s2, ~support.is_borne(point), reference.step_s)
        found = mover.moved(found.shift_m + PELVIS_PER_COM * com_m)
    return best


def _somewhere(contacts: SoleContacts) -> SoleContacts:
    """The soles that surely rest, and where none does those that rest at all: every frame has its support."""
    surely = contacts.weight > 0.5
    return replace(contacts, weight=(surely | (contacts.resting & ~surely.any(axis=1, keepdims=True))).astype(float))


class _Mover:
    """Moves the pelvis of a reference and lowers it where a leg is too short, its feet in place."""

    def __init__(self, model: mujoco.MjModel, robot: Robot, reference: ModelStates, contacts: SoleContacts):
        self.reference, self.legs = reference, LegKinematics(model, robot)
        poses = {side: [self.legs.foot_pose(side, qpos) for qpos in reference.qpos] for side in SIDES}
        self.feet_w_m = {side: np.array([pos for pos, _ in poses[side]]) for side in SIDES}
        self.feet_quat = {side: np.array([quat for _, quat in poses[side]]) for side in SIDES}
        self.along = {side: along_with_pelvis(model, robot.feet[side], contacts, reference.step_s) for side in SIDES}

    def moved(self, shift_m: np.ndarray) -> Balanced:
        """The reference with its pelvis moved by (T, 2)."""
        size_m = np.linalg.norm(shift_m, axis=1, keepdims=True)
        shift_m = shift_m * (MOST_M / np.maximum(size_m, MOST_M))
        qpos = self.reference.qpos.copy()
        qpos[:, :2] += shift_m
        sideways_m = np.append(shift_m, np.zeros((len(shift_m), 1)), axis=1)
        feet_w_m = {side: self.feet_w_m[side] + self.along[side][:, None] * sideways_m for side in SIDES}
        is_moved = np.abs(shift_m).max(axis=1) > 1e-9
        lowering_m = lowering_for_legs_m(
            self.legs, qpos, feet_w_m, {side: is_moved for side in SIDES}, 1.0 / self.reference.step_s
        )
        qpos[:, 2] -= lowering_m
        for side in SIDES:
            for row in np.flatnonzero(is_moved | (lowering_m > 1e-9)):
                qpos[row], _ = self.legs.nearest(side, qpos[row], feet_w_m[side][row], self.feet_quat[side][row])
        return Balanced(with_positions(self.reference, qpos), shift_m, lowering_m)
