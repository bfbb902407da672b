"""MuJoCo's `implicitfast` step in JAX, differentiable through its constraints: what the MJX engine rolls out.

Contacts, constraint rows and their solver are MJX's; kinematics, inertia and bias forces are mjx_tree's, which compile
in seconds. MJX's solver is a loop that cannot be differentiated in reverse, and unrolled it would lose the friction
loss. Here it runs undifferentiated to the optimum a*, and one Newton step with the active set of a* follows:

    a = a* − (M + Jᵀ D J)⁻¹ (M a* − τ − Jᵀ f(a*))

At the optimum the bracket is zero, so a = a* and its derivative is that of the optimum (implicit function theorem), by
friction loss, contact and everything else. Servos, their limits and their implicit damping are as in MuJoCo C.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from mujoco import mjx

from haloid.engines.contact import touching_pairs
from haloid.engines.mjx_tree import Moments, Placed, Tree, moments
from haloid.engines.physics import LINK_KINDS, Column, Physics, inertia_basis
from haloid.robots.frames import rotation_of

_NO_LIMIT_NM = 1e30
_LEAST_FRICTION_NM = 1e-10
"""Added to every friction loss: MJX takes a row without any for one that always sticks."""


class Base(NamedTuple):
    """One robot's parameters as arrays, and MJX's model and data, which they are written to."""

    model: Any
    data: Any
    mass: jax.Array
    com: jax.Array
    inertia: jax.Array
    """(bodies, 3, 3) about the centre of mass, along the link's axes."""
    damping: jax.Array
    frictionloss: jax.Array
    armature: jax.Array
    kp: jax.Array
    kd: jax.Array
    strength: jax.Array
    bias: jax.Array
    delay: jax.Array
    """Less the one that the inputs were delayed by."""
    effort_limit: jax.Array


class Drive(NamedTuple):
    """Commands of one fragment's servos, one row per simulation step, (steps, n)."""

    inputs: jax.Array | np.ndarray
    """Delayed; encoder bias not taken off."""
    inputs_by_delay: jax.Array | np.ndarray
    kp: jax.Array | np.ndarray
    kd: jax.Array | np.ndarray


class Columns:
    """Where the values of the columns are written to."""

    def __init__(self, model: mujoco.MjModel, physics: Physics, columns: Sequence[Column]) -> None:
        self._count = len(columns)
        self._places: dict[str, tuple[np.ndarray, tuple[np.ndarray, ...]]] = {}
        for kind in dict.fromkeys(column.kind for column in columns):
            which = [i for i, column in enumerate(columns) if column.kind == kind]
            places = np.array([_place(model, physics, columns[i]) for i in which], int)
            self._places[kind] = np.array(which), tuple(places.T)
        self._inertia_bases = np.array([inertia_basis(c.component) for c in columns if c.kind == "inertia"])
        sought = self._places.get("frictionloss", (None, (np.zeros(0, int),)))[1][0]
        self.rub = (physics.frictionloss > 0) | np.isin(np.arange(len(physics.joints)), sought)

    def values_of(self, base: Base) -> jax.Array:
        """The columns' values; of an inertia what is added to it."""
        values = jnp.zeros(self._count)
        for kind, (which, place) in self._places.items():
            if kind != "inertia":
                values = values.at[which].set(getattr(base, kind)[place])
        return values

    def write(self, base: Base, values: jax.Array) -> Base:
        arrays = {}
        for kind, (which, place) in self._places.items():
            if kind == "inertia":
                arrays[kind] = base.inertia.at[place].add(values[which][:, None, None] * self._inertia_bases)
            elif kind == "delay":
                arrays[kind] = values[which[0]]
            else:
                arrays[kind] = getattr(base, kind).at[place].set(values[which])
        return base._replace(**arrays)


def _place(model: mujoco.MjModel, physics: Physics, column: Column) -> tuple[int, ...]:
    if column.kind == "delay":
        return ()
    if column.kind in LINK_KINDS:
        body = model.body(column.owner).id
        return (body, "xyz".index(column.component)) if column.kind == "com" else (body,)
    return (physics.joint_index(column.owner),)


def base_of(compiled: mujoco.MjModel, model: Any, data: Any, physics: Physics, effort_limit: np.ndarray) -> Base:
    """`compiled` is MuJoCo's model with these parameters, `model` and `data` are MJX's of the same robot."""
    return Base(
        model=model,
        data=data,
        mass=jnp.asarray(compiled.body_mass),
        com=jnp.asarray(compiled.body_ipos),
        inertia=jnp.asarray(_inertia_in_link_axes(compiled)),
        **{name: jnp.asarray(getattr(physics, name)) for name in _OF_JOINTS},
        delay=jnp.zeros(()),
        effort_limit=jnp.asarray(np.where(np.isfinite(effort_limit), effort_limit, _NO_LIMIT_NM)),
    )


_OF_JOINTS = ("damping", "frictionloss", "armature", "kp", "kd", "strength", "bias")


def _inertia_in_link_axes(model: mujoco.MjModel) -> np.ndarray:
    turn = np.stack([rotation_of(quat_wxyz) for quat_wxyz in model.body_iquat])
    return turn * model.body_inertia[:, None, :] @ turn.swapaxes(1, 2)


