"""Controller, between steps two and three: the reference is moved over its support where the model's weight requires
it.

In: reference states, their contacts and the model that is to follow them. Out: the same motion with the pelvis moved
horizontally by a smooth offset, such that the model's zero-moment point p stays inside the soles that rest. A motion
that is balanced for one robot is not for the same robot with a load; a controller that knows its model can tell.

p comes from the inverse dynamics of the whole model. The shift it needs to be well inside, r(t), becomes an offset
d(t) of the centre of mass, d − h d'' = r with h = c_z / (g + c_z'') (in flight d'' = 0), the pelvis follows, the
legs by inverse kinematics, and p is computed again (Kajita et al. 2003, the dynamics filter). Feet stay where they
were; a foot in the air for long moves with the pelvis, since its leg may be fully stretched.
"""

from dataclasses import dataclass, replace

import mujoco
import numpy as np
from scipy.ndimage import convolve1d, distance_transform_edt, minimum_filter1d

from haloid.motions.leg_kinematics import SIDES, LegKinematics
from haloid.motions.own.balance import com_of_zmp
from haloid.robots.description import Robot
from haloid.skills.controller.contacts import SoleContacts
from haloid.skills.controller.inverse_dynamics import without_contacts
from haloid.trajectories.mujoco_states import ModelStates


@dataclass(frozen=True)
class Margin:
    """How far inside a sole."""

    inward_m: float
    half_width: float
    """At most this part of the way to the middle of the sole."""


LEAST, GOAL = Margin(0.015, 0.6), Margin(0.025, 0.9)
"""A motion that keeps the least margin throughout stays as it is; one that does not is given the larger one."""
_BORNE = 0.5
"""Of the weight: with less on the ground, the zero-moment point means little."""
_ROUNDS = 4
SETTLED_M = 1e-3
PELVIS_PER_COM = 1.08
"""How far the pelvis moves per metre of the centre of mass, since the feet stay."""
_MOST_M = 0.06
"""The largest offset of the pelvis; more would be a different motion."""
_ALONG_S = (0.1, 0.4)
"""Time from the ground at which a free foot begins to move with the pelvis, and at which it moves fully with it."""
_EASE_S = 0.4
"""Over which the offset eases where a leg cannot reach."""
_REACHED = 1e-6


def rebalanced(model: mujoco.MjModel, robot: Robot, reference: ModelStates, contacts: SoleContacts) -> ModelStates:
    """`reference` with its zero-moment point inside the soles that rest; `reference` itself where it already is."""
    if contacts.held.any():  # a clamp holds the robot wherever its weight is
        return reference
    free_model = without_contacts(model)
    point = zero_moment_points(free_model, reference)
    if np.abs(support_of(model, reference, contacts, LEAST).missing_m(point)).max() < SETTLED_M:
        return reference
    support, mover = support_of(model, reference, contacts, GOAL), _Mover(model, robot, reference, contacts)
    balanced, shift_m = reference, np.zeros((len(reference), 2))
    for _ in range(_ROUNDS):
        missing_m = support.missing_m(point)
        if np.abs(missing_m).max() < SETTLED_M:
            break
        com_m = com_of_zmp(missing_m, point.height_s2, ~support.is_borne(point), reference.step_s)
        balanced, shift_m = mover.moved(shift_m + PELVIS_PER_COM * com_m)
        point = zero_moment_points(free_model, balanced)
    return balanced


@dataclass(frozen=True)
class ZeroMomentPoints:
    """Of every frame, on the floor."""

    pos_w_m: np.ndarray
    """(T, 2)"""
    height_s2: np.ndarray
    """(T,) h = c_z / (g + c_z'')"""
    load: np.ndarray
    """(T,) vertical force as a fraction of the weight"""
    sideways: np.ndarray
    """(T,) horizontal force as a fraction of the weight"""


