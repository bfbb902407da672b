"""Doubts about a calibration: joints that no servo explains, by name, run and time.

Comes in: whole runs and their replays on the calibrated robot. Goes out: sentences, each with what was found, what was
expected and what to do.

- a joint that stands still while its target moves (it jams, or its motor is off);
- friction that takes most of the motor's torque (it jams in every run);
- a stretch of a run in which a joint strays far more than elsewhere, beyond what its speed explains (links touch, a
  clamp slips, a joint jams for a while, gains or a load change).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from haloid.identify.calibration.fit import ServoFit
from haloid.identify.calibration.lone_joint import KINDS
from haloid.identify.calibration.spread import Spread
from haloid.identify.replay import Replay, rms
from haloid.recordings.recording import Recording

_ASKED_RAD, _FOLLOWED = 0.1, 0.1
"""A target that moves by this much is followed by at least this share of it."""
_JAMMED = 0.5
"""Share of a motor's torque that no sound joint rubs away."""
_STRETCH_S, _FEWEST, _MOVING_RAD = 5.0, 4, 0.02
"""A joint is compared over so many stretches, at least, in which its target moves by this much."""
_UNUSUAL, _LEAST_RAD = 4.0, 0.01
"""Errors so many times their median over the stretches, and as large as this, are those of something else."""


def doubts_of(fit: ServoFit, spread: Spread, recordings: Sequence[Recording], played: Sequence[Replay]) -> list[str]:
    """`played` are the replays of `recordings` on the calibrated robot, those of held-out runs too."""
    return [*_still(recordings), *_rubbing(fit), *_straying(spread, recordings, played)]


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
