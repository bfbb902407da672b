"""Data: recordings in, fragments ready to be fitted out.

Checks that the recordings belong together, builds the one clamped simulator they share, cuts fragments where they may
start, and takes first guesses of their states from smoothed readings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from haloid.engines.fragments import Fragments, cut
from haloid.engines.simulate import Simulator
from haloid.errors import HaloidError
from haloid.identify.usable import HISTORY_ROWS, noise_of, scatter_rad, smoothed, usable_starts
from haloid.recordings.recording import Recording
from haloid.robots.clamp import clamp
from haloid.robots.floor import add_floor
from haloid.robots.load import load_spec
from haloid.robots.servos import set_motors, set_servos

_LEAST_ROWS = 3
"""A shorter fragment says little beyond its own initial state."""
_LEAST_VELOCITY_STD_RAD_S = 0.05
"""Smoothed velocities are never trusted more than this."""


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
    held_out: np.ndarray
    """(B,) fragments kept for validation."""


def check_agreement(recordings: Sequence[Recording]) -> None:
    """All recordings must be of one robot, held and driven in one way."""
    first = recordings[0]
    for other in recordings[1:]:
        for field in ("robot", "clamp", "support", "actuation", "joint_names"):
            if getattr(first, field) != getattr(other, field):
                raise DataError(
                    f"{_name(other)} has {field} {_short(getattr(other, field))} but {_name(first)} has "
                    f"{_short(getattr(first, field))}; identify recordings of one robot, clamp and support at a time"
                )
        for field in ("kp", "kd"):
            one, two = getattr(first, field), getattr(other, field)
            if one is None or one.ndim == 2 or two.ndim == 2:
                continue
            worst = int(np.argmax(np.abs(one - two)))
            if not np.allclose(one, two, rtol=1e-9):
                raise DataError(
                    f"{_name(other)} was recorded with {field} {two[worst]:g} at {first.joint_names[worst]} but "
                    f"{_name(first)} with {one[worst]:g}; give the gains of each run as {field}:JOINT columns, "
                    "or identify runs with the same gains"
                )
        if abs(other.control_dt_s - first.control_dt_s) > 1e-3 * first.control_dt_s:
            raise DataError(
                f"{_name(other)} has a row every {other.control_dt_s:g} s but {_name(first)} every "
                f"{first.control_dt_s:g} s; resample them to one rate"
            )
        one, two = (np.zeros(0) if r.clamp_pose is None else np.asarray(r.clamp_pose) for r in (first, other))
        if one.shape != two.shape or not np.allclose(one, two):
            raise DataError(f"{_name(other)} and {_name(first)} disagree about clamp_pose; identify them separately")


def build_simulator(recording: Recording, timestep_s: float, *, contact: bool = False) -> Simulator:
    """The robot of a recording, clamped and driven as it was, with its nominal parameters."""
    spec = load_spec(recording.robot)
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
    if contact and recording.support == "double":
        add_floor(spec, recording.clamp)
    return Simulator(spec, timestep_s, contact=contact)


def prepare(
    recordings: Sequence[Recording],
    simulator: Simulator,
    *,
    rows: int,
    fragments_per_recording: int,
    held_out_share: float,
) -> Dataset:
    """Cuts evenly spaced fragments of `rows` control steps and smooths their initial states.

    Fragments never overlap: a reading in two of them would count twice and make error bars too small.
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
    starts, states, disagreements, noises = [], [], [], []
    for recording in recordings:
        usable = usable_starts(recording, simulator, rows)
        if not len(usable):
            raise DataError(
                f"{_name(recording)} has no {rows * recording.control_dt_s:.2g} s without a gap, a joint at its stop "
                "or a saturated servo; record longer or more gently, or shorten the fragments"
            )
        chosen = _spread(_apart(usable, rows + 1), fragments_per_recording)
        order = [recording.joint_names.index(name) for name in simulator.dof_joints]
        q, v, rough_v = smoothed(recording, order)
        starts.append(chosen)
        states.append(np.concatenate([q[chosen], v[chosen]], axis=1))
        disagreements.append((v - rough_v)[chosen])
        noises.append(noise_of(scatter_rad(recording, order)))
    fragments = cut(recordings, starts, rows, simulator.dof_joints, simulator.model.opt.timestep, HISTORY_ROWS)
    disagreement = np.sqrt(np.mean(np.concatenate(disagreements) ** 2, axis=0))
    held_out = np.zeros(fragments.count, bool)
    if held_out_share > 0:
        period = round(1 / held_out_share)
        held_out[period // 2 :: period] = True
    return Dataset(
        fragments=fragments,
        states=np.concatenate(states),
        velocity_std_rad_s=np.maximum(2 * disagreement, _LEAST_VELOCITY_STD_RAD_S),
        noise_rad=float(np.mean(noises)),
        held_out=held_out,
    )


def _apart(starts: np.ndarray, distance: int) -> np.ndarray:
    """As many of the starts as possible that are at least `distance` apart."""
    chosen = [int(starts[0])]
    for start in starts:
        if start >= chosen[-1] + distance:
            chosen.append(int(start))
    return np.array(chosen)


def _spread(starts: np.ndarray, count: int) -> np.ndarray:
    """At most `count` of the starts, evenly spaced."""
    count = min(count, len(starts))
    return starts[np.linspace(0, len(starts) - 1, count).round().astype(int)]


def _name(recording: Recording) -> str:
    return recording.name if recording.source is None else Path(recording.source).name


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 80 else text[:77] + "..."
