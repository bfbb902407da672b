"""Contact: the force of the floor under the feet and its exact derivative while the contacts stay the same.

MuJoCo's soft constraints (pyramidal cones), for a foot that touches a static plane at points p with normal n: every
edge u = n ± μ t of a friction pyramid is one row of the constraint's Jacobian, J = u·J_p, and

    f = −(J aₑ − a_ref) / R where that pushes, 0 where it would pull,  aₑ: the acceleration constraints are solved on,
    a_ref = −b J v − k imp(d) d,   R = 2 μ² (1 + μ²) (1 − imp(d)) / imp(d) · w,

d the distance, w the foot's translational inverse weight at the reference configuration, which the links' parameters
change. The floor's own parameters are its height, which d and p follow, a factor on μ, and one on k (its root on b: the
damping ratio stays). With the contacts and the pushing edges fixed, all of this is smooth: d(Jᵀf) is linear in daₑ, dq,
dv and the parameters. An edge that stops pushing bends the force and does not break it, so the derivative stays exact
on either side; a contact that appears or ends makes a small jump, which no derivative sees.

The points belong to spheres, capsules or boxes: p = X − n (ρ + d/2) with X fixed to the foot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import mujoco
import numpy as np

from haloid.engines.link_forces import LinkForces, cross
from haloid.engines.physics import FLOOR_KINDS, Column, Physics
from haloid.engines.simulate import Simulator, Trajectories

_ROUND = (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_CAPSULE)
_CORNERED = (mujoco.mjtGeom.mjGEOM_BOX,)
_LEAST, _MOST = 1e-4, 0.9999
"""MuJoCo keeps impedances within these."""


@dataclass(frozen=True)
class Touch:
    """The floor's force at T steps, and what it does to the dynamics."""

    force: np.ndarray
    """(T, n) joint torques Jᵀ f."""
    stiffness: np.ndarray
    """(T, n, n) Jᵀ R⁻¹ J over the pushing edges: minus the derivative of the force w.r.t. the acceleration."""
    slope: np.ndarray
    """(T, n, P + 2n) derivative of the force by parameters, positions and velocities at a fixed acceleration."""


class _Pair(NamedTuple):
    """What two geoms that touch always share."""

    body: int
    edges: np.ndarray
    """(4, 3) u = n ± μ t."""
    normal: np.ndarray
    rho: float
    r_over_weight: float
    """2 μ² (1 + μ²) / impratio"""
    r_slope: float
    """d log R / d log μ"""
    b: float
    k: float
    softens: bool
    """Whether b and k follow the stiffness: MuJoCo keeps time constants from falling below two steps."""
    solimp: np.ndarray
    margin: float


