"""What a motion reveals about the payload links: the Fisher information of a linearised servo loop, and its gradient.

In: one robot and rows of a reference. Out: log det of the information about mass and CoM of the payload links, the
joint torques, and the derivatives of both with respect to every row's positions, velocities and accelerations.

The surrogate: a change dθ of the payload changes the torque of the motion by Y(q, dq, ddq)·dθ, exactly; how much of
that the encoders see is taken from the servo loop linearised once, around the posture,

    M·δa + (damping + kd)·δv + (kp + ∂gravity/∂q)·δq = −Y·dθ

over fragments as the identification cuts them, their initial states unknown: information = Σ_fragments Yᵀ·Ω·Y with one
constant Ω. It costs a few per cent of the engine's own Jacobian and has an exact gradient, since Y·u is the inverse
dynamics of a robot with nothing but the masses u. `identify.bound` gives the exact figure.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

import mujoco
import numpy as np
import pinocchio as pin
from scipy.linalg import expm

from haloid.engines.physics import Physics
from haloid.engines.rigid_body import RigidBodyTree
from haloid.identify.problem.priors import PAYLOAD_STD
from haloid.lab.built import BuiltRobot
from haloid.robots.inertia import LinkParameters, read_links

FRAGMENT_ROWS = 20
"""Control steps of a fragment, as in an identification."""
KNOT_ROWS = 4
"""The motion is sampled once every this many control steps."""
_NOISE_RAD = 5e-4
_PRIOR = (_NOISE_RAD / np.array([PAYLOAD_STD[kind] for kind in ("mass", "com", "com", "com")])) ** 2
"""What an identification assumes about a payload, in the same units: what no motion can show costs nothing."""
_COM_STEP_M = 1e-4
"""A shift of the CoM whose effect is its derivative to a ten-thousandth."""


@dataclass(frozen=True)
class Evaluation:
    """At K knots of a motion, columns in the robot's joint order; the first axis of a slope is by q, dq or ddq."""

    log_det: float
    log_det_slope: np.ndarray
    """(3, K, n)"""
    torque_nm: np.ndarray
    """(K, n)"""
    torque_slope: np.ndarray
    """(3, K, n, n) of torque (third axis) by joint (last axis)."""


