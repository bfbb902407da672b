"""Further sensors: what a robot measures besides its joint angles, predicted from the same rollouts.

    torque: the servo's force, for the state at a row and the last command that acted before it
    gyro:   ω = Σ_j b_j v_j in the link's axes, b_j the axes there of the hinges that carry the link;
            ∂ω/∂q_i = −b_i × Σ_{j above i} b_j v_j

Both are functions of the state at a row, so that their derivative is that of the state, which the engines know, and
what the servo's own parameters add. Before row 1 no command has acted: row 0 holds zeros, measured and predicted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from haloid.engines.physics import Column, Physics
from haloid.engines.sensing.servo import Servo
from haloid.errors import HaloidError
from haloid.recordings.recording import Recording

if TYPE_CHECKING:
    from haloid.engines.fragments import Fragments
    from haloid.engines.simulate import Simulator, Trajectories

SENSORS = ("torque", "gyro")
"""The choices of `haloid identify --residuals`."""
LEAST_SENSOR_NOISE = 1e-6
"""Torques (N·m) and turn rates (rad/s) without noise are weighted as if they had this much."""
_AXES = "xyz"


@dataclass(frozen=True)
class Rows:
    """Rows 1 to N of fragments, (B, N, n)."""

    q: np.ndarray
    """True angles, without the encoders' bias."""
    v: np.ndarray
    inputs: np.ndarray
    """Of the last step that began before the row."""
    gains: tuple[np.ndarray, np.ndarray]
    inputs_by_delay: np.ndarray | None

    @classmethod
    def of(cls, fragments: Fragments, run: Trajectories, by_delay: np.ndarray | None = None) -> Rows:
        """`by_delay` is the slope of the inputs, (B, steps, n), where the delay is sought."""
        before, beyond = fragments.step_before_row()
        fragment, step = np.arange(fragments.count)[:, None], (before - (beyond == 0))[:, 1:]
        gains = fragments.kp, fragments.kd
        if fragments.gains_vary:
            row = fragments.row_of_step[step]
            gains = fragments.kp[fragment, row], fragments.kd[fragment, row]
        return cls(
            q=fragments.at_rows(run.q)[:, 1:],
            v=fragments.at_rows(run.v)[:, 1:],
            inputs=run.inputs[fragment, step],
            gains=gains,
            inputs_by_delay=None if by_delay is None else by_delay[fragment, step],
        )


class Sensor(ABC):
    """Reads s numbers at every row."""

    name: str
    """One of SENSORS."""

    @abstractmethod
    def channels(self, joints: Sequence[str]) -> list[str]:
        """The names of its s numbers."""

    @abstractmethod
    def measured(self, recording: Recording, joints: Sequence[str]) -> np.ndarray:
        """(T, s)"""

    @abstractmethod
    def predict(self, simulator: Simulator, physics: Physics, rows: Rows) -> np.ndarray:
        """(B, N, s)"""

    @abstractmethod
    def slope(
        self, simulator: Simulator, physics: Physics, columns: Sequence[Column], rows: Rows
    ) -> tuple[np.ndarray, np.ndarray]:
        """(B, N, s, 2n) by the state at the row, and (B, N, s, P) by the columns at a fixed state."""


class TorqueSensor(Sensor):
    """The motors' torques at the joints, N·m."""

    name = "torque"

    def channels(self, joints: Sequence[str]) -> list[str]:
        return list(joints)

    def measured(self, recording: Recording, joints: Sequence[str]) -> np.ndarray:
        if recording.actuation == "torque":
            raise HaloidError(
                f"the torques of {recording.title} are its commands; expected position targets and tau:JOINT columns "
                "as measurements. Leave --residuals torque out"
            )
        if recording.tau_nm is None:
            raise HaloidError(
                f"{recording.title} has no measured torques; expected a tau:JOINT column of every joint. Record them, "
                "or leave --residuals torque out"
            )
        return recording.tau_nm[:, [recording.joint_names.index(name) for name in joints]]

    def predict(self, simulator: Simulator, physics: Physics, rows: Rows) -> np.ndarray:
        return Servo.at(physics, simulator.effort_limit, rows.q, rows.v, rows.inputs, rows.gains).force

    def slope(
        self, simulator: Simulator, physics: Physics, columns: Sequence[Column], rows: Rows
    ) -> tuple[np.ndarray, np.ndarray]:
        servo = Servo.at(physics, simulator.effort_limit, rows.q, rows.v, rows.inputs, rows.gains)
        n = rows.q.shape[-1]
        joint = np.arange(n)
        by_state = np.zeros((*rows.q.shape, 2 * n))
        by_state[..., joint, joint], by_state[..., joint, n + joint] = -servo.stiffness, -servo.damping
        direct = np.zeros((*rows.q.shape, len(columns)))
        for i, column in enumerate(columns):
            if column.kind == "delay":
                assert rows.inputs_by_delay is not None
                direct[..., i] = servo.gain * rows.inputs_by_delay
            elif column.kind in servo.by_kind:
                j = physics.joint_index(column.owner)
                direct[..., j, i] = servo.by_kind[column.kind][..., j]
        return by_state, direct


