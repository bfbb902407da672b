"""Link forces: the derivative of inverse dynamics w.r.t. the links' masses, centres of mass and inertias.

A link with mass m, CoM c and inertia I about it needs, at acceleration a and velocity v, the force and torque

    f = m p̈,  p̈ = a_lin + α × c + ω × (v_lin + ω × c)        gravity included in a_lin
    t = c × f + I α + ω × I ω

and every joint it hangs on carries its share, τ = Sᵀ (t, f), S the joint's motion axis. Both are differentiated with
respect to the link's own parameters. Positions and axes are MuJoCo's, for many states at once; velocities and
accelerations follow from the axes: those of a link are sums over the joints that it hangs on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from haloid.engines.physics import LINK_KINDS, Column, Physics, inertia_basis

_PARTS = [(kind, component) for kind, components in LINK_KINDS.items() for component in components]
_WITHOUT_INERTIA = 1 + 3


@dataclass(frozen=True)
class Kinematics:
    """Where the joints and the chosen links are, in T states; spatial vectors are (rotation, translation)."""

    axes: np.ndarray
    """(T, n, 6) motion axes of the joints."""
    pos: np.ndarray
    """(T, L, 3) origins of the links, from the point that `axes` refer to."""
    rotation: np.ndarray
    """(T, L, 3, 3) of the links' frames in the world."""


class LinkForces:
    """Maps states and accelerations to derivatives of the joint torques w.r.t. the links' columns."""

    def __init__(self, model: mujoco.MjModel, physics: Physics, columns: Sequence[Column]) -> None:
        self._model, self._data = model, mujoco.MjData(model)
        owners = {column.owner: model.body(column.owner).id for column in columns if column.kind in LINK_KINDS}
        last_dof = {body: _last_dof(model, body) for body in owners.values()}
        # a clamped link does not move: its parameters have no effect
        links = {name: body for name, body in owners.items() if last_dof[body] >= 0}
        names = list(links)
        self._bodies = np.array(list(links.values()), int)
        self._dofs = np.array([last_dof[body] for body in self._bodies], int)
        self._mass = np.array([physics.link(name).mass_kg for name in names])
        self._com = np.array([physics.link(name).com_in_link_m for name in names]).reshape(-1, 3)
        gravity = not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
        self._gravity = np.asarray(model.opt.gravity) * float(gravity)
        chosen = [i for i, column in enumerate(columns) if column.owner in links]
        together = bool(chosen) and chosen[-1] - chosen[0] == len(chosen) - 1
        self.columns = slice(chosen[0], chosen[-1] + 1) if together else np.array(chosen, int)
        """Where the links' columns are among all columns."""
        self._inertia = any(columns[i].kind == "inertia" for i in chosen)
        width = len(_PARTS) if self._inertia else _WITHOUT_INERTIA
        self._parts = np.array(
            [
                names.index(columns[i].owner) * width + _PARTS.index((columns[i].kind, columns[i].component))
                for i in chosen
            ],
            int,
        )
        self._below = _dofs_below(model)
        on_link = self._below[:, self._dofs]
        self._carries = np.stack([on_link[:, names.index(columns[i].owner)] for i in chosen], 1) if chosen else None

    def __bool__(self) -> bool:
        """Whether any column belongs to a link that moves."""
        return len(self._parts) > 0

    def kinematics(self, q: np.ndarray) -> Kinematics:
        """At (T, n) joint positions."""
        model, data, bodies = self._model, self._data, self._bodies
        roots = model.body_rootid[bodies]
        count, n = q.shape
        axes = np.empty((count, n, 6))
        pos, rotation = np.empty((count, model.nbody, 3)), np.empty((count, model.nbody, 9))
        centre = np.empty_like(pos)
        qpos, cdof, xpos, xmat, subtree_com = data.qpos, data.cdof, data.xpos, data.xmat, data.subtree_com
        for t in range(count):
            qpos[:] = q[t]
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            axes[t], pos[t], rotation[t], centre[t] = cdof, xpos, xmat, subtree_com
        return Kinematics(axes, pos[:, bodies] - centre[:, roots], rotation[:, bodies].reshape(count, -1, 3, 3))

    def torques(self, at: Kinematics, v: np.ndarray, a: np.ndarray, *, gravity: bool = True) -> np.ndarray:
        """(T, n, K) derivatives of the joint torques w.r.t. the links' columns, at (T, n) velocities and
        accelerations."""
        torques = at.axes @ self._wrenches(at, v, a, gravity)
        torques *= self._carries
        return torques

    def _wrenches(self, at: Kinematics, v: np.ndarray, a: np.ndarray, gravity: bool) -> np.ndarray:
        """(T, 6, K) derivatives of the links' torques and forces w.r.t. their columns."""
        axes = at.axes
        velocity = self._below.T @ (axes * v[..., None])
        turning = np.empty_like(axes)
        turning[..., :3] = cross(velocity[..., :3], axes[..., :3])
        turning[..., 3:] = cross(velocity[..., :3], axes[..., 3:]) + cross(velocity[..., 3:], axes[..., :3])
        acceleration = self._below[:, self._dofs].T @ (axes * a[..., None] + turning * v[..., None])
        if gravity:
            acceleration[..., 3:] -= self._gravity
        velocity = velocity[:, self._dofs]
        omega, alpha = velocity[..., :3], acceleration[..., :3]
        c = at.pos + (at.rotation @ self._com[..., None])[..., 0]
        point = acceleration[..., 3:] + cross(alpha, c) + cross(omega, velocity[..., 3:] + cross(omega, c))
        spin = _skew(omega)
        by_com = self._mass[:, None, None] * ((_skew(alpha) + spin @ spin) @ at.rotation)
        width = len(_PARTS) if self._inertia else _WITHOUT_INERTIA
        out = np.zeros((*c.shape[:2], width, 6))
        out[:, :, 0, :3], out[:, :, 0, 3:] = cross(c, point), point
        lever = _skew(c) @ by_com - (self._mass[:, None, None] * _skew(point)) @ at.rotation
        out[:, :, 1:4, :3], out[:, :, 1:4, 3:] = lever.swapaxes(2, 3), by_com.swapaxes(2, 3)
        if self._inertia:
            out[:, :, 4:, :3] = _by_inertia(at.rotation, omega, alpha)
        return out.reshape(len(c), -1, 6)[:, self._parts].swapaxes(1, 2)


