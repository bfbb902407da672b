"""A six-joint arm with a UR10e's published figures, driven by its own controller and logged as such arms are.

In: a seed and a payload. Out: recordings in torque mode. The robot that moves is not quite that of the data sheet, its
joints rub with 2 to 14 N·m, its torques are read from motor currents (noisy, low-passed, by drive constants that may be
wrong), and its rows come every 8 to 13 ms. Of what happens in here the identification knows how hard friction sticks,
and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from haloid.lab.excitation import Excitation, JointLimits, Reference, multi_sine
from haloid.lab.loads import RigidLoad, put_on
from haloid.recordings.recording import Recording
from haloid.robots.frames import rotation_of

JOINTS = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
LINKS = ("shoulder", "upper_arm", "forearm", "wrist_1_link", "wrist_2_link", "tool")
# Universal Robots, "DH parameters for calculations of kinematics and dynamics": UR10e.
_DH_A_M = (0.0, -0.6127, -0.57155, 0.0, 0.0, 0.0)
_DH_D_M = (0.1807, 0.0, 0.0, 0.17415, 0.11985, 0.11655)
_DH_ALPHA_RAD = (np.pi / 2, 0.0, 0.0, np.pi / 2, -np.pi / 2, 0.0)
_MASS_KG = (7.369, 13.051, 3.989, 2.1, 1.98, 0.615)
_COM_M = ((0.021, 0, 0.027), (0.38, 0, 0.158), (0.24, 0, 0.068), (0, 0.007, 0.018), (0, 0.007, 0.018), (0, 0, -0.026))
"""In the links' Denavit–Hartenberg frames."""
_GYRATION_M = ((0.07, 0.07, 0.07), (0.06, 0.22, 0.22), (0.05, 0.2, 0.2), (0.04,) * 3, (0.04,) * 3, (0.03,) * 3)
"""Radii of gyration, of cylinders of the links' size."""
EFFORT_NM = (330.0, 330.0, 150.0, 56.0, 56.0, 56.0)
_ARMATURE = 0.1

_FRICTION_NM = (12.0, 12.0, 8.0, 2.7, 2.5, 2.3)
"""Of the robot that moves, each ± 15 %: 2 to 14 N·m."""
_DAMPING = (4.0, 4.0, 3.0, 0.8, 0.8, 0.8)
FRICTION_IMPEDANCE = 0.99
"""MuJoCo's solimpfriction: a joint at rest hardly creeps. The identification knows it."""
_KP = (6000.0, 6000.0, 4000.0, 900.0, 900.0, 600.0)
_KD = (600.0, 600.0, 300.0, 40.0, 40.0, 20.0)
_POSTURE_RAD = (0.0, -1.2, 1.6, -1.0, -1.2, 0.3)
_EXCITATION = Excitation(duration_s=20.0, lowest_hz=0.1, highest_hz=0.8, velocity_limit_rad_s=1.5)
_STEP_S = 0.001
_ROW_S = (0.008, 0.013)


@dataclass(frozen=True)
class Wear:
    """How far the arm is from its data sheet and its log from the truth."""

    mass_share: float = 0.02
    com_m: float = 0.003
    drive_share: float = 0.0
    """Drive constants are off by up to this share, each joint by its own."""
    torque_noise_share: float = 0.002
    """Of the effort limit."""
    filter_s: float = 0.005
    encoder_noise_rad: float = 5e-5


def data_sheet() -> mujoco.MjSpec:
    """The arm as published: no friction, no damping."""
    spec = mujoco.MjSpec()
    spec.modelname = "industrial arm"
    spec.compiler.degree = False
    spec.option.timestep = 0.004
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    parent, pos, quat = spec.worldbody, np.zeros(3), np.array([1.0, 0, 0, 0])
    for i, (joint, link) in enumerate(zip(JOINTS, LINKS, strict=True)):
        body = parent.add_body(name=link, pos=pos, quat=quat)
        to_next, turn = np.array([_DH_A_M[i], 0, _DH_D_M[i]]), _about_x(_DH_ALPHA_RAD[i])
        body.mass, body.ipos = _MASS_KG[i], to_next + rotation_of(turn) @ np.array(_COM_M[i])
        body.inertia, body.iquat = _MASS_KG[i] * np.square(_GYRATION_M[i]), turn
        body.explicitinertial = True
        body.add_joint(name=joint, axis=[0, 0, 1], armature=_ARMATURE, range=[-2 * np.pi, 2 * np.pi])
        motor = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.forcerange = [-EFFORT_NM[i], EFFORT_NM[i]]
        parent, pos, quat = body, to_next, turn
    return spec


