"""Calibrate: logs of a robot without a payload in, its servos as they are out, with the gap that is left.

The servos are fitted on some of the runs. The model they give is then played through whole runs, those that were held
out too, in MuJoCo; the printed gap is that of the model as it is written. Masses and CoMs stay the model's.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from haloid.engines.simulate import SOLVER_TOLERANCE
from haloid.errors import HaloidError
from haloid.identify.calibration.doubts import doubts_of
from haloid.identify.calibration.fit import Say, ServoFit, fit_servos
from haloid.identify.calibration.lone_joint import LEAST_MOTION_RAD, cut_windows
from haloid.identify.calibration.spread import Spread, fit_spread
from haloid.identify.data.dataset import build_simulator, check_agreement
from haloid.identify.replay import Replay, replay, replay_nominal
from haloid.recordings.recording import Recording
from haloid.robots.load import load_spec
from haloid.robots.patch import Patch, patched_spec

FRICTION_IMPEDANCE = 0.999
"""A real joint sticks; MuJoCo's default of 0.9 lets it creep."""
_COARSE_WINDOWS, _COARSE_S = 24, 8.0
"""What the first search looks at."""
_HELD_OUT_TAIL = 0.2


@dataclass(frozen=True)
class CalibrationSettings:
    """All choices of a calibration."""

    held_out: int | None = None
    """Runs held out of the fit to measure the gap on; None: one in five, at least one of several."""
    shared_delay: bool = False
    """One delay for all joints instead of one for each."""
    window_s: float = 30.0
    """Length of the stretches that are simulated at once."""


@dataclass(frozen=True)
class Calibration:
    """What was found, and how well it does on whole runs."""

    settings: CalibrationSettings
    robot: str
    fit: ServoFit
    recorded_kp: np.ndarray
    """(n,) in the fit's order."""
    nominal: dict[str, np.ndarray]
    """Damping, frictionloss, armature and effort of the model, (n,) each."""
    train: list[Recording]
    held_out: list[Recording]
    """Runs the fit has not seen; the end of the run where there is only one."""
    replays: dict[str, list[Replay]]
    """train, heldout (empty where none is held out), and the same of the nominal robot: nominal_train, …"""
    spread: Spread
    timestep_s: float
    seconds: float
    doubts: tuple[str, ...] = ()
    """Why the answer should not be trusted, by joint and run."""

    @property
    def patch(self) -> Patch:
        return servo_patch(self.robot, self.fit, self.timestep_s)

    @property
    def judged(self) -> tuple[list[Replay], list[Replay]]:
        """Calibrated and nominal, on held-out runs where there are any."""
        which = "heldout" if self.replays["heldout"] else "train"
        return self.replays[which], self.replays[f"nominal_{which}"]

    @property
    def coverage95(self) -> float:
        """Share of the judged readings inside the 95 % interval of their prediction."""
        recordings = self.held_out or self.train
        inside = [self.spread.inside(one, played) for one, played in zip(recordings, self.judged[0], strict=True)]
        return float(np.mean(np.concatenate([part.ravel() for part in inside])))


def calibrate(
    recordings: Sequence[Recording], settings: CalibrationSettings | None = None, say: Say | None = None
) -> Calibration:
    """Fits the servos of the robot the recordings name."""
    started = time.monotonic()
    settings = settings or CalibrationSettings()
    say = say or (lambda _: None)
    _check(recordings)
    train, held_out = split(recordings, settings.held_out)
    own_step_s = float(load_spec(train[0].robot).option.timestep)
    simulator = build_simulator(train[0], own_step_s)
    windows = cut_windows(train, simulator, settings.window_s)
    few = cut_windows(train, simulator, _COARSE_S).livelier(_COARSE_WINDOWS)
    order = [train[0].joint_names.index(name) for name in simulator.dof_joints]
    assert train[0].kp is not None
    recorded_kp = (train[0].kp if train[0].kp.ndim == 1 else np.median(train[0].kp, axis=0))[order]
    limit, rotor = simulator.effort_limit, simulator.nominal.armature
    fit = fit_servos(windows, few, limit, rotor, recorded_kp, shared_delay=settings.shared_delay, say=say)
    robot = train[0].robot
    say("replaying whole runs")
    spec = patched_spec(lambda: load_spec(robot), servo_patch(robot, fit, windows.timestep_s))
    replays = {
        "train": replay(spec, train),
        "heldout": replay(spec, held_out) if held_out else [],
        "nominal_train": replay_nominal(train),
        "nominal_heldout": replay_nominal(held_out) if held_out else [],
    }
    spread = fit_spread(train, replays["train"])
    nominal = simulator.nominal
    found = Calibration(
        settings=settings,
        robot=robot,
        fit=fit,
        recorded_kp=recorded_kp,
        nominal={
            "damping": nominal.damping,
            "frictionloss": nominal.frictionloss,
            "armature": nominal.armature,
            "effort": simulator.effort_limit,
        },
        train=train,
        held_out=held_out,
        replays=replays,
        spread=spread,
        timestep_s=windows.timestep_s,
        seconds=time.monotonic() - started,
    )
    played = [*replays["train"], *replays["heldout"]]
    return replace(found, doubts=tuple(doubts_of(fit, recorded_kp, spread, [*train, *held_out], played, found.judged)))


