"""Data: recordings in, fragments ready to be fitted out.

Checks that the recordings belong together, builds the one clamped simulator they share, cuts fragments where they may
start, and takes first guesses of their states from smoothed readings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from haloid.engines.fragments import Fragments, cut
from haloid.engines.sensing.sensors import LEAST_SENSOR_NOISE, sensors_of
from haloid.engines.simulate import Simulator
from haloid.errors import HaloidError
from haloid.identify.data.gyro_offset import without_gyro_offsets
from haloid.identify.data.standing import standing_states
from haloid.identify.data.usable import HISTORY_ROWS, motion_of, noise_of, noise_rad, usable_starts
from haloid.recordings.recording import Recording
from haloid.robots.clamp import clamp
from haloid.robots.floor import add_floor
from haloid.robots.load import load_spec
from haloid.robots.servos import set_motors, set_servos

_LONGEST_STEP_S = 0.005
_LEAST_ROWS = 3
"""A shorter fragment says little beyond its own initial state."""
_LEAST_VELOCITY_STD_RAD_S = 0.05
"""Smoothed velocities are never trusted more than this."""
_FIRST_SENSOR_NOISE_SHARE = 0.1
"""Of what a sensor reads, rms: how far it is trusted before its noise is known."""


class DataError(HaloidError):
    """Recordings that do not belong together, or hold too little to identify anything."""


@dataclass(frozen=True)
class Dataset:
    """Fragments of one stage and what is known about their initial states."""

    fragments: Fragments
    states: np.ndarray
    """(B, 2n) smoothed readings and velocities at the starts."""
    velocity_std_rad_s: np.ndarray
    """(n,) how far the smoothed velocities may be off."""
    noise_rad: float
    """A first estimate of the encoders' noise."""
    noise_by_joint_rad: np.ndarray
    """(n,) the same, joint by joint."""
    least_noise_rad: np.ndarray
    """(n,) what the encoders' steps alone leave unknown; 0 where readings are not quantised."""
    held_out: np.ndarray
    """(B,) fragments kept for validation."""
    sensor_noise: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """(s,) of the fragments' further sensors: told, or a first guess."""
    sensor_noise_told: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))


def check_agreement(recordings: Sequence[Recording]) -> None:
    """All recordings must be of one robot, held and driven in one way."""
    first = recordings[0]
    for other in recordings[1:]:
        for name in ("robot", "clamp", "support", "actuation", "joint_names"):
            if getattr(first, name) != getattr(other, name):
                raise DataError(
                    f"{other.title} has {name} {_short(getattr(other, name))} but {first.title} has "
                    f"{_short(getattr(first, name))}; identify recordings of one robot, clamp and support at a time"
                )
        for name in ("kp", "kd"):
            one, two = getattr(first, name), getattr(other, name)
            if one is None or one.ndim == 2 or two.ndim == 2:
                continue
            worst = int(np.argmax(np.abs(one - two)))
            if not np.allclose(one, two, rtol=1e-9):
                raise DataError(
                    f"{other.title} was recorded with {name} {two[worst]:g} at {first.joint_names[worst]} but "
                    f"{first.title} with {one[worst]:g}; give the gains of each run as {name}:JOINT columns, "
                    "or identify runs with the same gains"
                )
        if first.is_even and other.is_even and abs(other.control_dt_s - first.control_dt_s) > 1e-3 * first.control_dt_s:
            raise DataError(
                f"{other.title} has a row every {other.control_dt_s:g} s but {first.title} every "
                f"{first.control_dt_s:g} s; resample them to one rate"
            )
        one, two = (np.zeros(0) if r.clamp_pose is None else np.asarray(r.clamp_pose) for r in (first, other))
        if one.shape != two.shape or not np.allclose(one, two):
            raise DataError(f"{other.title} and {first.title} disagree about clamp_pose; identify them separately")


def build_simulator(
    recording: Recording, timestep_s: float | None = None, friction_impedance: float | None = None
) -> Simulator:
    """The robot of a recording, clamped and driven as it was, with its nominal parameters; in double support the
    other foot on a floor.

    Without a time step, the model's own where it divides the time between rows (or these are uneven), else the longest
    of at most 5 ms. `friction_impedance` is MuJoCo's solimpfriction, towards 1 for joints that stick; None: the
    model's.
    """
    spec = load_spec(recording.robot)
    if friction_impedance is not None:
        for joint in spec.joints:
            joint.solimp_friction[:2] = friction_impedance
    if timestep_s is None:
        own_s = float(spec.option.timestep)
        timestep_s = _timestep(recording.control_dt_s, own_s)
        if not recording.is_even:
            timestep_s = min(own_s, _LONGEST_STEP_S)
    if recording.actuation == "torque":
        set_motors(spec, recording.joint_names)
    else:
        assert recording.kp is not None and recording.kd is not None
        kp, kd = (gain if gain.ndim == 1 else gain[0] for gain in (recording.kp, recording.kd))
        set_servos(
            spec,
            dict(zip(recording.joint_names, map(float, kp), strict=True)),
            dict(zip(recording.joint_names, map(float, kd), strict=True)),
        )
    spec = clamp(spec, recording.clamp, recording.clamp_pose)
    on_floor = recording.support == "double"
    if on_floor:
        add_floor(spec, recording.clamp)
    return Simulator(spec, timestep_s, contact=on_floor)


