"""Replay: the commands of whole recordings, played on a model from their first state; its distance from what was
read is the gap between model and robot.

Comes in: a model (any spec) and recordings. Goes out: for every run what the encoders would have read. The model is
stepped by MuJoCo as it stands, its own servos, delays and time step included; a step that misses the time between rows
by less than 1 % counts as dividing it. Nothing but the clamp (and the floor in double support) touches the robot.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import mujoco
import numpy as np

from haloid.cores import usable_cores
from haloid.errors import HaloidError
from haloid.identify.data.usable import pieces, smoothed
from haloid.recordings.recording import Recording
from haloid.robots.clamp import clamp
from haloid.robots.floor import add_floor
from haloid.robots.load import load_spec
from haloid.robots.open_model import open_model
from haloid.robots.servos import model_gains, set_motors, set_servos

STEP_TOLERANCE = 0.01
Servos = Literal["model", "recording"]


@dataclass(frozen=True)
class Replay:
    """One run, as read and as played; rows where a piece of the recording starts hold what was read."""

    name: str
    joint_names: tuple[str, ...]
    time_s: np.ndarray
    read_rad: np.ndarray
    played_rad: np.ndarray
    compared: np.ndarray
    """(T,) rows that were played."""

    @property
    def error_rad(self) -> np.ndarray:
        """(T', n) played − read, in the rows that were played."""
        return (self.played_rad - self.read_rad)[self.compared]

    @property
    def rms_rad(self) -> np.ndarray:
        """(n,)"""
        return rms(self.error_rad, axis=0)

    @property
    def max_rad(self) -> np.ndarray:
        return np.abs(self.error_rad).max(axis=0)


def rms(values: np.ndarray, axis: int | None = None) -> np.ndarray:
    return np.sqrt(np.mean(np.square(values), axis=axis))


def mean_rms(played: Sequence[Replay]) -> float:
    """The mean of the runs' rms errors, rad."""
    return float(np.mean([rms(one.error_rad) for one in played]))


def replay(
    model: str | Path | mujoco.MjSpec, recordings: Sequence[Recording], servos: Servos = "model"
) -> list[Replay]:
    """Plays whole recordings on a model: a robot's name, a model file, a patch.json, a result's directory, or a spec.

    With `servos="recording"`, or where the model has no position servos, the recording's gains drive it.
    """
    spec = model if isinstance(model, mujoco.MjSpec) else open_model(model)
    return _all([(_Player(spec, recording, servos), recording) for recording in recordings])


def replay_nominal(recordings: Sequence[Recording]) -> list[Replay]:
    """The same on the robot each recording names, driven by the gains it was recorded with."""
    specs = {robot: load_spec(robot) for robot in {recording.robot for recording in recordings}}
    return _all([(_Player(specs[recording.robot], recording, "recording"), recording) for recording in recordings])


def _all(jobs: list[tuple[_Player, Recording]]) -> list[Replay]:
    with ThreadPoolExecutor(min(len(jobs), usable_cores()) or 1) as pool:
        return list(pool.map(lambda job: job[0].play(job[1]), jobs))


def steps_of_row(control_dt_s: float, timestep_s: float) -> tuple[int, float]:
    """How many steps a row takes and how long they are: the model's own step where it divides the row's time."""
    steps = max(1, round(control_dt_s / timestep_s))
    if abs(steps * timestep_s / control_dt_s - 1) <= STEP_TOLERANCE:
        return steps, timestep_s
    steps = max(1, int(np.ceil(control_dt_s / timestep_s)))
    return steps, control_dt_s / steps


class _Player:
    """A model ready to play a recording: clamped as it was, its servos found."""

    def __init__(self, spec: mujoco.MjSpec, recording: Recording, servos: Servos) -> None:
        spec = spec.copy()
        self._drive(spec, recording, servos)
        spec = clamp(spec, recording.clamp, recording.clamp_pose)
        if recording.support == "double":
            add_floor(spec, recording.clamp)
        model = spec.compile()
        if recording.support == "single":
            model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)  # a run that breaks down must show it
        self.steps = 0
        if recording.is_even:
            self.steps, model.opt.timestep = steps_of_row(recording.control_dt_s, model.opt.timestep)
        self.model = model
        joints = [model.joint(name) for name in recording.joint_names]
        if any(joint.type[0] == mujoco.mjtJoint.mjJNT_FREE for joint in map(model.joint, range(model.njnt))):
            raise HaloidError(
                f"the robot floats, and {recording.name} names no clamp; expected a link that is held in the world. "
                "Name it in the recording's json"
            )
        self.qpos = np.array([joint.qposadr[0] for joint in joints])
        self.dof = np.array([joint.dofadr[0] for joint in joints])
        driven = {int(model.actuator_trnid[i, 0]): i for i in range(model.nu)}
        self.actuator = np.array([driven[joint.id] for joint in joints])

    def _drive(self, spec: mujoco.MjSpec, recording: Recording, servos: Servos) -> None:
        names = recording.joint_names
        known = {joint.name for joint in spec.joints}
        if missing := [name for name in names if name not in known]:
            raise HaloidError(
                f"{recording.name} moves the joint '{missing[0]}', which the model does not have; expected a model of "
                f"the same robot. Its joints are: {', '.join(sorted(known))}"
            )
        self.varying = None
        if recording.actuation == "torque":
            set_motors(spec, names)
        elif servos == "recording" or any(name not in model_gains(spec).kp for name in names):
            assert recording.kp is not None and recording.kd is not None
            first = [gain if gain.ndim == 1 else gain[0] for gain in (recording.kp, recording.kd)]
            set_servos(spec, *(dict(zip(names, map(float, gain), strict=True)) for gain in first))
            if recording.kp.ndim == 2 or recording.kd.ndim == 2:
                shape = recording.q_rad.shape
                self.varying = np.broadcast_to(recording.kp, shape), np.broadcast_to(recording.kd, shape)

    def play(self, recording: Recording) -> Replay:
        commands = recording.tau_nm if recording.actuation == "torque" else recording.target_rad
        assert commands is not None
        model = copy.copy(self.model) if self.varying else self.model
        data = mujoco.MjData(model)
        played, compared = recording.q_rad.copy(), np.zeros(len(recording.time_s), bool)
        velocities, steps = smoothed(recording)[1], self._steps_between_rows(recording)
        for piece in pieces(recording):
            self._start(model, data, recording.q_rad[piece.start], velocities[piece.start], commands[piece.start])
            for row in range(piece.start, piece.stop - 1):
                data.ctrl[self.actuator] = commands[row]
                if self.varying is not None:
                    kp, kd = self.varying[0][row], self.varying[1][row]
                    model.actuator_gainprm[self.actuator, 0] = kp
                    model.actuator_biasprm[self.actuator, 1], model.actuator_biasprm[self.actuator, 2] = -kp, -kd
                mujoco.mj_step(model, data, nstep=steps[row])
                played[row + 1] = data.qpos[self.qpos]
            compared[piece.start + 1 : piece.stop] = True
        return Replay(recording.name, recording.joint_names, recording.time_s, recording.q_rad, played, compared)

    def _steps_between_rows(self, recording: Recording) -> list[int]:
        """The same number for every row, or, between uneven rows, those nearest to their times."""
        if self.steps:
            return [self.steps] * (len(recording.time_s) - 1)
        reached = np.round((recording.time_s - recording.time_s[0]) / self.model.opt.timestep)
        return np.diff(reached).astype(int).tolist()

    def _start(
        self, model: mujoco.MjModel, data: mujoco.MjData, q: np.ndarray, v: np.ndarray, command: np.ndarray
    ) -> None:
        """At rest under the first command, as far as delayed servos know."""
        mujoco.mj_resetData(model, data)
        data.qpos[self.qpos], data.qvel[self.dof] = q, v
        for actuator, value in zip(self.actuator, command, strict=True):
            if samples := int(model.actuator_history[actuator, 0]):
                mujoco.mj_initCtrlHistory(model, data, int(actuator), None, np.full((samples, 1), value))