@dataclass(frozen=True)
class GyroSensor(Sensor):
    """The angular velocity of a link along its own axes, rad/s: columns `gyro_x:LINK`, `gyro_y:LINK`, `gyro_z:LINK`."""

    link: str
    name = "gyro"

    def channels(self, joints: Sequence[str]) -> list[str]:
        return [f"{self.link}.{axis}" for axis in _AXES]

    @property
    def columns(self) -> list[str]:
        """Of a recording."""
        return [f"gyro_{axis}:{self.link}" for axis in _AXES]

    def measured(self, recording: Recording, joints: Sequence[str]) -> np.ndarray:
        return np.stack([recording.extra[name] for name in self.columns], axis=1)

    def predict(self, simulator: Simulator, physics: Physics, rows: Rows) -> np.ndarray:
        return self.turn_rate(simulator.model, rows.q, rows.v)

    def turn_rate(self, model: mujoco.MjModel, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(B, N, 3) for angles and speeds (B, N, n)."""
        return np.einsum("btjx,btj->btx", self._axes_in_link(model, q), v)

    def slope(
        self, simulator: Simulator, physics: Physics, columns: Sequence[Column], rows: Rows
    ) -> tuple[np.ndarray, np.ndarray]:
        axes = self._axes_in_link(simulator.model, rows.q)
        turning = axes * rows.v[..., None]
        above = np.cumsum(turning, axis=2) - turning  # joints are in the order of the tree
        by_state = np.concatenate([-np.cross(axes, above), axes], axis=2).swapaxes(-1, -2)
        return by_state, np.zeros((*by_state.shape[:3], len(columns)))

    def _axes_in_link(self, model: mujoco.MjModel, q: np.ndarray) -> np.ndarray:
        """(B, N, n, 3) zero for joints that do not turn the link."""
        data, body, joints = mujoco.MjData(model), model.body(self.link).id, model.dof_jntid
        carries = np.isin(model.dof_bodyid, _up_to_the_world(model, body))
        carries &= model.jnt_type[joints] == mujoco.mjtJoint.mjJNT_HINGE
        axes = np.empty((*q.shape, 3))
        for index in np.ndindex(*q.shape[:2]):
            data.qpos[:] = q[index]
            mujoco.mj_kinematics(model, data)
            axes[index] = data.xaxis[joints] @ data.xmat[body].reshape(3, 3)
        return axes * carries[:, None]


def _up_to_the_world(model: mujoco.MjModel, body: int) -> list[int]:
    chain = []
    while body:
        chain.append(body)
        body = int(model.body_parentid[body])
    return chain


def sensors_of(names: Sequence[str], recordings: Sequence[Recording], model: mujoco.MjModel) -> tuple[Sensor, ...]:
    """The sensors of these names; a gyro for every link that all recordings have one of."""
    sensors: list[Sensor] = [TorqueSensor()] if "torque" in names else []
    if "gyro" in names:
        sensors += [GyroSensor(link) for link in _links_with_gyros(recordings, model)]
    return tuple(sensors)


def _links_with_gyros(recordings: Sequence[Recording], model: mujoco.MjModel) -> list[str]:
    first = f"gyro_{_AXES[0]}:"
    links = [name.removeprefix(first) for name in recordings[0].extra if name.startswith(first)]
    wanted = {link: [f"gyro_{axis}:{link}" for axis in _AXES] for link in links}
    known = {model.body(body).name for body in range(1, model.nbody)}
    for recording in recordings:
        lacking = [column for columns in wanted.values() for column in columns if column not in recording.extra]
        if lacking or not wanted:
            raise HaloidError(
                f"{recording.title} has no column {lacking[0] if lacking else 'gyro_x:LINK'}; expected gyro_x:LINK, "
                "gyro_y:LINK and gyro_z:LINK (rad/s along the link's axes) in every recording. Add them, or leave "
                "--residuals gyro out"
            )
    if unknown := [link for link in wanted if link not in known]:
        raise HaloidError(
            f"{recordings[0].title} has a gyro on '{unknown[0]}', which the robot does not have; expected one of its "
            f"links: {', '.join(sorted(known))}. Rename the columns"
        )
    return list(wanted)


def sensed(simulator: Simulator, physics: Physics, fragments: Fragments, run: Trajectories) -> np.ndarray:
    """(B, N + 1, s) what the fragments' sensors read on a rollout."""
    rows = Rows.of(fragments, run)
    parts = [sensor.predict(simulator, physics, rows) for sensor in fragments.sensors]
    return with_row_zero(np.concatenate(parts, axis=2))


def with_row_zero(rows: np.ndarray) -> np.ndarray:
    """(B, N, ...) with zeros before it."""
    return np.concatenate([np.zeros_like(rows[:, :1]), rows], axis=1)
