"""One stream's clock: when each sample was really taken, and where samples are missing.

A recorder's time stamps come late and unevenly. Samples of a steady loop get numbers (consecutive where none was lost)
and times that follow the recorder's clock slowly. Where the robot stamps its states with its own clock (`tick`), that
clock gives both. The stamps of a loop that is not steady are kept as they are.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import uniform_filter1d

from haloid.recordings.steadiness import GAP_PERIODS, is_steady

_PHASE_GAIN = 0.05
"""How quickly the predicted time of the next sample follows the recorder's clock."""
_FOLLOWED_SAMPLES = 51
"""Jitter is averaged over this many samples; slower changes of the loop's period are followed."""
_TICK_FOLLOWED_SAMPLES = 1001
_TICK_S = 1e-3
_TICK_RATE_TOLERANCE = 0.05
_LATENESS_ALLOWED_S = 0.5
"""Ticks that differ from the recorder's stamps by more than this between two states have restarted: not a clock."""
_REPEATED_WITHIN_PERIODS = 0.25
_BURST = 0.2
"""A median step this small compared with the mean: samples came in bursts."""


@dataclass(frozen=True)
class Clock:
    time_s: np.ndarray
    """(S,) strictly increasing, on the recorder's clock."""
    kept: np.ndarray
    """(S,) which samples of the stream these are, in this order."""
    number: np.ndarray
    """(S,) each sample's number in the loop, from 0; where samples were lost, numbers are missing."""
    period_s: float
    """The loop's period."""
    duplicates: int
    lost: np.ndarray
    """Positions i: samples are missing between i and i + 1."""
    lost_samples: int
    jitter_s: float
    """Rms of the recorder's stamps around `time_s`."""
    source: str
    """Which clock this is, in words."""
    steady: bool = True
    """Whether the loop has a period; otherwise the period is the median distance between samples."""


def state_clock(time_s: np.ndarray, content: np.ndarray, tick_ms: np.ndarray | None) -> Clock:
    """The robot's own clock where it has one that runs, the recorder's otherwise. `content` (S, n) shows duplicates."""
    if tick_ms is not None and _is_clock(time_s, tick_ms):
        return _tick_clock(time_s, tick_ms)
    return recorder_clock(time_s, content)


def recorder_clock(time_s: np.ndarray, content: np.ndarray) -> Clock:
    """From the recorder's stamps alone; samples are in order of time."""
    kept = np.argsort(time_s, kind="stable")
    stamps_s, content = time_s[kept], content[kept]
    steps_s = np.diff(stamps_s)
    period_s = _period(steps_s)
    repeats = np.r_[False, (steps_s < _REPEATED_WITHIN_PERIODS * period_s) & (content[1:] == content[:-1]).all(axis=1)]
    kept, stamps_s = kept[~repeats], stamps_s[~repeats]
    steps_s = np.diff(stamps_s)
    period_s = _period(steps_s)
    if not is_steady(steps_s, period_s):
        return _uneven_clock(stamps_s, kept, period_s, int(repeats.sum()))
    number = _numbers(stamps_s, period_s)
    if len(number) > 2:
        period_s = float(np.polyfit(number, stamps_s, 1)[0])
    late_s = stamps_s - period_s * number
    times_s = period_s * number + uniform_filter1d(late_s, min(_FOLLOWED_SAMPLES, len(late_s)), mode="nearest")
    times_s = np.maximum.accumulate(times_s)
    return _clock(times_s, stamps_s, kept, period_s, number, int(repeats.sum()), "the recorder's clock")


def _uneven_clock(stamps_s: np.ndarray, kept: np.ndarray, period_s: float, duplicates: int) -> Clock:
    """Only a step as long as a gap has lost samples."""
    periods = np.diff(stamps_s) / period_s
    number = np.r_[0, np.cumsum(np.where(periods >= GAP_PERIODS, np.round(periods), 1)).astype(int)]
    clock = _clock(stamps_s, stamps_s, kept, period_s, number, duplicates, "the log's own uneven clock")
    return replace(clock, steady=False, jitter_s=float(np.std(np.diff(stamps_s)[periods < GAP_PERIODS])))


def _tick_clock(time_s: np.ndarray, tick_ms: np.ndarray) -> Clock:
    _, kept = np.unique(tick_ms, return_index=True)
    robot_s, stamps_s = tick_ms[kept] * _TICK_S, time_s[kept]
    late_s = stamps_s - robot_s
    times_s = robot_s + uniform_filter1d(late_s, min(_TICK_FOLLOWED_SAMPLES, len(late_s)), mode="nearest")
    period_s = _period(np.diff(robot_s))
    number = np.round((robot_s - robot_s[0]) / period_s).astype(int)
    duplicates = len(tick_ms) - len(kept)
    return _clock(times_s, stamps_s, kept, period_s, number, duplicates, "the robot's tick, on the recorder's clock")


def _clock(
    times_s: np.ndarray,
    stamps_s: np.ndarray,
    kept: np.ndarray,
    period_s: float,
    number: np.ndarray,
    duplicates: int,
    source: str,
) -> Clock:
    increasing = np.r_[True, np.diff(times_s) > 0]
    times_s, stamps_s, kept, number = times_s[increasing], stamps_s[increasing], kept[increasing], number[increasing]
    steps = np.diff(number)
    return Clock(
        time_s=times_s,
        kept=kept,
        number=number,
        period_s=period_s,
        duplicates=duplicates,
        lost=np.flatnonzero(steps >= GAP_PERIODS),
        lost_samples=int(np.maximum(steps - 1, 0).sum()),
        jitter_s=float(np.std(stamps_s - times_s)),
        source=source,
    )


def _is_clock(time_s: np.ndarray, tick_ms: np.ndarray) -> bool:
    """Whether the ticks run at a millisecond each, in the order of the log except for the odd late message."""
    ticks, first = np.unique(tick_ms, return_index=True)
    if len(ticks) < max(10, 0.5 * len(tick_ms)):
        return False
    stamps_s = time_s[first]
    rate = (stamps_s[-1] - stamps_s[0]) / (_TICK_S * float(ticks[-1] - ticks[0]))
    late_s = time_s - _TICK_S * tick_ms
    in_order = bool(np.ptp(late_s) < _LATENESS_ALLOWED_S)
    return in_order and abs(rate - 1) < _TICK_RATE_TOLERANCE


def _period(steps_s: np.ndarray) -> float:
    steps_s = steps_s[steps_s > 0]
    if not len(steps_s):
        return float("nan")
    median_s, mean_s = float(np.median(steps_s)), float(np.mean(steps_s))
    return mean_s if median_s < _BURST * mean_s else median_s


def _numbers(stamps_s: np.ndarray, period_s: float) -> np.ndarray:
    """Each sample's number in a steady loop, by predicting the next stamp and following slowly."""
    numbers = np.zeros(len(stamps_s), int)
    expected_s = float(stamps_s[0])
    number = 0
    for i, stamp_s in enumerate(stamps_s[1:].tolist(), start=1):
        step = max(1, round((stamp_s - expected_s) / period_s))
        number += step
        expected_s += step * period_s
        expected_s += _PHASE_GAIN * (stamp_s - expected_s) if step == 1 else stamp_s - expected_s
        numbers[i] = number
    return numbers
