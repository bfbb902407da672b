"""Data: recordings in, fragments ready to be fitted out.

Checks that the recordings belong together, builds the one clamped simulator they share, finds where fragments may
start (no gap, no joint stop, no saturated servo inside), and smooths the readings into first guesses of the states.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.signal import savgol_filter

from haloid.engines.fragments import Fragments, cut
from haloid.engines.simulate import Simulator
from haloid.errors import HaloidError
from haloid.recordings.recording import Recording
from haloid.robots.clamp import clamp
from haloid.robots.floor import add_floor
from haloid.robots.load import load_spec
from haloid.robots.servos import set_motors, set_servos

_LOG = logging.getLogger(__name__)
_HISTORY_ROWS = 5
"""Rows of input before a fragment that delayed commands may come from."""
_EDGE_ROWS = 3
"""Rows at either end of a gap-free piece where smoothing is worse."""
_LEAST_ROWS = 3
"""A shorter fragment says little beyond its own initial state."""
_STOP_MARGIN_RAD = 2e-3
_SATURATION_SHARE = 0.98
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
        usable = _usable_starts(recording, simulator, rows)
        if not len(usable):
            raise DataError(
                f"{_name(recording)} has no {rows * recording.control_dt_s:.2g} s without a gap, a joint at its stop "
                "or a saturated servo; record longer or more gently, or shorten the fragments"
            )
        chosen = _spread(_apart(usable, rows + 1), fragments_per_recording)
        order = [recording.joint_names.index(name) for name in simulator.dof_joints]
        q, v, rough_v = _smoothed(recording, order)
        starts.append(chosen)
        states.append(np.concatenate([q[chosen], v[chosen]], axis=1))
        disagreements.append((v - rough_v)[chosen])
        noises.append(np.median(np.abs(recording.q_rad[:, order] - q)) / 0.6745 / _SMOOTHING_LEFT)
    fragments = cut(recordings, starts, rows, simulator.dof_joints, simulator.model.opt.timestep, _HISTORY_ROWS)
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


_SMOOTHING = (7, 3)
_ROUGH_SMOOTHING = (5, 4)
_SMOOTHING_LEFT = float(np.sqrt(1 - 7 / 21))
"""Share of white noise that is left between readings and a cubic over 7 of them (its centre weight is 7/21)."""


def _smoothed(recording: Recording, order: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Readings and velocities by a local cubic, and velocities by a rougher fit to tell how far to trust them."""
    q = recording.q_rad[:, order]
    smooth, velocity, rough = q.copy(), np.zeros_like(q), np.zeros_like(q)
    for piece in _pieces(recording):
        if piece.stop - piece.start < _SMOOTHING[0]:
            continue
        dt = recording.control_dt_s
        smooth[piece] = savgol_filter(q[piece], *_SMOOTHING, axis=0)
        velocity[piece] = savgol_filter(q[piece], *_SMOOTHING, deriv=1, delta=dt, axis=0)
        rough[piece] = savgol_filter(q[piece], *_ROUGH_SMOOTHING, deriv=1, delta=dt, axis=0)
    if recording.dq_rad_s is not None:
        velocity = recording.dq_rad_s[:, order]
    return smooth, velocity, rough


def _pieces(recording: Recording) -> list[slice]:
    """The gap-free pieces of a recording."""
    breaks = np.flatnonzero(np.diff(recording.time_s) > 1.5 * recording.control_dt_s) + 1
    edges = [0, *breaks.tolist(), len(recording.time_s)]
    return [slice(a, b) for a, b in pairwise(edges)]


def _usable_starts(recording: Recording, simulator: Simulator, rows: int) -> np.ndarray:
    """Rows from which `rows` control steps run without a gap, a joint stop or a saturated servo."""
    bad = _out_of_model(recording, simulator)
    starts = []
    for piece in _pieces(recording):
        first = piece.start + (max(_EDGE_ROWS, _HISTORY_ROWS) if piece.start > 0 else _EDGE_ROWS)
        for start in range(first, piece.stop - rows - 1):
            if not bad[start : start + rows + 1].any():
                starts.append(start)
    if bad.any():
        _LOG.warning(
            "%s: %d of %d rows are left out, because a joint is at its stop or a servo at its limit there",
            _name(recording),
            int(bad.sum()),
            len(bad),
        )
    return np.array(starts, int)


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


def _out_of_model(recording: Recording, simulator: Simulator) -> np.ndarray:
    """(T,) rows where a joint stop or a force limit acts, which the contact-free model does not follow smoothly."""
    if simulator.contact:
        return np.zeros(len(recording.time_s), bool)
    model = simulator.model
    order = [recording.joint_names.index(name) for name in simulator.dof_joints]
    q = recording.q_rad[:, order]
    joints = model.dof_jntid
    low, high = model.jnt_range[joints].T
    limited = model.jnt_limited[joints].astype(bool)
    bad = np.any(limited & ((q < low + _STOP_MARGIN_RAD) | (q > high - _STOP_MARGIN_RAD)), axis=1)
    if recording.target_rad is not None and recording.kp is not None and recording.kd is not None:
        v = _smoothed(recording, order)[1]
        force = recording.kp[..., order] * (recording.target_rad[:, order] - q) - recording.kd[..., order] * v
        bad |= np.any(np.abs(force) > _SATURATION_SHARE * simulator.effort_limit, axis=1)
    return bad


def _name(recording: Recording) -> str:
    return recording.name if recording.source is None else Path(recording.source).name


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 80 else text[:77] + "..."