class PayloadInformation:
    """One robot's view of a motion; information in units of 1 rad of encoder noise."""

    def __init__(self, built: BuiltRobot, payload_links: tuple[str, ...], posture_rad: np.ndarray) -> None:
        self._dof_of, self._qpos_of = built.dof_of, built.qpos_of
        model = built.model
        robot = RigidBodyTree(model)
        robot.set_inertias(Physics.of_model(model))
        self._reference_q = robot.reference_q
        self._armature, self._damping = model.dof_armature.copy(), model.dof_damping.copy()
        self._robot = _Tree(robot.tree)
        links = read_links(model)
        self._chains = [_chain(model, name, links[name]) for name in payload_links]
        self.fragment_knots = FRAGMENT_ROWS // KNOT_ROWS
        self.carries = np.isin(self._dof_of, np.concatenate([chain.dofs for chain in self._chains]))
        """(n,) joints, in the robot's order, that a payload link hangs on."""
        self._omega = self._fragment_information(built, posture_rad)

    def evaluate(self, q_rad: np.ndarray, dq_rad_s: np.ndarray, ddq_rad_s2: np.ndarray) -> Evaluation:
        """`q_rad` and so on: (K, n), K = 1 + a multiple of `fragment_knots`."""
        q, v, a = (np.empty_like(rows) for rows in (q_rad, dq_rad_s, ddq_rad_s2))
        q[:, self._qpos_of], v[:, self._dof_of], a[:, self._dof_of] = q_rad, dq_rad_s, ddq_rad_s2
        q -= self._reference_q
        torque, torque_slope = self._robot.inverse_dynamics(q, v, a)
        torque += self._armature * a + self._damping * v
        torque_slope[1] += np.diag(self._damping)
        torque_slope[2] += np.diag(self._armature)
        y, y_slopes = self._by_parameter(q, v, a)
        information, weighted = self._information(y)
        _, log_det = np.linalg.slogdet(information)
        spread = 2 * weighted @ np.linalg.inv(information)
        slope = np.zeros((3, *q.shape))
        for number, (chain, y_slope) in enumerate(zip(self._chains, y_slopes, strict=True)):
            part = spread[:, chain.dofs, 4 * number : 4 * number + 4]
            slope[..., chain.dofs] += np.einsum("knp,pdknm->dkm", part, y_slope, optimize=True)
        order = self._dof_of
        return Evaluation(
            log_det=float(log_det),
            log_det_slope=slope[..., order],
            torque_nm=torque[:, order],
            torque_slope=torque_slope[..., order, :][..., order],
        )

    def _by_parameter(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """(K, n, P) derivative of the torque w.r.t. mass and CoM of every link; for each link its own slope."""
        y = np.zeros((*q.shape, 4 * len(self._chains)))
        y_slopes = []
        for number, chain in enumerate(self._chains):
            dofs = chain.dofs
            found = [one.inverse_dynamics(q[:, dofs], v[:, dofs], a[:, dofs]) for one in chain.points]
            torque, slope = (np.array(part) for part in zip(*found, strict=True))
            for values in (torque, slope):
                values[1:] -= values[0]
                values[1:] *= chain.mass_kg / _COM_STEP_M
            y[:, dofs, 4 * number : 4 * number + 4] = np.moveaxis(torque, 0, -1)
            y_slopes.append(slope)
        return y, y_slopes

    def _information(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(P, P) Σ Yᵀ Ω Y over the fragments, and (K, n, P) the sum of Ω Y."""
        step, n, parameters = self.fragment_knots, y.shape[1], y.shape[2]
        weighted = np.zeros_like(y)
        information = np.diag(np.tile(_PRIOR, parameters // 4))
        for first in range(0, len(y) - step, step):
            part = y[first : first + step + 1].reshape(-1, parameters)
            seen = self._omega @ part
            information += part.T @ seen
            weighted[first : first + step + 1] += seen.reshape(step + 1, n, parameters)
        return information, weighted

    def _fragment_information(self, built: BuiltRobot, posture_rad: np.ndarray) -> np.ndarray:
        """Ω: torques at a fragment's knots to the information in its readings, initial state eliminated."""
        n, dt_s = len(posture_rad), built.control_dt_s
        q, still = np.empty((1, n)), np.zeros((1, n))
        q[:, self._qpos_of] = posture_rad
        _, (by_q, _, mass) = self._robot.inverse_dynamics(q - self._reference_q, still, still)
        kp, kd = np.empty(n), np.empty(n)
        kp[self._dof_of], kd[self._dof_of] = built.strength * built.kp, built.strength * built.kd
        inverse_mass = np.linalg.inv(mass[0] + np.diag(self._armature))
        loop = np.zeros((3 * n, 3 * n))
        loop[:n, n : 2 * n] = np.eye(n)
        loop[n : 2 * n, :n] = -inverse_mass @ (by_q[0] + np.diag(kp))
        loop[n : 2 * n, n : 2 * n] = -inverse_mass @ np.diag(self._damping + kd)
        loop[n : 2 * n, 2 * n :] = -inverse_mass
        step = expm(dt_s * loop)
        by_state, by_torque = [np.eye(2 * n)[:n]], [np.zeros((n, FRAGMENT_ROWS * n))]
        state, forced = np.eye(2 * n), np.zeros((2 * n, FRAGMENT_ROWS * n))
        for row in range(FRAGMENT_ROWS):
            state, forced = step[: 2 * n, : 2 * n] @ state, step[: 2 * n, : 2 * n] @ forced
            forced[:, row * n : (row + 1) * n] += step[: 2 * n, 2 * n :]
            by_state.append(state[:n])
            by_torque.append(forced[:n].copy())
        readings = np.concatenate(by_torque) @ np.kron(_between_knots(), np.eye(n))
        basis, _ = np.linalg.qr(np.concatenate(by_state))
        unexplained = readings - basis @ (basis.T @ readings)
        return unexplained.T @ unexplained


def _between_knots() -> np.ndarray:
    """(rows, knots) linear interpolation at the middle of every control step."""
    knots = FRAGMENT_ROWS // KNOT_ROWS + 1
    middle = (np.arange(FRAGMENT_ROWS) + 0.5) / KNOT_ROWS
    return np.maximum(0.0, 1.0 - np.abs(middle[:, None] - np.arange(knots)))


class _Tree:
    """Inverse dynamics of a Pinocchio model over many rows, with derivatives."""

    def __init__(self, tree: pin.Model) -> None:
        self._tree, self._data = tree, tree.createData()

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(K, n) torques and (3, K, n, n) their derivatives w.r.t. q, v and a."""
        count, n = q.shape
        torque, slope = np.empty((count, n)), np.empty((3, count, n, n))
        tree, data = self._tree, self._data
        for row in range(count):
            pin.computeRNEADerivatives(tree, data, q[row], v[row], a[row])
            torque[row] = data.tau
            slope[0, row], slope[1, row], slope[2, row] = data.dtau_dq, data.dtau_dv, data.M
        return torque, slope


@dataclass(frozen=True)
class _Chain:
    """The joints between the clamp and one payload link."""

    dofs: np.ndarray
    mass_kg: float
    """The link's own."""
    points: tuple[_Tree, ...]
    """The chain with no mass but 1 kg: at the link's CoM, then shifted along each axis."""


def _chain(model: mujoco.MjModel, link: str, parameters: LinkParameters) -> _Chain:
    bare = copy(model)
    bare.body_mass[:], bare.body_inertia[:] = 0.0, 0.0
    robot, physics = RigidBodyTree(bare), Physics.of_model(bare)
    mass, com, index = physics.mass.copy(), physics.com.copy(), physics.link_index(link)
    mass[index] = 1.0
    points, dofs = [], []
    for offset_m in np.vstack([np.zeros(3), _COM_STEP_M * np.eye(3)]):
        com[index] = parameters.com_in_link_m + offset_m
        robot.set_inertias(replace(physics, mass=mass, com=com))
        tree, chain = robot.tree, pin.Model()
        carrier = next(j for j in range(1, tree.njoints) if tree.inertias[j].mass > 0)
        path = [j for j in tree.supports[carrier] if j > 0]
        dofs = [tree.joints[j].idx_v for j in path]
        chain.gravity = tree.gravity
        for parent, j in enumerate(path):
            chain.addJoint(parent, tree.joints[j], tree.jointPlacements[j], tree.names[j])
        chain.inertias[len(path)] = tree.inertias[carrier]
        points.append(_Tree(chain))
    return _Chain(np.array(dofs), parameters.mass_kg, tuple(points))
