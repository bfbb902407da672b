"""Doubts about a calibration: joints that no servo explains, by name, run and time.

Comes in: whole runs and their replays on the calibrated robot. Goes out: sentences, each with what was found, what was
expected and what to do.

- a joint that never moves, nor is asked to, in the fitted runs: what is said of its servo is not measured;
- a joint that stands still while its target moves (it jams, or its motor is off);
- friction that takes most of the motor's torque (it jams in every run);
- a gain that is not the recorded one, where those of the other joints are;
- a joint that the calibrated model replays worse than the nominal one (some runs were of another robot);
- a stretch of a run in which a joint strays far more than elsewhere, beyond what its speed explains (links touch, a
  clamp slips, a joint jams for a while, gains or a load change).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from haloid.identify.calibration.fit import ServoFit
from haloid.identify.calibration.lone_joint import KINDS, LEAST_MOTION_RAD
from haloid.identify.calibration.spread import Spread
from haloid.identify.replay import Replay, rms
from haloid.identify.results.answer import NORMAL_95
from haloid.recordings.recording import Recording

_ASKED_RAD, _FOLLOWED = 0.1, 0.1
"""A target that moves by this much is followed by at least this share of it."""
_JAMMED = 0.5
"""Share of a motor's torque that no sound joint rubs away."""
_STRETCH_S, _FEWEST, _MOVING_RAD = 5.0, 4, 0.02
"""A joint is compared over so many stretches, at least, in which its target moves by this much."""
_UNUSUAL, _LEAST_RAD = 4.0, 0.01
"""Errors so many times their median over the stretches, and as large as this, are those of something else."""
_GAIN_SHARE = 0.1
"""A gain is the recorded one if it is within its 95 % interval or this share of it."""
_WORSE, _LEAST_WORSE_RAD = 1.3, 0.001
"""Errors so many times the nominal model's, and as large as this, are no improvement."""


def doubts_of(
    fit: ServoFit,
    recorded_kp: np.ndarray,
    spread: Spread,
    recordings: Sequence[Recording],
    played: Sequence[Replay],
    judged: tuple[Sequence[Replay], Sequence[Replay]],
) -> list[str]:
    """`played` are the replays of `recordings` on the calibrated robot, those of held-out runs too; `judged` those that
    the calibration is judged by, calibrated and nominal."""
    straying = _straying(spread, recordings, played)
    about_servos = [*_rubbing(fit), *wrong_gains(fit, recorded_kp)]
    return [*_unmoved(fit), *_still(recordings), *about_servos, *straying, *worse_than_nominal(*judged)]


def _unmoved(fit: ServoFit) -> list[str]:
    still = [name for name, moved in zip(fit.joint_names, fit.moved, strict=True) if not moved]
    if not still:
        return []
    return [
        f"nothing is known of {', '.join(still)}: no target and no reading moves by {1e3 * LEAST_MOTION_RAD:g} mrad in "
        "the runs that were fitted, and what is written is taken from the other servos. Add a run in which it moves"
    ]


def _still(recordings: Sequence[Recording]) -> list[str]:
    found = []
    for one in recordings:
        assert one.target_rad is not None
        asked, moved = np.ptp(one.target_rad, axis=0), np.ptp(one.q_rad, axis=0)
        for j in np.flatnonzero((asked > _ASKED_RAD) & (moved < _FOLLOWED * asked)):
            found.append(
                f"{one.name}: {one.joint_names[j]} moves by {1e3 * moved[j]:.0f} mrad where its target moves by "
                f"{1e3 * asked[j]:.0f}. Is it jammed, held, or without power? Leave the run out, or mend the joint"
            )
    return found


def _rubbing(fit: ServoFit) -> list[str]:
    friction, effort = (fit.servos[:, KINDS.index(kind)] for kind in ("frictionloss", "effort"))
    return [
        f"{fit.joint_names[j]} would rub with {friction[j]:.2g} N·m, {100 * friction[j] / effort[j]:.0f} % of its "
        "motor's torque. Is it jammed, or do links touch?"
        for j in np.flatnonzero(friction > _JAMMED * effort)
    ]


