"""The stand-in for real robots: worn motors on the arms, played at 1 kHz, read by encoders.

In: targets, payloads, and which robot of its kind. Out: the real side of pairs, and the simulated one: the nominal
robot with the same payload, given the same commands from the same first state.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from haloid.gap.crowd import Base, BaseModels, Crowd, with_payload
from haloid.gap.dataset.pairs import Motion
from haloid.lab.motors.wear import Wear, worn_motors
from haloid.lab.sensors import ENCODER_STEP_RAD
from haloid.robots.description import describe

PHYSICS_STEP_S = 0.001
SETTLE_S = 0.8
"""A robot holds its first target for this long before frame 0."""
MOST_SHARE = 0.6
"""Of a motor's torque that a motion may take; a worn motor passes on little more."""
_USUAL_SPEED_RAD_S = 20.0
_POSTURES = 500


@dataclass(frozen=True)
class Readings:
    """What is measured: noise of the encoders and of the velocities."""

    noise_rad: float = 1e-4
    velocity_noise_rad_s: float = 0.01


@dataclass(frozen=True)
class Played:
    """(B, T, n) each, as measured."""

    q_rad: np.ndarray
    dq_rad_s: np.ndarray
    tau_nm: np.ndarray
    temperature_c: np.ndarray
    true_q_rad: np.ndarray
    """Before the encoders."""


class Twins:
    """The worn robots of one kind."""

    def __init__(self, base: Base, wear: Wear, readings: Readings | None = None) -> None:
        self.base, self.wear, self.readings = base, wear, readings or Readings()
        self._spec = base.motor_spec()
        model = self._spec.compile()
        joints = [model.joint(name).id for name in base.joint_names]
        actuators = [model.actuator(name).id for name in base.joint_names]
        self.lower_rad, self.upper_rad = model.jnt_range[joints].T
        self.effort_nm = model.actuator_forcerange[actuators, 1]
        speeds = describe(base.robot).speed_limits_rad_s
        self._no_load = np.array([speeds.get(name, _USUAL_SPEED_RAD_S) for name in base.joint_names])
        self._models: dict[float, mujoco.MjModel] = {}
        self._lightest: dict[float, np.ndarray] = {}

    def play(
        self,
        target_rad: np.ndarray,
        units: np.ndarray,
        payload_kg: np.ndarray,
        rate_hz: float,
        rng: np.random.Generator,
    ) -> Played:
        """(B, T, n) targets, each on its own robot with its own payload; motors start cold to warm."""
        count, rows, n = target_rad.shape
        steps = round(1 / rate_hz / PHYSICS_STEP_S)
        crowd = Crowd([self._model(float(kg)) for kg in payload_kg], self.base.joint_names)
        kp, kd = gain_arrays(self.base)
        train = worn_motors(
            kp,
            kd,
            self.effort_nm,
            PHYSICS_STEP_S,
            no_load_rad_s=self._no_load,
            wear=self.wear,
            seeds=tuple(int(unit) for unit in units),
        )
        first = target_rad[:, 0]
        train.reset(first, rng.uniform(25.0, 60.0, (count, n)))
        crowd.put(first, np.zeros_like(first))
        read = {name: np.empty((count, rows, n)) for name in ("q", "dq", "tau", "temperature")}
        settling = round(SETTLE_S / PHYSICS_STEP_S)
        for step in range(settling + rows * steps):
            row, begun = divmod(step - settling, steps)
            target = target_rad[:, max(row, 0)]
            if row >= 0 and begun == 0:
                read["q"][:, row], read["dq"][:, row] = crowd.q_rad, crowd.dq_rad_s
            torque = train.torque_nm(target, crowd.q_rad, crowd.dq_rad_s)
            if row >= 0 and begun == 0:
                read["tau"][:, row], read["temperature"][:, row] = train.motor_nm, train.temperature_c
            crowd.step(torque[:, None])
        noisy = read["q"] + self.readings.noise_rad * rng.standard_normal(read["q"].shape)
        return Played(
            q_rad=np.round(noisy / ENCODER_STEP_RAD) * ENCODER_STEP_RAD,
            dq_rad_s=read["dq"] + self.readings.velocity_noise_rad_s * rng.standard_normal(read["dq"].shape),
            tau_nm=read["tau"],
            temperature_c=read["temperature"],
            true_q_rad=read["q"],
        )

    def torque_share(self, models: BaseModels, target_rad: np.ndarray, payload_kg: float, rate_hz: float) -> float:
        """The largest share of a motor's torque that (T, n) targets take, standing still and in the simulator's replay.

        A raised arm sags under its load, to where the load pulls harder: standing still on the targets is not enough.
        """
        still = self._static_share(target_rad, payload_kg)
        if still > MOST_SHARE:
            return still
        settling = np.repeat(target_rad[:1], round(SETTLE_S * rate_hz), axis=0)
        heard = models.heard_rad(np.concatenate([settling, target_rad]), rate_hz).reshape(1, -1, target_rad.shape[1])
        crowd = models.crowd([payload_kg], rate_hz)
        at_rest = target_rad[:1], np.zeros_like(target_rad[:1])
        crowd.put(*at_rest)
        q, dq = (
            np.concatenate([first[:, None], path[:, :-1]], axis=1)
            for first, path in zip(at_rest, crowd.run(heard), strict=True)
        )
        kp, kd = gain_arrays(models.base)
        asked = (np.abs(kp * (heard - q) - kd * dq) / self.effort_nm)[:, len(settling) * models.steps(rate_hz) :]
        return max(still, float(asked.max()))

    def lightest_posture_rad(self, payload_kg: float) -> np.ndarray:
        """(n,) of many, that which takes the smallest share of any motor's torque."""
        if payload_kg not in self._lightest:
            rng = np.random.default_rng(3)
            inside = 0.1 * (self.upper_rad - self.lower_rad)
            low, high = self.lower_rad + inside, self.upper_rad - inside
            postures = rng.uniform(low, high, (_POSTURES, len(low)))
            shares = [self._static_share(posture[None], payload_kg) for posture in postures]
            self._lightest[payload_kg] = postures[int(np.argmin(shares))]
        return self._lightest[payload_kg]

    def _static_share(self, target_rad: np.ndarray, payload_kg: float) -> float:
        model, most = self._model(payload_kg), 0.0
        data = mujoco.MjData(model)
        joints = [model.joint(name) for name in self.base.joint_names]
        qpos, dof = (np.array([getattr(one, name)[0] for one in joints]) for name in ("qposadr", "dofadr"))
        for row in range(0, len(target_rad), 10):
            data.qpos[qpos] = target_rad[row]
            mujoco.mj_inverse(model, data)
            most = max(most, float(np.max(np.abs(data.qfrc_inverse[dof]) / self.effort_nm)))
        return most

    def _model(self, payload_kg: float) -> mujoco.MjModel:
        if payload_kg not in self._models:
            self._models[payload_kg] = with_payload(self._spec, self.base.robot, payload_kg, PHYSICS_STEP_S)
        return self._models[payload_kg]