def _about_x(angle_rad: float) -> np.ndarray:
    return np.array([np.cos(angle_rad / 2), np.sin(angle_rad / 2), 0.0, 0.0])


class IndustrialArm:
    """One arm with its own wear; every run of it is played by the same hardware."""

    def __init__(self, file: Path, wear: Wear, seed: int) -> None:
        """`file` is the data sheet, as the recordings name it."""
        self.file, self.wear = file, wear
        self._rng = np.random.default_rng((seed, 11))
        uniform = self._rng.uniform
        self.mass_factor, self.com_shift = uniform(-1, 1, 6) * wear.mass_share, uniform(-1, 1, (6, 3)) * wear.com_m
        self.friction_nm = np.array(_FRICTION_NM) * uniform(0.85, 1.15, 6)
        self.damping = np.array(_DAMPING) * uniform(0.7, 1.3, 6)
        self.armature = _ARMATURE * uniform(0.9, 1.1, 6)
        self.drive = 1 + wear.drive_share * uniform(-1, 1, 6)
        """True torque over what the log says."""

    def _model(self, loads: Sequence[RigidLoad]) -> mujoco.MjModel:
        spec = data_sheet()
        for i, link in enumerate(LINKS):
            body = spec.body(link)
            body.mass *= 1 + self.mass_factor[i]
            body.ipos = body.ipos + self.com_shift[i]
            joint = body.joints[0]
            joint.frictionloss, joint.damping[0], joint.armature = (
                self.friction_nm[i],
                self.damping[i],
                self.armature[i],
            )
            joint.solimp_friction[:2] = FRICTION_IMPEDANCE
        put_on(spec, loads)
        spec.option.timestep = _STEP_S
        return spec.compile()

    def record(self, name: str, seed: int, loads: Sequence[RigidLoad] = ()) -> Recording:
        """20 s of a multi-sine, tracked by the arm's own controller."""
        model, sheet = self._model(loads), data_sheet().compile()
        data, bare = mujoco.MjData(model), mujoco.MjData(sheet)
        reference = self._reference(seed)
        kp, kd, effort = np.array(_KP), np.array(_KD), np.array(EFFORT_NM)
        data.qpos[:] = reference.q_rad[0]
        steps = len(reference.time_s)
        q, torque = np.empty((steps, 6)), np.empty((steps, 6))
        for step in range(-1000, steps):
            row = max(step, 0)
            bare.qpos[:] = data.qpos
            mujoco.mj_forward(sheet, bare)
            command = kp * (reference.q_rad[row] - data.qpos) + kd * (reference.dq_rad_s[row] - data.qvel)
            if step >= 0:
                q[step] = data.qpos
            data.ctrl[:] = np.clip(command + bare.qfrc_bias, -effort, effort)
            mujoco.mj_step(model, data)
            if step >= 0:
                torque[step] = data.actuator_force
        return self._log(name, reference.time_s, q, torque, seed, loaded=bool(loads))

    def _reference(self, seed: int) -> Reference:
        limits = JointLimits(np.full(6, -np.inf), np.full(6, np.inf), np.array(EFFORT_NM))
        return multi_sine(
            _EXCITATION,
            JOINTS,
            ("arm",) * 6,
            np.array(_POSTURE_RAD),
            limits,
            lambda q, _v, _a: np.zeros_like(q),
            _STEP_S,
            seed,
        )

    def _log(
        self, name: str, time_s: np.ndarray, q: np.ndarray, torque: np.ndarray, seed: int, *, loaded: bool
    ) -> Recording:
        """What reaches the log: currents through a filter, rows at uneven times."""
        rng, wear = np.random.default_rng((seed, 12)), self.wear
        noise = wear.torque_noise_share * np.array(EFFORT_NM)
        measured = torque / self.drive + noise * rng.standard_normal(torque.shape)
        share = _STEP_S / (wear.filter_s + _STEP_S)
        for step in range(1, len(measured)):
            measured[step] = measured[step - 1] + share * (measured[step] - measured[step - 1])
        gaps = rng.integers(round(_ROW_S[0] / _STEP_S), round(_ROW_S[1] / _STEP_S) + 1, len(time_s))
        rows = np.cumsum(gaps)
        rows = rows[rows < len(time_s)]
        return Recording(
            name=name,
            robot=str(self.file),
            clamp=None,
            joint_names=JOINTS,
            time_s=time_s[rows],
            q_rad=q[rows] + wear.encoder_noise_rad * rng.standard_normal((len(rows), 6)),
            tau_nm=measured[rows],
            actuation="torque",
            payload="unknown" if loaded else "none",
        )