def _timestep(control_dt_s: float, own_s: float) -> float:
    """
    >>> _timestep(0.02, 0.002), _timestep(0.002, 0.005), _timestep(0.012, 0.005)
    (0.002, 0.002, 0.004)
    """
    steps = round(control_dt_s / own_s)
    if steps >= 1 and abs(steps * own_s - control_dt_s) <= 1e-6 * control_dt_s:
        return own_s
    return round(control_dt_s / math.ceil(control_dt_s / _LONGEST_STEP_S - 1e-6), 9)


def prepare(
    recordings: Sequence[Recording],
    simulator: Simulator,
    *,
    rows: int,
    fragments_per_recording: int,
    held_out_share: float,
    residuals: Mapping[str, float | None] | None = None,
) -> Dataset:
    """Cuts evenly spaced fragments of `rows` control steps and smooths their initial states.

    Fragments never overlap: a reading in two of them would count twice and make error bars too small. `residuals` are
    further sensors to compare with, by name, and their noise where it is known.
    """
    if not 0 <= held_out_share <= 0.5:
        raise DataError(
            f"a share of {held_out_share:g} of the fragments was to be held out; expected 0 to 0.5, "
            "so that enough are left to fit"
        )
    if rows < _LEAST_ROWS or fragments_per_recording < 1:
        raise DataError(
            f"{fragments_per_recording} fragments of {rows} control steps were asked for; "
            f"expected at least 1 of at least {_LEAST_ROWS}"
        )
    residuals = residuals or {}
    sensors = sensors_of(list(residuals), recordings, simulator.model)
    runs, starts, states, disagreements, noises, joint_noises, least_noises = [], [], [], [], [], [], []
    for recording in recordings:
        motion = motion_of(recording, simulator)
        usable = usable_starts(motion, simulator, rows)
        if not len(usable):
            raise DataError(
                f"{recording.title} has no {rows * recording.control_dt_s:.2g} s without a gap or a joint at its "
                "stop; record longer, off the stops, or shorten the fragments"
            )
        apart = _apart(usable, rows + 1)
        chosen = apart[evenly_spaced(len(apart), fragments_per_recording)]
        starts.append(chosen)
        disagreements.append((motion.velocity_rad_s - motion.rough_velocity_rad_s)[chosen])
        q, v = motion.smooth_rad[chosen], motion.velocity_rad_s[chosen]
        if simulator.contact:
            named = np.argsort(motion.order)  # from the simulator's joint order to the recording's
            standing = standing_states(recording, chosen, q[:, named], v[:, named])
            q, v = (x[:, motion.order] for x in standing)
        states.append(np.concatenate([q, v], axis=1))
        noises.append(noise_rad(motion))
        joint_noises.append([noise_of(scatter) for scatter in motion.scatter_rad.T])
        least_noises.append(motion.least_noise_rad)
        runs.append(without_gyro_offsets(motion, sensors, simulator.model))
    fragments = cut(runs, starts, rows, simulator.dof_joints, simulator.model.opt.timestep, HISTORY_ROWS, sensors)
    sensor_noise, told = _sensor_noise(fragments, residuals)
    disagreement = np.sqrt(np.mean(np.concatenate(disagreements) ** 2, axis=0))
    return Dataset(
        fragments=fragments,
        states=np.concatenate(states),
        velocity_std_rad_s=np.maximum(2 * disagreement, _LEAST_VELOCITY_STD_RAD_S),
        noise_rad=float(np.mean(noises)),
        noise_by_joint_rad=np.mean(joint_noises, axis=0),
        least_noise_rad=np.max(least_noises, axis=0),
        held_out=_every(held_out_share, fragments.count),
        sensor_noise=sensor_noise,
        sensor_noise_told=told,
    )


def _sensor_noise(fragments: Fragments, residuals: Mapping[str, float | None]) -> tuple[np.ndarray, np.ndarray]:
    """(s,) noise of the further sensors, and whether it is what the user says or a guess to begin with."""
    if fragments.signals is None:
        return np.zeros(0), np.zeros(0, bool)
    joints = fragments.readings.shape[2]
    said = [residuals[sensor.name] for sensor in fragments.sensors for _ in sensor.channels(["joint"] * joints)]
    told = np.array([value is not None for value in said])
    size = np.sqrt(np.mean(fragments.signals[:, 1:] ** 2, axis=(0, 1)))
    guess = np.maximum(_FIRST_SENSOR_NOISE_SHARE * size, LEAST_SENSOR_NOISE)
    return np.array([g if value is None else value for g, value in zip(guess, said, strict=True)]), told


def _apart(starts: np.ndarray, distance: int) -> np.ndarray:
    """As many of the starts as possible that are at least `distance` apart."""
    chosen = [int(starts[0])]
    for start in starts:
        if start >= chosen[-1] + distance:
            chosen.append(int(start))
    return np.array(chosen)


def evenly_spaced(total: int, count: int) -> np.ndarray:
    """At most `count` of the indices below `total`, the first and the last among them."""
    return np.linspace(0, total - 1, min(total, count)).round().astype(int)


def _every(share: float, count: int) -> np.ndarray:
    """(count,) which fragments are held out: this share of them, evenly spaced, the first in the middle of its stride.

    >>> np.flatnonzero(_every(0.2, 12)).tolist(), np.flatnonzero(_every(0.4, 10)).tolist()
    ([2, 7], [1, 3, 6, 8])
    """
    so_far = np.floor(share * np.arange(count + 1) + 0.5 - 1e-9)
    return np.diff(so_far) > 0


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 80 else text[:77] + "..."
