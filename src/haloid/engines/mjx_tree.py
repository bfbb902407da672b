"""Kinematics, mass matrix and bias forces of a fixed-base tree in JAX, as a handful of array operations.

MJX walks a tree level by level, and every level becomes code: the gradient of a humanoid's step compiles for minutes.
Here poses come from pointer jumping (each round, every link multiplies its pose by that of a link twice as far up, so
log₂ of the depth rounds suffice), and everything else from sums over ancestors, which are products with constant 0/1
matrices. All vectors are spatial, about the world's origin: motions (ω, v), forces (n, f). With S_j the motion of
joint j, A the matrix that says which joint moves which link, and (m, h, I) mass, first moment and inertia of a link,

    V = A (S q̇),   A₀ = A (Ṡ q̇) − g,   c_j = S_j · Σ_b A_bj (I_b A₀_b + V_b × I_b V_b),   M_ij = S_i · I^c_j S_j

where I^c_j is the inertia of all that joint j moves, and i is j or an ancestor of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

from haloid.robots.frames import frame_of


class Placed(NamedTuple):
    """Where the links are."""

    turn_w: jax.Array
    """(bodies, 3, 3)"""
    origin_w: jax.Array
    """(bodies, 3)"""
    motion: jax.Array
    """(n, 6) of each joint, about the world's origin: angular first."""


class Moments(NamedTuple):
    """Of bodies, or of sets of them, about the world's origin."""

    mass: jax.Array
    first: jax.Array
    """(…, 3) mass times centre of mass."""
    second: jax.Array
    """(…, 3, 3)"""

    def times(self, motion: jax.Array) -> jax.Array:
        """Momenta of (…, 6) motions."""
        spin, speed = motion[..., :3], motion[..., 3:]
        linear = self.mass[..., None] * speed + jnp.cross(spin, self.first)
        return jnp.concatenate([_apply(self.second, spin) + jnp.cross(self.first, speed), linear], axis=-1)