def split(recordings: Sequence[Recording], held_out: int | None) -> tuple[list[Recording], list[Recording]]:
    """Runs to fit and runs to judge by, the latter evenly spread; of a single run, its last fifth is held out."""
    count = len(recordings)
    if held_out is None:
        held_out = max(1, count // 5)
    if held_out == 0:
        return list(recordings), []
    if count == 1:
        cut = int((1 - _HELD_OUT_TAIL) * len(recordings[0].time_s))
        return [_rows(recordings[0], slice(0, cut))], [_rows(recordings[0], slice(cut, None))]
    if not 0 < held_out < count:
        raise HaloidError(
            f"{held_out} of {count} runs were to be held out; expected 0 to {count - 1}, so that at least one is fitted"
        )
    chosen = {int((k + 0.5) * count / held_out) for k in range(held_out)}
    return (
        [one for i, one in enumerate(recordings) if i not in chosen],
        [one for i, one in enumerate(recordings) if i in chosen],
    )


def _rows(recording: Recording, rows: slice) -> Recording:
    def part(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else values[rows]

    def gains(values: np.ndarray | None) -> np.ndarray | None:
        return values if values is None or values.ndim == 1 else values[rows]

    return replace(
        recording,
        time_s=recording.time_s[rows],
        q_rad=recording.q_rad[rows],
        target_rad=part(recording.target_rad),
        dq_rad_s=part(recording.dq_rad_s),
        tau_nm=part(recording.tau_nm),
        kp=gains(recording.kp),
        kd=gains(recording.kd),
        extra={name: values[rows] for name, values in recording.extra.items()},
    )


def _check(recordings: Sequence[Recording]) -> None:
    if not recordings:
        raise HaloidError("there is nothing to calibrate from; expected at least one recording")
    for recording in recordings:
        if recording.target_rad is None:
            raise HaloidError(
                f"{recording.name} was driven by torques; expected position targets, since the servos are what is "
                "calibrated. Use haloid identify for a robot commanded in torque"
            )
        if recording.support != "single":
            raise HaloidError(
                f"{recording.name} was recorded in double support; expected a robot that nothing but its clamp touches"
            )
        if recording.kp is not None and not np.all(recording.kp > 0):
            joint = int(np.argmin(recording.kp if recording.kp.ndim == 1 else recording.kp.min(axis=0)))
            raise HaloidError(
                f"{recording.name} was recorded with kp 0 at {recording.joint_names[joint]}; expected a gain above 0, "
                "which need not be right: a position target does nothing without one. Where it is not known, give "
                "haloid convert --gains model"
            )
    check_agreement(recordings)
    moved = np.max([np.ptp(recording.q_rad, axis=0) for recording in recordings], axis=0)
    if np.all(moved < LEAST_MOTION_RAD):
        raise HaloidError(
            f"no joint moves by more than {1e3 * moved.max():.2g} mrad in any run; expected at least "
            f"{1e3 * LEAST_MOTION_RAD:g} mrad of one. Record the robot while it moves"
        )


def servo_patch(robot: str, fit: ServoFit, timestep_s: float) -> Patch:
    """kd is 0: a servo's damping cannot be told from the joint's, and is part of it."""
    joints = {}
    for name, (kp, damping, friction, armature, effort), delay in zip(
        fit.joint_names, fit.servos, fit.delay_s, strict=True
    ):
        joints[name] = {
            "damping": float(damping),
            "frictionloss": float(friction),
            "armature": float(armature),
            "kp": float(kp),
            "kd": 0.0,
            "effort": float(effort),
            "delay": float(delay),
            "friction_impedance": FRICTION_IMPEDANCE,
        }
    simulation = {"timestep": timestep_s, "tolerance": SOLVER_TOLERANCE}
    return Patch(robot, joints=joints, servos="identified", simulation=simulation)
