"""A crowd: many copies of a fixed-base robot side by side in MuJoCo, each with its own payload.

In: a compiled model for each, commands. Out: joint positions and velocities, columns in the order of `joint_names`. The
state is MuJoCo's own, a row for each robot, so that a robot can be put back into any state it has been in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np
from mujoco import rollout

from haloid.errors import HaloidError
from haloid.identify.replay import steps_of_row
from haloid.robots.clamp import clamp
from haloid.robots.description import describe
from haloid.robots.inertia import find_link, perturb, read_links, write_links
from haloid.robots.load import load_spec
from haloid.robots.open_model import open_model
from haloid.robots.servos import Gains, model_gains, set_motors, set_servos

_FULL = mujoco.mjtState.mjSTATE_FULLPHYSICS


@dataclass(frozen=True)
class Base:
    """The simulator that a gap is measured against: a robot's model and how it is driven."""

    robot: str
    """A known robot's name, or the path of its file."""
    clamp: str | None
    joint_names: tuple[str, ...]
    gains: Gains
    """What the robot is driven with, where the model does not know better."""
    model: str | None = None
    """A calibrated model: a file, a patch.json or a result's directory; None: the robot's own."""

    def spec(self) -> mujoco.MjSpec:
        """With servos, clamped; nothing but the clamp touches it."""
        spec = load_spec(self.robot) if self.model is None else open_model(self.model)
        if self.model is None or any(name not in model_gains(spec).kp for name in self.joint_names):
            set_servos(spec, self.gains.kp, self.gains.kd)
        return clamp(spec, self.clamp)

    def motor_spec(self) -> mujoco.MjSpec:
        """With torque motors, for drive trains of their own."""
        spec = load_spec(self.robot)
        set_motors(spec, self.joint_names)
        return clamp(spec, self.clamp)


def loaded(spec: mujoco.MjSpec, robot: str, payload_kg: float) -> mujoco.MjSpec:
    """A copy that carries `payload_kg` in each hand, at the CoM of the hand's link."""
    spec = spec.copy()
    if payload_kg:
        known = read_links(spec.copy().compile())
        write_links(spec, {name: perturb(known[name], payload_kg, np.zeros(3)) for name in payload_links(robot)})
    return spec


def with_payload(spec: mujoco.MjSpec, robot: str, payload_kg: float, timestep_s: float) -> mujoco.MjModel:
    """The model that carries `payload_kg` in each hand, touched by nothing but its clamp."""
    model = loaded(spec, robot, payload_kg).compile()
    if any(
        model.jnt_type[j] not in (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE) for j in range(model.njnt)
    ):
        raise HaloidError(f"the robot {robot} floats; expected a clamped one. Name the link that is held")
    model.opt.timestep = timestep_s
    flags = (
        mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_AUTORESET | mujoco.mjtDisableBit.mjDSBL_SENSOR
    )
    model.opt.disableflags |= int(flags)
    return model


def payload_links(robot: str) -> tuple[str, ...]:
    """The hands, or else the links that the description says carry things."""
    description = describe(robot)
    links = tuple(description.hands.values()) or description.payload_links
    if not links:
        description.need("a payload", "hands")
    model = load_spec(robot).compile()
    for link in links:
        find_link(model, link)
    return links


class BaseModels:
    """The compiled simulators of one base, one for every payload and rate that is asked for.

    The delays of a calibrated model's servos are taken out of MuJoCo and laid on the commands beforehand (`heard_rad`):
    a correction then acts at once, and the state of a robot is its joints' alone.
    """

    def __init__(self, base: Base) -> None:
        self.base = base
        self._spec = base.spec()
        delays = {actuator.target: float(actuator.delay) for actuator in self._spec.actuators}
        self.delay_s = np.array([delays.get(name, 0.0) for name in base.joint_names])
        for actuator in self._spec.actuators:
            actuator.delay, actuator.nsample = 0.0, 0
        self._own_step_s = float(self._spec.option.timestep)
        self._compiled: dict[tuple[float, float], mujoco.MjModel] = {}

    def steps(self, rate_hz: float) -> int:
        """Physics steps for each control step."""
        return steps_of_row(1.0 / rate_hz, self._own_step_s)[0]

    def heard_rad(self, target_rad: np.ndarray, rate_hz: float) -> np.ndarray:
        """(..., T, steps, n) what the servos hear of targets (..., T, n), after their delays."""
        steps, timestep_s = steps_of_row(1.0 / rate_hz, self._own_step_s)
        held = np.repeat(target_rad, steps, axis=-2)
        for joint in np.flatnonzero(self.delay_s):
            late = self.delay_s[joint] / timestep_s
            rows = np.arange(held.shape[-2])
            newer, share = np.maximum(rows - int(late), 0), late - int(late)
            path = np.repeat(target_rad[..., joint], steps, axis=-1)
            held[..., joint] = (1 - share) * path[..., newer] + share * path[..., np.maximum(newer - 1, 0)]
        return held.reshape(*target_rad.shape[:-1], steps, target_rad.shape[-1])

    def of(self, payload_kg: float, rate_hz: float) -> mujoco.MjModel:
        timestep_s = steps_of_row(1.0 / rate_hz, self._own_step_s)[1]
        key = (float(payload_kg), timestep_s)
        if key not in self._compiled:
            self._compiled[key] = with_payload(self._spec, self.base.robot, payload_kg, timestep_s)
        return self._compiled[key]

    def crowd(self, payload_kg: Sequence[float] | np.ndarray, rate_hz: float) -> Crowd:
        return Crowd([self.of(one, rate_hz) for one in payload_kg], self.base.joint_names)


class Crowd:
    def __init__(self, models: Sequence[mujoco.MjModel], joint_names: tuple[str, ...]) -> None:
        self.models, self.joint_names = list(models), joint_names
        first = self.models[0]
        joints = [first.joint(name) for name in joint_names]
        self._qpos = 1 + np.array([joint.qposadr[0] for joint in joints])
        self._qvel = 1 + first.nq + np.array([joint.dofadr[0] for joint in joints])
        driven = {int(first.actuator_trnid[i, 0]): i for i in range(first.nu)}
        self.actuators = np.array([driven[joint.id] for joint in joints])
        self._data = mujoco.MjData(first)
        self.state = np.zeros((len(self.models), mujoco.mj_stateSize(first, _FULL)))

    def __len__(self) -> int:
        return len(self.models)

    @property
    def q_rad(self) -> np.ndarray:
        return self.state[:, self._qpos]

    @property
    def dq_rad_s(self) -> np.ndarray:
        return self.state[:, self._qvel]

    def put(self, q_rad: np.ndarray, dq_rad_s: np.ndarray) -> None:
        """Into states (B, n)."""
        self.state[:] = 0.0
        self.state[:, self._qpos], self.state[:, self._qvel] = q_rad, dq_rad_s

    def step(self, heard_rad: np.ndarray) -> None:
        """Drives each robot by its row of commands (B, steps, n), one for every physics step."""
        self.run(heard_rad)

    def run(self, heard_rad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same, with q and dq (B, steps, n) after every physics step."""
        control = np.zeros((len(self), heard_rad.shape[1], self.models[0].nu))
        control[..., self.actuators] = heard_rad
        after, _ = rollout.rollout(self.models, self._data, self.state, control)
        self.state = np.array(after[:, -1])
        return after[..., self._qpos], after[..., self._qvel]
