"""The analytic engine: exact discrete sensitivities of MuJoCo's `implicitfast` step of a tree, on a floor or not.

One step, with h the timestep, τ the servo force, D the diagonal of joint damping and of the velocity gain of servos
that are not saturated, and f the friction force of joints with friction loss (and that of the floor, see contact.py):

    M aₑ = τ − d·v − rnea(q, v, 0) + f        the acceleration on which MuJoCo solves friction
    (M + h D) a = τ − d·v − rnea(q, v, 0) + f   the acceleration it steps with
    v⁺ = v + h a,  q⁺ = q + h v⁺

    f_i = −(aₑ − a_ref)_i / R_i while the joint sticks, ∓frictionloss_i while it slips,
    a_ref = −b v,  R_i = (1 − imp)/imp · (M₀⁻¹)_ii   (MuJoCo's soft constraint at its reference configuration)

The states come from MuJoCo itself; here this step, not the ODE, is differentiated. With Y the regressor of inverse
dynamics, (M + h D) da = dτ − d(d·v) − ∂rnea(q, v, a) − Y(q, v, a) dπ − h dD a + df. That makes da a linear function of
the parameters' and the state's changes, found for many steps at once; one pass over a trajectory of the state's
derivatives then gives the Jacobian for all parameters and the initial state.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
import pinocchio as pin

from haloid.engines.contact import FloorContact, Touch, unsupported_contact
from haloid.engines.engine import Engine, Sensitivities
from haloid.engines.fragments import Fragments
from haloid.engines.link_forces import Kinematics, LinkForces
from haloid.engines.physics import JOINT_KINDS, Column, Physics
from haloid.engines.rigid_body import RigidBodyTree
from haloid.engines.sensing.sensors import Rows, sensed, with_row_zero
from haloid.engines.sensing.servo import Servo
from haloid.engines.simulate import Simulator, Trajectories, delay_slope
from haloid.errors import HaloidError

_SLIP_SLACK = 1e-6
"""A friction force this close to the friction loss, relatively, counts as slipping."""
_TOGETHER = 48
"""Steps (of all fragments) that are differentiated together; bounds the memory and keeps the arrays in the cache."""


class UnsupportedModelError(HaloidError):
    """The model has features that the analytic step does not contain."""


class AnalyticEngine(Engine):
    """Rolls out in MuJoCo C, differentiates with Pinocchio."""

    name = "analytic"
    forks = True

    def __init__(self, simulator: Simulator) -> None:
        super().__init__(simulator)
        check_supported(simulator)
        self.tree = RigidBodyTree(simulator.model)
        self.friction = FrictionConstants.of_model(simulator.model)

    def jacobian(
        self, physics: Physics, columns: list[Column], fragments: Fragments, q0: np.ndarray, v0: np.ndarray
    ) -> Sensitivities:
        trajectories = self.simulator.run(physics, fragments, q0, v0)
        self.tree.set_inertias(physics)
        return _Sweep(self, physics, columns, fragments, trajectories).run()


@dataclass(frozen=True)
class FrictionConstants:
    """MuJoCo's soft constraint of a joint with friction loss: aₑ − a_ref = −R f with a_ref = −b v."""

    b: np.ndarray
    """1/s"""
    r_over_inverse_weight: np.ndarray

    @classmethod
    def of_model(cls, model: mujoco.MjModel) -> FrictionConstants:
        solref, solimp = model.dof_solref, model.dof_solimp
        dmin, dmax = np.clip(solimp[:, 0], 1e-4, 0.9999), np.clip(solimp[:, 1], 1e-4, 0.9999)
        flat = (dmin == dmax) | (solimp[:, 2] <= 1e-15)
        impedance = np.where(flat, 0.5 * (dmin + dmax), dmin)
        time_constant = np.maximum(solref[:, 0], 2 * model.opt.timestep)
        b = np.where(solref[:, 0] > 0, 2 / (dmax * time_constant), -solref[:, 1] / dmax)
        return cls(b, (1 - impedance) / impedance)