def replicas(
    models: BaseModels,
    target_rad: np.ndarray,
    payload_kg: np.ndarray,
    rate_hz: float,
    q0_rad: np.ndarray,
    dq0_rad_s: np.ndarray,
) -> list[Motion]:
    """What the simulator makes of (B, T, n) targets from first states (B, n)."""
    crowd, heard = models.crowd(payload_kg, rate_hz), models.heard_rad(target_rad, rate_hz)
    crowd.put(q0_rad, dq0_rad_s)
    q, dq = (np.empty_like(target_rad) for _ in range(2))
    for row in range(target_rad.shape[1]):
        q[:, row], dq[:, row] = crowd.q_rad, crowd.dq_rad_s
        crowd.step(heard[:, row])
    tau = servo_torque_nm(models.base, target_rad, q, dq, crowd)
    return [Motion(q[i], dq[i], acceleration_rad_s2(dq[i], rate_hz), tau[i]) for i in range(len(target_rad))]


def servo_torque_nm(
    base: Base, target_rad: np.ndarray, q_rad: np.ndarray, dq_rad_s: np.ndarray, crowd: Crowd
) -> np.ndarray:
    """clip(kp·(target − q) − kd·dq)"""
    kp, kd = gain_arrays(base)
    model = crowd.models[0]
    limits = model.actuator_forcerange[crowd.actuators]
    wanted = kp * (target_rad - q_rad) - kd * dq_rad_s
    limited = model.actuator_forcelimited[crowd.actuators].astype(bool)
    return np.where(limited, np.clip(wanted, limits[:, 0], limits[:, 1]), wanted)


def gain_arrays(base: Base) -> tuple[np.ndarray, np.ndarray]:
    """kp and kd in the order of the joints."""
    gains = base.gains
    return np.array([gains.kp[name] for name in base.joint_names]), np.array(
        [gains.kd[name] for name in base.joint_names]
    )


def acceleration_rad_s2(dq_rad_s: np.ndarray, rate_hz: float) -> np.ndarray:
    """By central differences of measured velocities."""
    return np.gradient(dq_rad_s, 1 / rate_hz, axis=0)