class FloorContact:
    """One model's contacts, for one set of parameters."""

    def __init__(
        self,
        model: mujoco.MjModel,
        physics: Physics,
        columns: list[Column],
        links: LinkForces,
        reference_inverse_mass: np.ndarray,
    ) -> None:
        self._model, self._data = model, mujoco.MjData(model)
        self._physics, self._columns, self._links = physics, columns, links
        self._inverse_mass = reference_inverse_mass
        self._carries = _carries(model)
        feet = sorted({int(model.geom_bodyid[foot]) for _, foot in touching_pairs(model)})
        self._chain = np.flatnonzero(self._carries[feet].any(axis=0))
        self._floor_columns = [(i, column.kind) for i, column in enumerate(columns) if column.kind in FLOOR_KINDS]
        self._pairs: dict[tuple[int, int], int] = {}
        self._known: list[_Pair] = []
        self._weight: dict[int, tuple[float, np.ndarray]] = {}

    def at(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> Touch | None:
        """At (T, n) states and accelerations (those that constraints are solved on); None where nothing touches.

        The floor's height acts like one more coordinate: d falls by it, p rises by half of it.
        """
        gathered = self._gather(q)
        if gathered is None:
            return None
        axes, which, there, arm, distance = gathered
        chain, n, parameters = self._chain, q.shape[1], len(self._columns)
        known = self._known
        body = np.array([pair.body for pair in known])[which]
        edges, normal = (np.array([getattr(pair, name) for pair in known])[which] for name in ("edges", "normal"))
        b, k, rho, margin, r_over_weight, r_slope, softens = (
            np.array([getattr(pair, name) for pair in known])[which]
            for name in ("b", "k", "rho", "margin", "r_over_weight", "r_slope", "softens")
        )
        weights = [self._inverse_weight(pair.body) for pair in known]
        weight, weight_slope = np.array([w for w, _ in weights])[which], np.array([s for _, s in weights])[which]
        solimp = np.array([pair.solimp for pair in known])[which]
        impedance, impedance_slope = _impedance(solimp, distance - margin)

        carries = self._carries[body][..., chain] * there[..., None]
        turn, shift = axes[:, None, :, :3] * carries[..., None], axes[:, None, :, 3:] * carries[..., None]
        at_point = shift + cross(turn, arm[..., None, :])
        on_foot = at_point + (rho + 0.5 * distance)[..., None, None] * cross(turn, normal[..., None, :])
        by_distance = (on_foot @ normal[..., None])[..., 0]
        point_moves = on_foot - 0.5 * by_distance[..., None] * normal[..., None, :]

        jacobian = edges @ at_point.swapaxes(2, 3)
        now_a, now_v = (x[:, None, chain] * carries for x in (a, v))
        bent_a, bent_v = (_bend(turn, shift, x, arm, point_moves) for x in (now_a, now_v))
        velocity = (jacobian @ now_v[..., None])[..., 0]
        gap = (jacobian @ now_a[..., None])[..., 0] + b[..., None] * velocity
        gap += (k * impedance * (distance - margin))[..., None]
        r = r_over_weight * weight * (1 - impedance) / impedance
        per_r = np.where((gap < 0) & there[..., None], 1 / r[..., None], 0.0)
        force = -per_r * gap

        by_q = edges @ (bent_a + b[..., None, None] * bent_v).swapaxes(2, 3)
        by_q += ((k * (impedance + impedance_slope * (distance - margin)))[..., None] * by_distance)[..., None, :]
        by_q *= -per_r[..., None]
        stiffer = impedance_slope / (impedance * (1 - impedance))
        by_q += force[..., None] * (stiffer[..., None] * by_distance)[..., None, :]
        by_v = -(per_r * b[..., None])[..., None] * jacobian

        flat = jacobian.reshape(len(q), -1, len(chain))
        turned = flat.swapaxes(1, 2)
        out = Touch(np.zeros((len(q), n)), np.zeros((len(q), n, n)), np.zeros((len(q), n, parameters + 2 * n)))
        torque = (jacobian.swapaxes(2, 3) @ force[..., None])[..., 0]
        out.force[:, chain] = torque.sum(axis=1)
        square = np.ix_(np.arange(len(q)), chain, chain)
        out.stiffness[square] = turned @ (per_r.reshape(len(q), -1, 1) * flat)
        pull = (force[..., None, :] @ edges)[..., 0, :]
        lever = _lever(turn, shift, arm, pull, point_moves)
        out.slope[:, chain[:, None], parameters + chain] = lever.sum(axis=1) + turned @ by_q.reshape(flat.shape)
        out.slope[:, chain[:, None], parameters + n + chain] = turned @ by_v.reshape(flat.shape)
        relative = weight_slope / weight[..., None]
        out.slope[:, chain, :parameters] = -np.einsum("tck,tcp->tkp", torque, relative, optimize=True)
        for column, kind in self._floor_columns:
            by_gap, by_force, by_edges = np.zeros_like(gap), np.zeros_like(force), np.zeros_like(edges)
            if kind == "floor_height":
                raised = 0.5 * normal
                spin_a, spin_v = ((turn * x[..., None]).sum(axis=2) for x in (now_a, now_v))
                moved = cross(spin_a + b[..., None] * spin_v, raised)
                by_gap = (edges @ moved[..., None])[..., 0]
                by_gap -= (k * (impedance + impedance_slope * (distance - margin)))[..., None]
                by_force = -force * stiffer[..., None]
                moves = cross(pull[..., None, :], turn) @ raised[..., None]
                out.slope[:, chain, column] += moves[..., 0].sum(axis=1)
            elif kind == "floor_friction":
                by_edges = (edges - normal[..., None, :]) / self._physics.floor_friction
                by_gap = (by_edges @ at_point.swapaxes(2, 3) @ (now_a + b[..., None] * now_v)[..., None])[..., 0]
                by_force = -force * (r_slope / self._physics.floor_friction)[..., None]
            elif kind == "floor_stiffness":
                by_gap = 0.5 * b[..., None] * velocity + (k * impedance * (distance - margin))[..., None]
                by_gap = by_gap * (softens / self._physics.floor_stiffness)[..., None]
            by_force -= per_r * by_gap
            pushed = (by_force[..., None, :] @ edges + force[..., None, :] @ by_edges)[..., 0, :]
            out.slope[:, chain, column] += (at_point @ pushed[..., None])[..., 0].sum(axis=1)
        return out

    def _gather(self, q: np.ndarray):
        """Axes (T, m, 6) of the legs' joints, and of up to C contacts: pair, presence, point from the axes' reference
        point and distance, all (T, C, ...)."""
        model, data = self._model, self._data
        count, chain = len(q), self._chain
        axes, found = np.empty((count, len(chain), 6)), []
        for t in range(count):
            data.qpos[:] = q[t]
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_collision(model, data)
            axes[t] = data.cdof[chain]
            if data.ncon:
                contact = data.contact
                which = [self._pair(i, *pair) for i, pair in enumerate(contact.geom.tolist())]
                roots = model.body_rootid[[self._known[w].body for w in which]]
                found.append((t, which, contact.pos - data.subtree_com[roots], contact.dist.copy()))
        if not found:
            return None
        most = max(len(which) for _, which, _, _ in found)
        pair, there = np.zeros((count, most), int), np.zeros((count, most), bool)
        arm, distance = np.zeros((count, most, 3)), np.zeros((count, most))
        for t, which, point, gap in found:
            touching = slice(len(which))
            pair[t, touching], there[t, touching], arm[t, touching], distance[t, touching] = which, True, point, gap
        return axes, pair, there, arm, distance

    def _pair(self, i: int, plane: int, foot: int) -> int:
        if (plane, foot) not in self._pairs:
            model, contact = self._model, self._data.contact[i]
            normal, *tangents = contact.frame.reshape(3, 3).copy()
            mu = contact.friction[:2]
            edges = [normal + sign * m * t for m, t in zip(mu, tangents, strict=True) for sign in (1, -1)]
            solimp = contact.solimp.copy()
            solimp[:2] = np.clip(solimp[:2], _LEAST, _MOST)
            b, k = _reference(contact.solref, solimp[1], model.opt.timestep)
            square = mu[0] ** 2
            self._known.append(
                _Pair(
                    body=int(model.geom_bodyid[foot]),
                    edges=np.array(edges),
                    normal=normal,
                    rho=float(model.geom_size[foot, 0]) if model.geom_type[foot] in _ROUND else 0.0,
                    r_over_weight=float(2 * square / model.opt.impratio * (1 + square)),
                    r_slope=float(2 + 2 * square / (1 + square)),
                    b=b,
                    k=k,
                    softens=not 0 < contact.solref[0] < 2 * model.opt.timestep,
                    solimp=solimp,
                    margin=float(contact.includemargin),
                )
            )
            self._pairs[plane, foot] = len(self._known) - 1
        return self._pairs[plane, foot]

    def _inverse_weight(self, body: int) -> tuple[float, np.ndarray]:
        """A body's translational inverse weight, tr(J M₀⁻¹ Jᵀ)/3 at its CoM, and its derivative by the columns."""
        if body not in self._weight:
            self._weight[body] = self._find_inverse_weight(body)
        return self._weight[body]

    def _find_inverse_weight(self, body: int) -> tuple[float, np.ndarray]:
        model, links, slope = self._model, self._links, np.zeros(len(self._columns))
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        name = model.body(body).name
        rotation = data.xmat[body].reshape(3, 3)
        com = data.xpos[body] + rotation @ self._physics.link(name).com_in_link_m
        linear, angular = np.empty((2, 3, model.nv))
        mujoco.mj_jac(model, data, linear, angular, com, body)
        moved = linear @ self._inverse_mass
        if links:
            at = links.kinematics(np.repeat(model.qpos0[None], 3, axis=0))
            by_link = links.torques(at, np.zeros((3, model.nv)), moved, gravity=False)
            slope[links.columns] = -np.einsum("kd,kdc->c", moved, by_link) / 3
        for i, column in enumerate(self._columns):
            if column.kind == "com" and column.owner == name:
                direction = rotation[:, "xyz".index(column.component)]
                slope[i] += 2 / 3 * float(np.sum(np.cross(angular.T, direction).T * moved))
            elif column.kind == "armature":
                slope[i] -= float(np.sum(moved[:, self._physics.joint_index(column.owner)] ** 2)) / 3
        return float(np.sum(linear * moved)) / 3, slope


def contact_changes(simulator: Simulator, physics: Physics, trajectories: Trajectories) -> np.ndarray:
    """(B,) how often a contact appears or ends in each fragment."""
    model = simulator.with_physics(physics)
    data = mujoco.MjData(model)
    changes = np.zeros(len(trajectories.q), int)
    for b, states in enumerate(trajectories.q):
        before = None
        for qpos in states[:-1]:
            data.qpos[:] = qpos
            mujoco.mj_kinematics(model, data)
            mujoco.mj_collision(model, data)
            now = data.contact.geom.tolist() if data.ncon else []
            changes[b] += before is not None and now != before
            before = now
    return changes


def touching_pairs(model: mujoco.MjModel) -> list[tuple[int, int]]:
    """Pairs of geoms that MuJoCo lets touch, the one of the lower type first."""
    active = [g for g in range(model.ngeom) if model.geom_contype[g] or model.geom_conaffinity[g]]
    pairs = []
    for i, one in enumerate(active):
        for other in active[i + 1 :]:
            meet = model.geom_contype[one] & model.geom_conaffinity[other]
            meet |= model.geom_contype[other] & model.geom_conaffinity[one]
            welded = model.body_weldid[model.geom_bodyid[[one, other]]]
            if meet and welded[0] != welded[1]:
                pairs.append((one, other) if model.geom_type[one] <= model.geom_type[other] else (other, one))
    return pairs


def unsupported_contact(model: mujoco.MjModel) -> list[str]:
    """What the equations above leave out of the model's contacts, in words."""
    found = []
    if model.opt.cone != mujoco.mjtCone.mjCONE_PYRAMIDAL:
        found.append("elliptic friction cones")
    if model.npair:
        found.append("explicit contact pairs")
    pairs = touching_pairs(model)
    for plane, foot in pairs:
        names = " and ".join(model.geom(g).name or f"geom {g}" for g in (plane, foot))
        static = model.body_weldid[model.geom_bodyid[plane]] == 0
        if model.geom_type[plane] != mujoco.mjtGeom.mjGEOM_PLANE or not static:
            found.append(f"contact that is not with a floor ({names})")
        elif model.geom_type[foot] not in _ROUND + _CORNERED:
            found.append(f"a foot that is neither sphere, capsule nor box ({names})")
        elif max(model.geom_condim[plane], model.geom_condim[foot]) != 3:
            found.append(f"contact dimensions other than 3 ({names})")
        if found:
            break
    return found


def _reference(solref: np.ndarray, dmax: float, timestep_s: float) -> tuple[float, float]:
    """b and k of the reference acceleration."""
    if solref[0] <= 0:
        return float(-solref[1] / dmax), float(-solref[0] / dmax**2)
    time_constant = max(solref[0], 2 * timestep_s)
    return float(2 / (dmax * time_constant)), float(1 / (dmax * time_constant * solref[1]) ** 2)


def _impedance(solimp: np.ndarray, distance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """MuJoCo's impedance at a signed distance, and its derivative w.r.t. it; `solimp` is (..., 5)."""
    dmin, dmax, width, middle, power = np.moveaxis(solimp, -1, 0)
    flat = (dmin == dmax) | (width <= 1e-15)
    x = np.clip(np.abs(distance) / np.maximum(width, 1e-15), 0.0, 1.0)
    low = x <= middle
    middle = np.clip(middle, _LEAST, _MOST)
    base, scale = np.where(low, x, 1 - x), np.where(low, middle, 1 - middle) ** (power - 1)
    part = base**power / scale
    y = np.where(low, part, 1 - part)
    slope = power * np.where(base > 0, base, 1.0) ** (power - 1) / scale
    inside = (x > 0) & (x < 1) & ~flat
    impedance = np.where(flat, 0.5 * (dmin + dmax), dmin + y * (dmax - dmin))
    by_distance = slope * np.sign(distance) * (dmax - dmin) / np.maximum(width, 1e-15)
    return impedance, np.where(inside, by_distance, 0.0)


def _bend(turn: np.ndarray, shift: np.ndarray, x: np.ndarray, arm: np.ndarray, point_moves: np.ndarray) -> np.ndarray:
    """(T, C, m, 3) derivative of J_p x w.r.t. the positions, x fixed: joints further out turn with those before
    them."""
    spin, slide = (axis * x[..., None] for axis in (turn, shift))
    outer_spin, outer_slide = (np.cumsum(s[:, :, ::-1], axis=2)[:, :, ::-1] for s in (spin, slide))
    turned = cross(turn, outer_spin)
    moved = cross(turn, outer_slide) + cross(shift, outer_spin)
    return moved + cross(turned, arm[..., None, :]) + cross(spin.sum(axis=2)[..., None, :], point_moves)


def _lever(
    turn: np.ndarray, shift: np.ndarray, arm: np.ndarray, pull: np.ndarray, point_moves: np.ndarray
) -> np.ndarray:
    """(T, C, m, m) derivative of J_pᵀ F w.r.t. the positions, the force F fixed."""
    force, moment = pull[..., None, :], cross(arm, pull)[..., None, :]
    on_turn = cross(moment, turn) + cross(force, shift)
    inner = turn @ on_turn.swapaxes(2, 3) + shift @ cross(force, turn).swapaxes(2, 3)
    before = np.tri(turn.shape[2], k=-1)  # [k, j]: joint j comes before joint k
    return inner * before + cross(force, turn) @ point_moves.swapaxes(2, 3)


def _carries(model: mujoco.MjModel) -> np.ndarray:
    """(bodies, n) 1 where a joint moves a body."""
    carries = np.zeros((model.nbody, model.nv))
    for body in range(1, model.nbody):
        carries[body] = carries[model.body_parentid[body]]
        first = model.body_dofadr[body]
        carries[body, first : first + model.body_dofnum[body]] = 1.0
    return carries
