"""Simulate: roll fragments out in MuJoCo C, all cores, for one or many values of the physical parameters.

This is what both engines mean by "the model": MuJoCo's `implicitfast` step of the clamped tree, servos as recorded.
Parameters are written into copies of the compiled model's arrays; nothing is recompiled.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import mujoco
import mujoco.rollout
import numpy as np

from haloid.cores import usable_cores
from haloid.engines.fragments import Fragments
from haloid.engines.physics import Physics
from haloid.engines.sensing.sensors import sensed
from haloid.errors import HaloidError
from haloid.recordings.delay import delayed_inputs, held_mean, held_mean_slope

SOLVER_TOLERANCE = 1e-12
"""Friction loss is solved to this tolerance, so that predictions are smooth enough to difference."""


@dataclass(frozen=True)
class Trajectories:
    """States after every simulation step, in true joint coordinates (no encoder bias)."""

    q: np.ndarray
    """(B, steps + 1, n)"""
    v: np.ndarray
    inputs: np.ndarray
    """(B, steps, n) what the servos saw: delayed targets less the encoder bias, or delayed torques."""


class Simulator:
    """One clamped robot, ready to roll out fragments."""

    def __init__(self, spec: mujoco.MjSpec, timestep_s: float, *, contact: bool = False) -> None:
        """`spec` is clamped and has one servo (or motor) for every joint.

        Without `contact`, nothing but the clamp touches the robot: no floor, no self-collision.
        """
        spec = spec.copy()
        for body in spec.bodies[1:]:
            body.simple = 0  # a simple body's mass matrix has no room for the inertias that are written to it
        model = spec.compile()
        model.opt.timestep = timestep_s
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
        model.opt.tolerance, model.opt.ls_tolerance = SOLVER_TOLERANCE, 1e-6
        model.opt.iterations = max(model.opt.iterations, 100)
        model.opt.ls_iterations = max(model.opt.ls_iterations, 50)
        model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS)
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)  # a rollout that breaks down must show it
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_LIMIT)  # fragments hold no joint at its stop
        # geoms and bounding volumes may be laid out along the compiled inertias' axes, and other inertias are written
        model.geom_sameframe[:] = mujoco.mjtSameFrame.mjSAMEFRAME_NONE
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
        if not contact:
            model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        self.model = model
        self.contact = contact
        self.nominal = Physics.of_model(model)
        self._actuator_of_dof = self._match_actuators()
        self.effort_limit = self._symmetric_effort_limits()
        threads = usable_cores()
        self._rollout = mujoco.rollout.Rollout(nthread=threads if threads > 1 else 0)
        self._data = [mujoco.MjData(model) for _ in range(threads)]

    def use_one_thread(self) -> None:
        """Rolls out in the calling thread alone, as a forked process must."""
        self._inherited = self._rollout  # its threads did not survive the fork: destroying it would wait for them
        self._rollout = mujoco.rollout.Rollout(nthread=0)
        self._data = self._data[:1]

    @property
    def dof_joints(self) -> tuple[str, ...]:
        return self.nominal.joints

    def _match_actuators(self) -> np.ndarray:
        model = self.model
        for j in range(model.njnt):
            if model.jnt_type[j] not in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE):
                raise HaloidError(
                    f"joint '{model.joint(j).name}' is neither a hinge nor a slide; the clamped robot must consist of "
                    "hinge and slide joints (is a clamp missing in the recording?)"
                )
        on_joint = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
        drives = [i for i in range(model.nu) if model.actuator_trntype[i] in on_joint]
        actuator_of_joint = {int(model.actuator_trnid[i, 0]): i for i in drives}
        missing = [model.joint(j).name for j in range(model.njnt) if j not in actuator_of_joint]
        if missing:
            raise HaloidError(
                f"no recorded command drives these joints: {', '.join(missing)}. Record a command for every joint, "
                "or remove the joint from the robot's file if it cannot move"
            )
        return np.array([actuator_of_joint[int(j)] for j in model.dof_jntid])

    def _symmetric_effort_limits(self) -> np.ndarray:
        """(n,) N·m; infinite where there is none."""
        low, high = self.model.actuator_forcerange[self._actuator_of_dof].T
        limited = self.model.actuator_forcelimited[self._actuator_of_dof].astype(bool)
        if np.any(uneven := limited & (low != -high)):
            i = int(np.argmax(uneven))
            raise HaloidError(
                f"the effort of joint '{self.dof_joints[i]}' is limited to {low[i]:g} to {high[i]:g} N·m; expected the "
                "same limit both ways. Give it one in the robot's file"
            )
        return np.where(limited, high, np.inf)

    def with_physics(self, physics: Physics) -> mujoco.MjModel:
        """A copy of the model with these parameters (gains are set by the fragments)."""
        model = copy.copy(self.model)
        physics.write_to(model, self.nominal)
        mujoco.mj_setConst(model, self._data[0])
        return model

    def set_gains(self, model: mujoco.MjModel, physics: Physics, kp: np.ndarray, kd: np.ndarray, torque: bool) -> None:
        """Writes one row of gains, (n,), into the model's actuators."""
        act = self._actuator_of_dof
        stiffness, damping = physics.strength * physics.kp * kp, physics.strength * physics.kd * kd
        model.actuator_gainprm[act, 0] = physics.strength if torque else stiffness
        model.actuator_biasprm[act, 1] = 0.0 if torque else -stiffness
        model.actuator_biasprm[act, 2] = 0.0 if torque else -damping
        limit = np.where(np.isfinite(self.effort_limit), physics.strength * self.effort_limit, 0.0)
        model.actuator_forcerange[act] = np.stack([-limit, limit], axis=1)

    def inputs(self, physics: Physics, fragments: Fragments) -> np.ndarray:
        """(B, steps, n) inputs per simulation step after delay and encoder bias."""
        if fragments.row_time_s is not None:
            late = _between_steps(held_mean, fragments, physics.delay)
        else:
            flat = _by_row(fragments.inputs)
            late = delayed_inputs(flat, physics.delay, fragments.control_dt_s, fragments.timestep_s)
            late = _by_fragment(late, fragments)
        return late if fragments.torque_mode else late - physics.bias

    def run(self, physics: Physics, fragments: Fragments, q0: np.ndarray, v0: np.ndarray) -> Trajectories:
        """Rolls out all fragments from encoder readings `q0` (B, n) and velocities `v0` (B, n)."""
        return self.run_many([physics], fragments, q0[None], v0[None])[0]

    def run_many(
        self, physics: Sequence[Physics], fragments: Fragments, q0: np.ndarray, v0: np.ndarray
    ) -> list[Trajectories]:
        """The same for many parameter values at once: `q0`, `v0` are (K, B, n)."""
        count, n, act = fragments.count, self.model.nv, self._actuator_of_dof
        inputs = np.stack([self.inputs(p, fragments) for p in physics])
        steps = inputs.shape[2]
        control = np.zeros((len(physics), count, steps, self.model.nu))
        control[..., act] = inputs
        control = control.reshape(len(physics) * count, steps, self.model.nu)
        true_q0 = q0 - np.stack([p.bias for p in physics])[:, None]
        state = np.concatenate([np.zeros((*q0.shape[:2], 1)), true_q0, v0], axis=2).reshape(len(physics) * count, -1)
        states = self._roll(physics, fragments, state, control)
        whole = np.concatenate([state[:, None], states], axis=1).reshape(len(physics), count, steps + 1, -1)
        return [
            Trajectories(w[..., 1 : 1 + n], w[..., 1 + n : 1 + 2 * n], u) for w, u in zip(whole, inputs, strict=True)
        ]

    def readings(
        self, physics: Sequence[Physics], fragments: Fragments, q0: np.ndarray, v0: np.ndarray
    ) -> list[np.ndarray]:
        """What encoders and further sensors would read at the control rows, (B, N + 1, n + s) for each of the parameter
        values."""
        runs = self.run_many(physics, fragments, q0, v0)
        angles = [fragments.at_rows(run.q) + p.bias for run, p in zip(runs, physics, strict=True)]
        if not fragments.sensors:
            return angles
        further = [sensed(self, p, fragments, run) for run, p in zip(runs, physics, strict=True)]
        return [np.concatenate(parts, axis=2) for parts in zip(angles, further, strict=True)]

    def _roll(self, physics, fragments: Fragments, state: np.ndarray, control: np.ndarray) -> np.ndarray:
        torque, count = fragments.torque_mode, fragments.count
        if not fragments.gains_vary:
            models = []
            for p in physics:
                model = self.with_physics(p)
                self.set_gains(model, p, fragments.kp, fragments.kd, torque)
                models += [model] * count
            return np.asarray(self._rollout.rollout(models, self._data, state, control)[0])
        models = [self.with_physics(p) for p in physics for _ in range(count)]
        if fragments.row_time_s is not None:
            for i, model in enumerate(models):
                self.set_gains(
                    model, physics[i // count], fragments.kp[i % count, 0], fragments.kd[i % count, 0], torque
                )
            return np.asarray(self._rollout.rollout(models, self._data, state, control)[0])
        pieces = []
        for row in range(fragments.rows):
            for i, model in enumerate(models):
                b = i % count
                self.set_gains(model, physics[i // count], fragments.kp[b, row], fragments.kd[b, row], torque)
            window = slice(row * fragments.substeps, (row + 1) * fragments.substeps)
            pieces.append(np.asarray(self._rollout.rollout(models, self._data, state, control[:, window])[0]))
            state = pieces[-1][:, -1]
        return np.concatenate(pieces, axis=1)


def _by_row(per_fragment: np.ndarray) -> np.ndarray:
    """(B, rows, n) to (rows, B·n), the shape `delayed_inputs` takes."""
    return per_fragment.swapaxes(0, 1).reshape(per_fragment.shape[1], -1)


def _by_fragment(per_step: np.ndarray, fragments: Fragments) -> np.ndarray:
    """(steps, B·n) with the rows before and after to (B, steps, n) without."""
    first = fragments.history * fragments.substeps
    per_step = per_step[first : first + fragments.steps]
    return per_step.reshape(len(per_step), fragments.count, -1).swapaxes(0, 1)


def _between_steps(
    held: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray], fragments: Fragments, delay_s: float
) -> np.ndarray:
    """(B, steps, n) `held(edges, times, inputs)` of every fragment, whose rows come at any time."""
    assert fragments.row_time_s is not None
    edges_s = fragments.timestep_s * np.arange(fragments.steps + 1) - delay_s
    rows = zip(fragments.row_time_s, fragments.inputs, strict=True)
    return np.stack([held(edges_s, time_s[:-1], inputs) for time_s, inputs in rows])


def delay_slope(fragments: Fragments, delay_s: float) -> np.ndarray:
    """(B, steps, n) derivative of the delayed inputs with respect to the delay."""
    if fragments.row_time_s is not None:
        return _between_steps(held_mean_slope, fragments, delay_s)
    h = fragments.timestep_s
    below = np.floor(delay_s / h) * h
    flat = _by_row(fragments.inputs)
    ends = [delayed_inputs(flat, below + k * h, fragments.control_dt_s, h) for k in (0, 1)]
    return _by_fragment((ends[1] - ends[0]) / h, fragments)