def rollout(base: Base, state: jax.Array, drive: Drive, *, tree: Tree, torque: bool, substeps: int) -> jax.Array:
    """(N + 1, n) encoder readings from an initial state (2n,) of readings and velocities."""
    n = base.bias.shape[0]
    model = _written(base, tree)
    inputs = drive.inputs + base.delay * drive.inputs_by_delay - (0.0 if torque else base.bias)

    def step(carry, told):
        q, v = carry
        u, kp, kd = told
        v = v + model.opt.timestep * _acceleration(base, model, tree, q, v, u, kp, kd, torque)
        q = q + model.opt.timestep * v
        return (q, v), q

    start = (state[:n] - base.bias, state[n:])
    _, q = jax.lax.scan(step, start, (inputs, drive.kp, drive.kd))
    return jnp.concatenate([start[0][None], q[substeps - 1 :: substeps]]) + base.bias


def _acceleration(base: Base, model: Any, tree: Tree, q, v, u, kp, kd, torque: bool) -> jax.Array:
    raw = base.strength * (u if torque else base.kp * kp * (u - q) - base.kd * kd * v)
    limit = base.strength * base.effort_limit
    free = jnp.abs(raw) < limit
    servo_damping = jnp.zeros_like(v) if torque else base.strength * base.kd * kd * free
    placed = tree.place(q)
    bodies = moments(placed, base.mass, base.com, base.inertia)
    spring = model.jnt_stiffness[model.dof_jntid] * (q - model.qpos_spring)
    bias = tree.bias_force(placed, bodies, v, model.opt.gravity)
    smooth = jnp.where(free, raw, jnp.sign(raw) * limit) - base.damping * v - spring - bias
    mass = _mass_matrix(base, tree, placed, bodies)
    constraint = 0.0
    if _constrained(model, base.data):
        data = _with_poses(model, base.data.replace(qpos=q, qvel=v), placed, mass)
        constraint = _constraint_force(model, data, mass, smooth)
    return jnp.linalg.solve(mass + jnp.diag(model.opt.timestep * (base.damping + servo_damping)), smooth + constraint)


def _mass_matrix(base: Base, tree: Tree, placed: Placed, bodies: Moments) -> jax.Array:
    return tree.mass_matrix(placed, bodies) + jnp.diag(base.armature)


def _with_poses(model: Any, data: Any, placed: Placed, mass: jax.Array) -> Any:
    """MJX's data with what its contacts and constraints are made of; its joint motions are about `subtree_com`."""
    turn_w = placed.turn_w[model.geom_bodyid]
    pos_w = placed.origin_w[model.geom_bodyid] + jnp.einsum("gij,gj->gi", turn_w, model.geom_pos)
    data = data.replace(
        xpos=placed.origin_w,
        xmat=placed.turn_w,
        geom_xpos=pos_w,
        geom_xmat=turn_w @ jax.vmap(_matrix)(model.geom_quat),
        subtree_com=jnp.zeros_like(data.subtree_com),
        cdof=placed.motion,
    )
    return data.tree_replace({"_impl.M": mass})


def _matrix(quat_wxyz: jax.Array) -> jax.Array:
    w, x, y, z = quat_wxyz
    return jnp.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _constrained(model: Any, data: Any) -> bool:
    return data._impl.efc_J.shape[0] > 0


def _constraint_force(model: Any, data: Any, mass: jax.Array, smooth: jax.Array) -> jax.Array:
    """(n,) Jᵀf at the optimum of MuJoCo's constraint solver."""
    data = mjx.make_constraint(model, mjx.collision(model, data))
    data = data.replace(qfrc_smooth=smooth, qacc_smooth=jnp.linalg.solve(mass, smooth))
    found = jax.lax.stop_gradient(mjx.solve(*jax.lax.stop_gradient((model, data))).qacc)
    rows, reference, per_r = data._impl.efc_J, data._impl.efc_aref, data._impl.efc_D
    friction = data._impl.efc_frictionloss
    gap = jax.lax.stop_gradient(rows @ found - reference)
    rubs = jax.lax.stop_gradient(friction) > 0
    slips = rubs & (jnp.abs(gap) * per_r >= friction)
    follows = jax.lax.stop_gradient(jnp.where(rubs, ~slips, gap < 0))
    slipping = jnp.where(jax.lax.stop_gradient(slips), -jnp.sign(gap) * friction, 0.0)

    def force(a):
        return jnp.where(follows, per_r, 0.0) * (reference - rows @ a) + slipping

    hessian = mass + (rows.T * jnp.where(follows, per_r, 0.0)) @ rows
    a = found - jnp.linalg.solve(hessian, mass @ found - smooth - rows.T @ force(found))
    return rows.T @ force(a)


def _written(base: Base, tree: Tree) -> Any:
    """MJX's model with the base's parameters, the constraints' inverse weights included (MuJoCo's mj_setConst)."""
    model = base.model.replace(dof_frictionloss=base.frictionloss + _LEAST_FRICTION_NM)
    if not _constrained(model, base.data):
        return model
    placed = tree.place(jnp.asarray(tree.reference))
    bodies = moments(placed, base.mass, base.com, base.inertia)
    inverse = jnp.linalg.inv(_mass_matrix(base, tree, placed, bodies))
    body_invweight = model.body_invweight0
    for body in _feet(model):
        com_w = bodies.first[body] / bodies.mass[body]
        speed = placed.motion[:, 3:] + jnp.cross(placed.motion[:, :3], com_w)
        linear = speed * tree.moves[body][:, None]
        body_invweight = body_invweight.at[body, 0].set(jnp.trace(linear.T @ inverse @ linear) / 3)
    return model.replace(dof_invweight0=jnp.diag(inverse), body_invweight0=body_invweight)


def _feet(model: Any) -> list[int]:
    return sorted({int(model.geom_bodyid[foot]) for _, foot in touching_pairs(model)})