@dataclass(frozen=True)
class _Moment:
    """Some steps, (T, n): state, acceleration, inputs and the servos."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    inputs: np.ndarray
    input_slope: np.ndarray | None
    """Derivative of the inputs w.r.t. the delay, where it is a parameter."""
    servo: Servo


@dataclass(frozen=True)
class _Dynamics:
    """Inverse dynamics at some steps."""

    mass: np.ndarray
    """(T, n, n), armature included."""
    by_state: np.ndarray
    """(T, n, 2n), by q and v."""
    torque: np.ndarray
    """(T, n), armature not included."""


class _Sweep:
    """One forward pass over all fragments; arrays are batched over fragments and steps, Pinocchio is called for each.

    Derivatives are laid out by the P parameters, then the n positions and n velocities.
    """

    def __init__(
        self,
        engine: AnalyticEngine,
        physics: Physics,
        columns: list[Column],
        fragments: Fragments,
        trajectories: Trajectories,
    ) -> None:
        self.physics, self.columns, self.fragments, self.trajectories = physics, columns, fragments, trajectories
        self.simulator = engine.simulator
        self.tree = engine.tree
        self.h = fragments.timestep_s
        self.n = n = len(physics.joints)
        self.total = len(columns) + 2 * n
        self.effort_limit = engine.simulator.effort_limit
        model = engine.simulator.model
        self.spring = model.jnt_stiffness[model.dof_jntid]
        self.spring_zero = model.qpos_spring
        self.links = LinkForces(model, physics, columns)
        self.joint_columns = {}
        for kind in JOINT_KINDS:
            chosen = [(i, physics.joint_index(c.owner)) for i, c in enumerate(columns) if c.kind == kind]
            if chosen:
                self.joint_columns[kind] = tuple(np.array(chosen).T)
        self.delay_columns = [i for i, c in enumerate(columns) if c.kind == "delay"]
        self.delay_slope = delay_slope(fragments, physics.delay) if self.delay_columns else None
        self.rubs = physics.frictionloss > 0
        self.has_friction = bool(self.rubs.any()) or "frictionloss" in self.joint_columns
        self.contact = None
        if self.has_friction or engine.simulator.contact:
            inverse_mass = self._reference_inverse_mass()
        if engine.simulator.contact:
            on_floor = engine.simulator.with_physics(physics)
            self.contact = FloorContact(on_floor, physics, columns, self.links, inverse_mass)
        if self.has_friction:
            inverse_weight, slope = self._reference_inverse_weight(inverse_mass)
            self.friction_b = engine.friction.b
            self.friction_r = engine.friction.r_over_inverse_weight * inverse_weight
            self.friction_r_slope = engine.friction.r_over_inverse_weight[:, None] * slope

    def run(self) -> Sensitivities:
        n, fragments = self.n, self.fragments
        count, parameters = fragments.count, len(self.columns)
        state = np.zeros((count, 2 * n, self.total))  # derivatives of q, then of v
        state[:, :, parameters:] = np.eye(2 * n)
        if "bias" in self.joint_columns:  # the true angle starts at the reading less the bias
            i, j = self.joint_columns["bias"]
            state[:, j, i] = -1.0
        dq, dv = state[:, :n], state[:, n:]
        read = state if fragments.sensors else dq
        out = np.zeros((count, fragments.rows + 1, read.shape[1], self.total))
        before, beyond = fragments.step_before_row()
        steps, window = fragments.steps, max(1, _TOGETHER // count)
        self._read(out, read, before, beyond, 0)
        for first in range(0, steps, window):
            together = slice(first, min(first + window, steps))
            slopes = self._acceleration_slope(together).reshape(count, -1, n, self.total)
            for step in range(together.start, together.stop):
                slope = slopes[:, step - first]
                da = slope[..., parameters:] @ state
                da[..., :parameters] += slope[..., :parameters]
                da *= self.h
                dv += da
                dq += self.h * dv
                self._read(out, read, before, beyond, step + 1)
        readings = fragments.at_rows(self.trajectories.q) + self.physics.bias
        if fragments.sensors:
            further = sensed(self.simulator, self.physics, fragments, self.trajectories)
            readings = np.concatenate([readings, further], axis=2)
            out = np.concatenate([out[:, :, :n], self._sensor_slope(out)], axis=2)
        if "bias" in self.joint_columns:
            i, j = self.joint_columns["bias"]
            out[:, :, j, i] += 1.0
        return Sensitivities(readings, out[..., :parameters], out[..., parameters:])

    def _sensor_slope(self, by: np.ndarray) -> np.ndarray:
        """(B, N + 1, s, P + 2n) of the further sensors, from the derivative of the states at the rows."""
        rows, slopes = Rows.of(self.fragments, self.trajectories, self.delay_slope), []
        for sensor in self.fragments.sensors:
            by_state, direct = sensor.slope(self.simulator, self.physics, self.columns, rows)
            slope = by_state @ by[:, 1:]
            slope[..., : len(self.columns)] += direct
            slopes.append(slope)
        return with_row_zero(np.concatenate(slopes, axis=2))

    @staticmethod
    def _read(out: np.ndarray, state: np.ndarray, before: np.ndarray, beyond: np.ndarray, step: int) -> None:
        """Adds what the state after `step` steps gives to the rows at, just before and just after it."""
        for shift, weight in ((0, 1 - beyond), (1, beyond)):
            fragment, row = np.nonzero((before + shift == step) & (weight > 0))
            out[fragment, row] += weight[fragment, row, None, None] * state[fragment]

    def _acceleration_slope(self, steps: slice) -> np.ndarray:
        """(T, n, P + 2n) derivative of the accelerations that these steps are taken with."""
        now = self._moments(steps)
        dynamics = self._inverse_dynamics(now.q, now.v, now.a)
        at = self.links.kinematics(now.q) if self.links else None
        implicit_damping = self.h * (self.physics.damping + now.servo.damping)
        rhs = self._explicit_terms(now, dynamics, at)
        if self.has_friction or self.contact:
            force = dynamics.torque + (self.physics.armature + implicit_damping) * now.a
            force += self.physics.damping * now.v + self.spring * (now.q - self.spring_zero) - now.servo.force
            constraints = self._constraint_slope(force, now, dynamics, at, rhs)
            self._add_implicit_terms(rhs, now)
            rhs += constraints
        else:
            self._add_implicit_terms(rhs, now)
        return np.linalg.inv(_plus_diagonal(dynamics.mass, implicit_damping)) @ rhs

    def _moments(self, steps: slice) -> _Moment:
        physics, fragments, n = self.physics, self.fragments, self.n
        trajectories, after = self.trajectories, slice(steps.start + 1, steps.stop + 1)
        q, v, inputs = (x[:, steps].reshape(-1, n) for x in (trajectories.q, trajectories.v, trajectories.inputs))
        a = (trajectories.v[:, after].reshape(-1, n) - v) / self.h
        gains = None
        if not fragments.torque_mode:
            gains = fragments.kp, fragments.kd
            if fragments.gains_vary:
                rows = fragments.row_of_step[steps]
                gains = fragments.kp[:, rows].reshape(-1, n), fragments.kd[:, rows].reshape(-1, n)
        return _Moment(
            q=q,
            v=v,
            a=a,
            inputs=inputs,
            input_slope=None if self.delay_slope is None else self.delay_slope[:, steps].reshape(-1, n),
            servo=Servo.at(physics, self.effort_limit, q, v, inputs, gains),
        )

    def _inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> _Dynamics:
        """Inverse dynamics of (T, n) motions with their derivatives w.r.t. the state."""
        tree, data = self.tree.tree, self.tree.data
        count, n = a.shape
        mass, by_state = np.empty((count, n, n)), np.empty((count, n, 2 * n))
        torque = np.empty((count, n))
        pin_q = q - self.tree.reference_q
        for b in range(count):
            by_state[b, :, :n], by_state[b, :, n:], mass[b] = pin.computeRNEADerivatives(
                tree, data, pin_q[b], v[b], a[b]
            )
            torque[b] = data.tau
        return _Dynamics(_plus_diagonal(mass, self.physics.armature), by_state, torque)

    def _explicit_terms(self, now: _Moment, dynamics: _Dynamics, at: Kinematics | None) -> np.ndarray:
        """Derivative of servo force − damping − inverse dynamics at a fixed acceleration."""
        physics, n, parameters = self.physics, self.n, len(self.columns)
        rhs = np.zeros((len(now.q), n, self.total))
        by_state, diagonal = rhs[..., parameters:], np.arange(n)
        np.negative(dynamics.by_state, out=by_state)
        by_state[:, diagonal, diagonal] -= now.servo.stiffness + self.spring
        by_state[:, diagonal, n + diagonal] -= now.servo.damping + physics.damping
        if at is not None:
            rhs[:, :, self.links.columns] -= self.links.torques(at, now.v, now.a)
        by_kind = {"armature": -now.a, "damping": -now.v, **now.servo.by_kind}
        for kind, (i, j) in self.joint_columns.items():
            if kind in by_kind:
                rhs[:, j, i] += by_kind[kind][:, j]
        if now.input_slope is not None:
            rhs[:, :, self.delay_columns] += (now.servo.gain * now.input_slope)[..., None]
        return rhs

    def _add_implicit_terms(self, rhs: np.ndarray, now: _Moment) -> None:
        """Adds −h dD a: how the parameters change the implicit damping."""
        by_kind = {"damping": np.ones_like(now.a), **now.servo.damping_by_kind}
        for kind, slope in by_kind.items():
            if kind in self.joint_columns:
                i, j = self.joint_columns[kind]
                rhs[:, j, i] -= self.h * (slope * now.a)[:, j]

    def _constraint_slope(
        self, force: np.ndarray, now: _Moment, dynamics: _Dynamics, at: Kinematics | None, explicit_rhs: np.ndarray
    ) -> np.ndarray:
        """(T, n, P + 2n) derivative of `force`, the sum of friction and contact: joints slip, stick softly, feet press.

        What sticks or presses follows the explicit acceleration aₑ = a + w, so that one's derivative is solved for too:
        (M + R⁻¹ + JᵀR⁻¹J) daₑ = explicit terms at a − d(M w) + what slips, creeps and changes at the contacts.
        """
        implicit_force = self.h * (self.physics.damping + now.servo.damping) * now.a
        w = np.linalg.solve(dynamics.mass, implicit_force[..., None])[..., 0]
        touch = None if self.contact is None else self.contact.at(now.q, now.v, now.a + w)
        if touch is not None:
            force = force - touch.force
        sticks = self.rubs & (np.abs(force) < self.physics.frictionloss * (1 - _SLIP_SLACK))
        slope = np.zeros_like(explicit_rhs)
        if "frictionloss" in self.joint_columns:
            i, j = self.joint_columns["frictionloss"]
            # a joint without friction loss would slip as soon as it had some, against its motion
            direction = np.where(self.rubs, np.sign(force), -np.sign(now.a + w + self.friction_b * now.v))
            slope[:, j, i] = (direction * ~sticks)[:, j]
        if touch is None and not sticks.any():
            return slope
        rhs = explicit_rhs + slope
        self._add_change_of_momentum(rhs, now.q, w, at)
        soft, followed = self._sticking(sticks, force, touch, rhs.shape)
        rhs += soft
        soft -= followed @ (np.linalg.inv(dynamics.mass + followed) @ rhs)
        slope += soft
        return slope

    def _add_change_of_momentum(self, rhs: np.ndarray, q: np.ndarray, w: np.ndarray, at: Kinematics | None) -> None:
        """Adds −d(M w), w fixed."""
        n, parameters = self.n, len(self.columns)
        gravity, self.tree.tree.gravity = self.tree.tree.gravity.copy(), pin.Motion.Zero()
        momentum = self._inverse_dynamics(q, np.zeros_like(w), w)
        self.tree.tree.gravity = gravity
        rhs[..., parameters : parameters + n] -= momentum.by_state[..., :n]
        if at is not None:
            rhs[:, :, self.links.columns] -= self.links.torques(at, np.zeros_like(w), w, gravity=False)
        if "armature" in self.joint_columns:
            i, j = self.joint_columns["armature"]
            rhs[:, j, i] -= w[:, j]

    def _sticking(
        self, sticks: np.ndarray, friction: np.ndarray, touch: Touch | None, shape: tuple[int, ...]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Derivative of the soft forces at a fixed acceleration, and minus that by the acceleration, (T, n, n)."""
        n, parameters = self.n, len(self.columns)
        soft = np.zeros(shape) if touch is None else touch.slope
        followed = np.zeros((len(sticks), n, n)) if touch is None else touch.stiffness
        if sticks.any():
            joint, per_r = np.arange(n), np.where(sticks, 1 / self.friction_r, 0.0)
            soft[:, joint, parameters + n + joint] -= per_r * self.friction_b
            soft[..., :parameters] -= (per_r * friction)[..., None] * self.friction_r_slope
            followed = _plus_diagonal(followed, per_r)
        return soft, followed

    def _reference_inverse_mass(self) -> np.ndarray:
        """M₀⁻¹ at the reference configuration."""
        mass = pin.crba(self.tree.tree, self.tree.data, np.zeros(self.n))
        return np.linalg.inv(np.triu(mass) + np.triu(mass, 1).T + np.diag(self.physics.armature))

    def _reference_inverse_weight(self, inverse: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(M₀⁻¹)_ii at the reference configuration, (n,), and its derivative w.r.t. the parameters, (n, P)."""
        n = self.n
        slope = np.zeros((n, len(self.columns)))
        if self.links:
            at = self.links.kinematics(np.repeat(self.tree.reference_q[None], n, axis=0))
            by_link = self.links.torques(at, np.zeros((n, n)), inverse, gravity=False)
            slope[:, self.links.columns] = -np.einsum("kd,kdc->kc", inverse, by_link)
        if "armature" in self.joint_columns:
            i, j = self.joint_columns["armature"]
            slope[:, i] = -(inverse[:, j] ** 2)
        return np.diag(inverse).copy(), slope


def _plus_diagonal(matrices: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """(T, n, n) matrices with (n,) or (T, n) added to their diagonals."""
    result = matrices.copy()
    n = matrices.shape[-1]
    result[:, np.arange(n), np.arange(n)] += diagonal
    return result


def check_supported(simulator: Simulator, engine: str = "analytic") -> None:
    """Refuses what the differentiated step leaves out."""
    model = simulator.model
    ignored = (
        mujoco.mjtDisableBit.mjDSBL_ACTUATION | mujoco.mjtDisableBit.mjDSBL_SPRING | mujoco.mjtDisableBit.mjDSBL_DAMPER
    )
    features = {
        **dict.fromkeys(unsupported_contact(model) if simulator.contact else (), True),
        "joint stops": not model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_LIMIT),
        "a force limit at a joint instead of its servo": bool(np.any(model.jnt_actfrclimited)),
        "noslip iterations": model.opt.noslip_iterations > 0,
        "actuation, springs or damping disabled": bool(model.opt.disableflags & int(ignored)),
        "tendons": model.ntendon > 0,
        "equality constraints": model.neq > 0,
        "gravity compensation": bool(np.any(model.body_gravcomp)),
        "a fluid (density, viscosity or wind)": bool(
            model.opt.density or model.opt.viscosity or np.any(model.opt.wind)
        ),
        "nonlinear damping or stiffness": bool(np.any(model.dof_dampingpoly) or np.any(model.jnt_stiffnesspoly)),
    }
    found = [name for name, there in features.items() if there]
    if found:
        raise UnsupportedModelError(
            f"the {engine} engine cannot differentiate a model with {' and '.join(found)}; "
            "use --engine finite-difference, which can"
        )