def _last_dof(model: mujoco.MjModel, body: int) -> int:
    """The last joint that the body hangs on; -1 where there is none."""
    while body > 0 and model.body_dofnum[body] == 0:
        body = int(model.body_parentid[body])
    return int(model.body_dofadr[body] + model.body_dofnum[body] - 1) if body > 0 else -1


def _dofs_below(model: mujoco.MjModel) -> np.ndarray:
    """(n, n) 1 where joint d (column) hangs on joint k (row) or is it."""
    below = np.eye(model.nv)
    for d in range(model.nv):
        parent = int(model.dof_parentid[d])
        if parent >= 0:
            below[:, d] += below[:, parent]
    return below


def _by_inertia(rotation: np.ndarray, omega: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """(T, L, 6, 3) derivatives of the torque w.r.t. the components of the inertia in the link's frame."""
    bases = np.stack([inertia_basis(component) for component in LINK_KINDS["inertia"]])
    turned = rotation.swapaxes(2, 3)
    omega_l, alpha_l = (turned @ omega[..., None])[..., 0], (turned @ alpha[..., None])[..., 0]
    rate, momentum = (np.einsum("kij,tlj->tlki", bases, x) for x in (alpha_l, omega_l))
    return (rate + cross(omega_l[:, :, None], momentum)) @ turned


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """numpy's `cross` over the last axis, without its bookkeeping."""
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def _skew(a: np.ndarray) -> np.ndarray:
    """(..., 3, 3) matrices of the cross products with (..., 3) vectors."""
    out = np.zeros((*a.shape, 3))
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -a[..., 2], a[..., 1], -a[..., 0]
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = a[..., 2], -a[..., 1], a[..., 0]
    return out