@dataclass(frozen=True, eq=False)
class Tree:
    """What never changes: every joint is a hinge or a slide, the base is fixed in the world."""

    fixed: np.ndarray
    """(nodes, 4, 4) frame of each node in its parent's. Node 0 is the world; a body has one for each of its joints."""
    jumps: tuple[np.ndarray, ...]
    """For each round, (nodes,) the node whose pose is multiplied."""
    node_of_joint: np.ndarray
    node_of_body: np.ndarray
    anchor: np.ndarray
    """(n, 3) in the body's frame."""
    hinge_axis: np.ndarray
    """(n, 3) in the body's frame; 0 for a slide."""
    slide_axis: np.ndarray
    reference: np.ndarray
    """(n,) qpos0"""
    moves: np.ndarray
    """(bodies, n) 1 where a joint moves a body."""
    before: np.ndarray
    """(n, n) 1 where the second joint comes before the first on its way from the base."""

    @classmethod
    def of(cls, model: mujoco.MjModel) -> Tree:
        parents, fixed, node_of_joint = [0], [np.eye(4)], np.zeros(model.njnt, int)
        node_of_body = np.zeros(model.nbody, int)
        moves = np.zeros((model.nbody, model.njnt))
        for body in range(1, model.nbody):
            above = node_of_body[model.body_parentid[body]]
            frame = frame_of(model.body_pos[body], model.body_quat[body])
            moves[body] = moves[model.body_parentid[body]]
            first = model.body_jntadr[body]
            joints = range(first, first + model.body_jntnum[body])
            for joint in joints or [None]:
                parents.append(int(above))
                fixed.append(frame)
                above, frame = len(parents) - 1, np.eye(4)
                if joint is not None:
                    node_of_joint[joint] = above
                    moves[body, joint] = 1.0
            node_of_body[body] = above
        hinge = (model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE)[:, None]
        order = np.arange(model.njnt)
        return cls(
            fixed=np.array(fixed),
            jumps=_jumps(np.array(parents)),
            node_of_joint=node_of_joint,
            node_of_body=node_of_body,
            anchor=model.jnt_pos.copy(),
            hinge_axis=np.where(hinge, model.jnt_axis, 0.0),
            slide_axis=np.where(hinge, 0.0, model.jnt_axis),
            reference=model.qpos0.copy(),
            moves=moves,
            before=moves[model.jnt_bodyid] * (order[None, :] < order[:, None]),
        )

    def place(self, q: jax.Array) -> Placed:
        angle = q - self.reference
        skew = jnp.asarray(_skew(self.hinge_axis))
        turn = jnp.eye(3) + jnp.sin(angle)[:, None, None] * skew + (1 - jnp.cos(angle))[:, None, None] * (skew @ skew)
        shift = self.anchor - _apply(turn, jnp.asarray(self.anchor)) + angle[:, None] * self.slide_axis
        moved = jnp.zeros((len(self.anchor), 4, 4)).at[:, :3, :3].set(turn).at[:, :3, 3].set(shift).at[:, 3, 3].set(1)
        pose = jnp.asarray(self.fixed)
        pose = pose.at[self.node_of_joint].set(pose[self.node_of_joint] @ moved)
        for above in self.jumps:
            pose = pose[above] @ pose
        of_joint = pose[self.node_of_joint]
        axis = _apply(of_joint[:, :3, :3], jnp.asarray(self.hinge_axis))
        anchor = _apply(of_joint[:, :3, :3], jnp.asarray(self.anchor)) + of_joint[:, :3, 3]
        along = jnp.cross(anchor, axis) + _apply(of_joint[:, :3, :3], jnp.asarray(self.slide_axis))
        of_body = pose[self.node_of_body]
        return Placed(of_body[:, :3, :3], of_body[:, :3, 3], jnp.concatenate([axis, along], axis=1))

    def mass_matrix(self, placed: Placed, bodies: Moments) -> jax.Array:
        """(n, n) without armature."""
        carried = Moments(*(jnp.tensordot(self.moves.T, array, 1) for array in bodies))
        one_way = placed.motion @ carried.times(placed.motion).T
        lower = jnp.asarray(self.before) * one_way.T  # row: the joint further out, column: its ancestor
        return lower + lower.T + jnp.diag(jnp.diag(one_way))

    def bias_force(self, placed: Placed, bodies: Moments, v: jax.Array, gravity: jax.Array) -> jax.Array:
        """(n,) Coriolis, centrifugal and gravity forces: inverse dynamics without acceleration."""
        flow, moves = placed.motion * v[:, None], jnp.asarray(self.moves)
        velocity = moves @ flow
        drift = cross_motion(jnp.asarray(self.before) @ flow, placed.motion) * v[:, None]
        falling = jnp.concatenate([jnp.zeros(3), -gravity])
        force = bodies.times(moves @ drift + falling) + cross_force(velocity, bodies.times(velocity))
        return jnp.sum(placed.motion * (moves.T @ force), axis=1)


def moments(placed: Placed, mass: jax.Array, com: jax.Array, inertia: jax.Array) -> Moments:
    """Of links with centres of mass and inertias about them in the links' axes."""
    com_w = placed.origin_w + _apply(placed.turn_w, com)
    second = placed.turn_w @ inertia @ placed.turn_w.swapaxes(1, 2)
    square = jnp.sum(com_w**2, axis=1)[:, None, None] * jnp.eye(3) - com_w[:, :, None] * com_w[:, None, :]
    return Moments(mass, mass[:, None] * com_w, second + mass[:, None, None] * square)


def cross_motion(velocity: jax.Array, motion: jax.Array) -> jax.Array:
    """How motions that are carried along at a velocity change."""
    w, v, a, b = velocity[:, :3], velocity[:, 3:], motion[:, :3], motion[:, 3:]
    return jnp.concatenate([jnp.cross(w, a), jnp.cross(w, b) + jnp.cross(v, a)], axis=1)


def cross_force(velocity: jax.Array, force: jax.Array) -> jax.Array:
    w, v, n, f = velocity[:, :3], velocity[:, 3:], force[:, :3], force[:, 3:]
    return jnp.concatenate([jnp.cross(w, n) + jnp.cross(v, f), jnp.cross(w, f)], axis=1)


def _apply(matrix: jax.Array, vector: jax.Array) -> jax.Array:
    return jnp.einsum("...ij,...j->...i", matrix, vector)


def _jumps(parents: np.ndarray) -> tuple[np.ndarray, ...]:
    rounds = []
    while parents.any():
        rounds.append(parents)
        parents = parents[parents]
    return tuple(rounds)


def _skew(axis: np.ndarray) -> np.ndarray:
    x, y, z = axis.T
    zero = np.zeros_like(x)
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=1).reshape(-1, 3, 3)