def zero_moment_points(free_model: mujoco.MjModel, reference: ModelStates) -> ZeroMomentPoints:
    """Where the floor's reaction acts, by the inverse dynamics of the model; the ends as if at rest."""
    data, count, step_s = mujoco.MjData(free_model), len(reference), reference.step_s
    speeds = np.zeros((count + 1, free_model.nv))
    for frame in range(1, count):
        mujoco.mj_differentiatePos(free_model, speeds[frame], step_s, *reference.qpos[frame - 1 : frame + 1])
    speeds[0], speeds[-1] = speeds[1], speeds[-2]
    point_m, height_m, force_n = np.empty((count, 2)), np.empty(count), np.empty((count, 3))
    for frame in range(count):
        data.qpos[:], data.qvel[:] = reference.qpos[frame], reference.qvel[frame]
        data.qacc[:] = (speeds[frame + 1] - speeds[frame]) / step_s
        mujoco.mj_inverse(free_model, data)
        force, root = data.qfrc_inverse[:3], free_model.jnt_bodyid[0]
        torque = data.xmat[root].reshape(3, 3) @ data.qfrc_inverse[3:6] + np.cross(data.xpos[root], force)
        force_n[frame], height_m[frame] = force, data.subtree_com[root, 2]
        point_m[frame] = np.array([-torque[1], torque[0]]) / max(force[2], 1.0)
    gravity, mass_kg = -free_model.opt.gravity[2], free_model.body_subtreemass[free_model.jnt_bodyid[0]]
    load = force_n[:, 2] / (mass_kg * gravity)
    sideways = np.linalg.norm(force_n[:, :2], axis=1) / (mass_kg * gravity)
    return ZeroMomentPoints(point_m, height_m / (gravity * np.maximum(load, 0.1)), load, sideways)


@dataclass(frozen=True)
class Support:
    """The soles that rest, each sphere drawn in by the margin."""

    pos_w_m: np.ndarray
    """(T, s, 2)"""
    rests: np.ndarray
    """(T, s) bool"""

    def is_borne(self, point: ZeroMomentPoints) -> np.ndarray:
        """(T,) bool"""
        return self.rests.any(axis=1) & (point.load > _BORNE)

    def missing_m(self, point: ZeroMomentPoints) -> np.ndarray:
        """(T, 2) from the zero-moment point to the nearest point of the hull of the drawn-in spheres.

        Outside, that is the nearest point q of all chords, and no corner lies beyond the line through q across p − q.
        """
        first, second = np.triu_indices(self.pos_w_m.shape[1])
        start, along = self.pos_w_m[:, first], self.pos_w_m[:, second] - self.pos_w_m[:, first]
        offset = point.pos_w_m[:, None] - start
        part = np.clip(np.sum(offset * along, axis=2) / np.maximum(np.sum(along**2, axis=2), 1e-12), 0.0, 1.0)
        away = part[:, :, None] * along - offset
        distance = np.where(self.rests[:, first] & self.rests[:, second], np.linalg.norm(away, axis=2), np.inf)
        missing = away[np.arange(len(away)), distance.argmin(axis=1)]
        corners = self.pos_w_m - (point.pos_w_m + missing)[:, None]
        beyond = np.einsum("tsi,ti->ts", corners, -missing) > 1e-9
        inside = np.any(beyond & self.rests, axis=1)
        return np.where((self.is_borne(point) & ~inside)[:, None], missing, 0.0)


def support_of(model: mujoco.MjModel, reference: ModelStates, contacts: SoleContacts, margin: Margin) -> Support:
    """The spheres that surely rest (their weight is more than half), drawn in along and across their foot."""
    data, geoms = mujoco.MjData(model), contacts.geom_ids
    feet, rests = model.geom_bodyid[geoms], contacts.weight > 0.5
    drawn = np.empty((len(reference), len(geoms), 2))
    for frame, qpos in enumerate(reference.qpos):
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        for foot in np.unique(feet):
            of_foot = feet == foot
            heading = np.arctan2(data.xmat[foot, 3], data.xmat[foot, 0])
            ahead = np.array([np.cos(heading), np.sin(heading)])
            axes = np.array([ahead, [-ahead[1], ahead[0]]])
            points = data.geom_xpos[geoms[of_foot], :2]
            stands = rests[frame, of_foot]
            middle = points[stands].mean(axis=0) if stands.any() else points.mean(axis=0)
            from_middle = (points - middle) @ axes.T
            inward = np.minimum(margin.inward_m, margin.half_width * np.abs(from_middle))
            drawn[frame, of_foot] = middle + (from_middle - np.sign(from_middle) * inward) @ axes
    return Support(drawn, rests)