def wrong_gains(fit: ServoFit, recorded_kp: np.ndarray) -> list[str]:
    """Where most gains are the recorded ones; a recording may have none of them right."""
    kp, half = fit.servos[:, 0], NORMAL_95 * fit.log_std[:, 0]
    agrees = np.abs(np.log(kp / recorded_kp)) <= np.maximum(half, np.log(1 + _GAIN_SHARE))
    if 2 * np.sum(agrees & fit.kp_seen) <= np.sum(fit.kp_seen):
        return []
    return [
        f"{fit.joint_names[j]} has a gain of {kp[j]:.3g} N·m/rad ({kp[j] * np.exp(-half[j]):.3g} to "
        f"{kp[j] * np.exp(half[j]):.3g}), not the {recorded_kp[j]:.3g} that was recorded, though other joints have "
        "theirs. Is it wrong in the log, or is the motor weak?"
        for j in np.flatnonzero(fit.kp_seen & ~agrees)
    ]


def worse_than_nominal(played: Sequence[Replay], nominal: Sequence[Replay]) -> list[str]:
    ours, theirs = (rms(np.concatenate([one.error_rad for one in runs]), axis=0) for runs in (played, nominal))
    worse = np.flatnonzero((ours > _WORSE * theirs) & (ours > _LEAST_WORSE_RAD))
    if not len(worse):
        return []
    names = [
        f"{played[0].joint_names[j]} ({1e3 * ours[j]:.1f} mrad rms, nominal {1e3 * theirs[j]:.1f})"
        for j in sorted(worse, key=lambda j: -ours[j] / theirs[j])
    ]
    return [
        f"the calibrated model replays {', '.join(names)} worse than the nominal one. Does a joint jam in one of the "
        "runs, or was one recorded with other gains? Leave runs out one by one and compare"
    ]


def _straying(spread: Spread, recordings: Sequence[Recording], played: Sequence[Replay]) -> list[str]:
    stretches = [stretch for pair in zip(recordings, played, strict=True) for stretch in _cut(spread, *pair)]
    told: dict[str, dict[str, _Stretch]] = {}
    for name in played[0].joint_names:
        mine = [one for one in stretches if one.joint == name and one.asked_rad > _MOVING_RAD]
        if len(mine) < _FEWEST:
            continue
        usual = max(float(np.median([one.unexplained for one in mine])), 1e-9)
        unusual = [replace(one, unexplained=one.unexplained / usual) for one in mine if one.error_rad > _LEAST_RAD]
        for one in sorted(unusual, key=lambda one: one.unexplained):
            if one.unexplained > _UNUSUAL:
                told.setdefault(one.run, {})[name] = one
    return [
        f"{run}: no servo explains {', '.join(str(one) for one in joints.values())}. Does a joint jam, do links touch, "
        "did the clamp slip or a load change there, or is it quicker than all else? Leave the run out and compare"
        for run, joints in told.items()
    ]


@dataclass(frozen=True)
class _Stretch:
    """Of one joint in one run."""

    run: str
    joint: str
    from_s: float
    asked_rad: float
    """How far the target moves."""
    error_rad: float
    unexplained: float
    """Errors over what is expected of them; 1 on average."""

    def __str__(self) -> str:
        return (
            f"{self.joint} ({1e3 * self.error_rad:.0f} mrad rms from {self.from_s:.0f} to "
            f"{self.from_s + _STRETCH_S:.0f} s, {self.unexplained:.1f} times the usual)"
        )


def _cut(spread: Spread, recording: Recording, run: Replay) -> Iterator[_Stretch]:
    assert recording.target_rad is not None
    error_rad, std_rad = run.played_rad - run.read_rad, np.maximum(spread.std_rad(recording), 1e-9)
    number = ((run.time_s - run.time_s[0]) / _STRETCH_S).astype(int)
    for k in range(number[-1] + 1):
        rows = run.compared & (number == k)
        if not rows.any():
            continue
        asked, error = np.ptp(recording.target_rad[rows], axis=0), rms(error_rad[rows], axis=0)
        unexplained, from_s = rms(error_rad[rows] / std_rad[rows], axis=0), run.time_s[0] + k * _STRETCH_S
        for j, joint in enumerate(run.joint_names):
            yield _Stretch(run.name, joint, from_s, float(asked[j]), float(error[j]), float(unexplained[j]))
