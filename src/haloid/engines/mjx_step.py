"""MuJoCo's `implicitfast` step in JAX, differentiable through its constraints: what the MJX engine rolls out.

Kinematics, inertia, bias forces, contacts, constraint rows and their solver are MJX's. MJX's solver is a loop that
cannot be differentiated in reverse, and unrolled it would forget the friction loss. Here it runs undifferentiated to
the optimum a*, and one Newton step with the active set of a* follows:

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
from haloid.engines.physics import LINK_KINDS, Column, Physics, inertia_basis

_NO_LIMIT_NM = 1e30
_LEAST_FRICTION_NM = 1e-10
"""Added to every friction loss: MJX takes a row without any for one that always sticks."""


class Base(NamedTuple):
    """One robot's parameters as arrays, and MJX's model and data, which they are written to."""

    model: Any
    data: Any
    mass: jax.Array
    com: jax.Array
    principal_inertia: jax.Array
    principal_quat_wxyz: jax.Array
    inertia: jax.Array
    """(bodies, 3, 3) that is added to the principal one, along the link's axes: zero, for its derivative."""
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
    """What one fragment's servos are told, one row a simulation step, (steps, n)."""

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
        principal_inertia=jnp.asarray(compiled.body_inertia),
        principal_quat_wxyz=jnp.asarray(compiled.body_iquat),
        inertia=jnp.zeros((compiled.nbody, 3, 3)),
        **{name: jnp.asarray(getattr(physics, name)) for name in _OF_JOINTS},
        delay=jnp.zeros(()),
        effort_limit=jnp.asarray(np.where(np.isfinite(effort_limit), effort_limit, _NO_LIMIT_NM)),
    )


_OF_JOINTS = ("damping", "frictionloss", "armature", "kp", "kd", "strength", "bias")


def rollout(base: Base, state: jax.Array, drive: Drive, *, torque: bool, substeps: int) -> jax.Array:
    """(N + 1, n) encoder readings from an initial state (2n,) of readings and velocities."""
    n = base.bias.shape[0]
    model = _written(base)
    inputs = drive.inputs + base.delay * drive.inputs_by_delay - (0.0 if torque else base.bias)

    def step(carry, told):
        q, v = carry
        u, kp, kd = told
        v = v + model.opt.timestep * _acceleration(base, model, q, v, u, kp, kd, torque)
        q = q + model.opt.timestep * v
        return (q, v), q

    start = (state[:n] - base.bias, state[n:])
    _, q = jax.lax.scan(step, start, (inputs, drive.kp, drive.kd))
    return jnp.concatenate([start[0][None], q[substeps - 1 :: substeps]]) + base.bias


def _acceleration(base: Base, model: Any, q, v, u, kp, kd, torque: bool) -> jax.Array:
    raw = base.strength * (u if torque else base.kp * kp * (u - q) - base.kd * kd * v)
    limit = base.strength * base.effort_limit
    free = jnp.abs(raw) < limit
    servo_damping = jnp.zeros_like(v) if torque else base.strength * base.kd * kd * free
    data = _positioned(base, model, base.data.replace(qpos=q, qvel=v))
    data = mjx.rne(model, mjx.com_vel(model, data))
    spring = model.jnt_stiffness[model.dof_jntid] * (q - model.qpos_spring)
    smooth = jnp.where(free, raw, jnp.sign(raw) * limit) - base.damping * v - spring - data.qfrc_bias
    mass = mjx.full_m(model, data)
    constraint = _constraint_force(model, data, mass, smooth) if _constrained(model, data) else 0.0
    return jnp.linalg.solve(mass + jnp.diag(model.opt.timestep * (base.damping + servo_damping)), smooth + constraint)


def _positioned(base: Base, model: Any, data: Any) -> Any:
    data = mjx.com_pos(model, mjx.kinematics(model, data))
    turned = data.xmat @ base.inertia @ data.xmat.swapaxes(1, 2)
    r, c = np.array([0, 1, 2, 0, 0, 1]), np.array([0, 1, 2, 1, 2, 2])
    cinert = data._impl.cinert.at[:, :6].add(turned[:, r, c])
    return mjx.crb(model, data.tree_replace({"_impl.cinert": cinert}))


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


def _written(base: Base) -> Any:
    """MJX's model with the base's parameters, the constraints' inverse weights included (MuJoCo's mj_setConst)."""
    model = base.model.replace(
        body_mass=base.mass,
        body_ipos=base.com,
        body_inertia=base.principal_inertia,
        body_iquat=base.principal_quat_wxyz,
        dof_armature=base.armature,
        dof_damping=base.damping,
        dof_frictionloss=base.frictionloss + _LEAST_FRICTION_NM,
    )
    if not _constrained(model, base.data):
        return model
    data = _positioned(base, model, base.data.replace(qpos=model.qpos0))
    inverse = jnp.linalg.inv(mjx.full_m(model, data))
    body_invweight = model.body_invweight0
    for body in _feet(model):
        linear, _ = mjx.jac(model, data, data.xipos[body], body)
        body_invweight = body_invweight.at[body, 0].set(jnp.trace(linear.T @ inverse @ linear) / 3)
    return model.replace(dof_invweight0=jnp.diag(inverse), body_invweight0=body_invweight)


def _feet(model: Any) -> list[int]:
    return sorted({int(model.geom_bodyid[foot]) for _, foot in touching_pairs(model)})