class _Mover:
    """Moves the pelvis of a reference, its feet in place."""

    def __init__(self, model: mujoco.MjModel, robot: Robot, reference: ModelStates, contacts: SoleContacts):
        self.reference, self.legs = reference, LegKinematics(model, robot)
        self.feet = {side: [self.legs.foot_pose(side, qpos) for qpos in reference.qpos] for side in SIDES}
        self.along = {side: along_with_pelvis(model, robot.feet[side], contacts, reference.step_s) for side in SIDES}
        self.allowed = np.ones(len(reference))

    def moved(self, shift_m: np.ndarray) -> tuple[ModelStates, np.ndarray]:
        """The reference with its pelvis moved by (T, 2), and the shift that remains: less where a leg cannot reach."""
        original, moved = self.reference.qpos, self.reference.qpos.copy()
        for kept in (0.5, 0.5, 0.0, 0.0):
            least = np.minimum(self.allowed, _MOST_M / np.maximum(np.linalg.norm(shift_m, axis=1), _MOST_M))
            eased_m = shift_m * _eased(least, round(_EASE_S / self.reference.step_s))[:, None]
            moved, missed = original.copy(), np.zeros(len(original), bool)
            for frame in np.flatnonzero(np.abs(eased_m).max(axis=1) > 1e-9):
                moved[frame], missed[frame] = self._pose(int(frame), eased_m[frame])
            if not missed.any():
                break
            self.allowed[missed] *= kept
        return with_positions(self.reference, moved), eased_m

    def _pose(self, frame: int, shift_m: np.ndarray) -> tuple[np.ndarray, bool]:
        """The frame with the pelvis moved, and whether a foot misses its place."""
        qpos, missed = self.reference.qpos[frame].copy(), False
        qpos[:2] += shift_m
        for side in SIDES:
            pos_w_m, quat_wxyz = self.feet[side][frame]
            along_m = self.along[side][frame] * np.append(shift_m, 0.0)
            qpos, error = self.legs.nearest(side, qpos, pos_w_m + along_m, quat_wxyz)
            missed |= bool(np.abs(error).max() > _REACHED)
        return qpos, missed


def along_with_pelvis(model: mujoco.MjModel, foot: str, contacts: SoleContacts, step_s: float) -> np.ndarray:
    """(T,) how far a foot moves with the pelvis: 0 on the ground and near it in time, 1 well away from it."""
    of_foot = model.geom_bodyid[contacts.geom_ids] == model.body(foot).id
    rests = contacts.resting[:, of_foot].any(axis=1)
    if not rests.any():
        return np.ones(len(contacts.resting))
    away_s = np.asarray(distance_transform_edt(~rests)) * step_s
    part = np.clip((away_s - _ALONG_S[0]) / (_ALONG_S[1] - _ALONG_S[0]), 0.0, 1.0)
    return part**2 * (3 - 2 * part)


def _eased(least: np.ndarray, width: int) -> np.ndarray:
    """(T,) smooth and nowhere above `least`: the mean of minima, all of which look at the frame itself."""
    window = np.hanning(2 * width + 3)[1:-1]
    return convolve1d(minimum_filter1d(least, len(window)), window / window.sum(), mode="nearest")


def with_positions(reference: ModelStates, qpos: np.ndarray) -> ModelStates:
    """Positions and velocities; the root's orientation is the reference's."""
    change = np.concatenate([qpos[:, :3], np.zeros((len(qpos), 3)), qpos[:, 7:]], axis=1)
    change[:, :3] -= reference.qpos[:, :3]
    change[:, 6:] -= reference.qpos[:, 7:]
    return replace(reference, qpos=qpos, qvel=reference.qvel + np.gradient(change, reference.step_s, axis=0))
