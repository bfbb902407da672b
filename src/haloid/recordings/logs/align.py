"""Alignment: the states and commands of a `Log` on one even grid of control rows.

- A log whose loop wrote states and commands together keeps its rows, unless another rate is asked for. A steady loop's
  rows get even times, an uneven one's keep their own (`steadiness`). Else:
- Rows are even, at the given rate or at that of the commands (its period rounded to 1 or 0.1 ms where that changes it
  by less than 1 %).
- Readings are interpolated by the cubic through the four states around a row (a line beside a loss).
- Commands are held until the next; a row has the mean of what was held from it until the next row. With several
  commands per row, rows start where commands change most.
- A row is left out where states or commands around it were lost, or where a joint was not driven: the recording's time
  jumps there, and no fragment spans it. A loss is ignored where it is shorter than a quarter of a row, or where the
  commands before and after it are the same.
"""

from dataclasses import dataclass

import numpy as np

from haloid.recordings.delay import held_mean
from haloid.recordings.errors import RecordingError
from haloid.recordings.logs.clock import Clock, recorder_clock, state_clock
from haloid.recordings.logs.log import Commands, Log

_ROUND_PERIODS_S = (1e-3, 1e-4)
_ROUND_WITHIN = 0.01
_LOSS_PASSED_OVER_ROWS = 0.25
_MIN_SAMPLES = 10


@dataclass(frozen=True)
class Aligned:
    """Rows with their arrays in the log's joint order."""

    time_s: np.ndarray
    """(T,) from 0, multiples of the period unless the loop is uneven; rows left out are not there."""
    period_s: float
    q_rad: np.ndarray
    dq_rad_s: np.ndarray | None
    tau_nm: np.ndarray | None
    """Measured in position mode, commanded in torque mode."""
    target_rad: np.ndarray | None
    kp: np.ndarray | None
    """(n,) where constant, else (T, n)"""
    kd: np.ndarray | None
    rows_left_out: int
    commands_inside_rows: float | None
    """Share of the commanded motion that happens inside rows, where only its mean is kept; None: rows are as logged."""
    state_clock: Clock
    command_clock: Clock


def align(log: Log, rate_hz: float | None) -> Aligned:
    states, commands = log.states, log.commands
    for what, stream in (("states", states), ("commands", commands)):
        if len(stream.time_s) < _MIN_SAMPLES:
            raise RecordingError(
                str(log.source),
                found=f"the log has {len(stream.time_s)} {what}",
                expected=f"at least {_MIN_SAMPLES}",
                next_step="Too short to use: record for longer.",
            )
    inputs = commands.tau_nm if commands.target_rad is None else commands.target_rad
    assert inputs is not None
    sensed = state_clock(states.time_s, states.q_rad, states.tick_ms)
    sent = recorder_clock(commands.time_s, inputs)
    if rate_hz is None and np.array_equal(states.time_s, commands.time_s):
        return _as_logged(log, sent)
    period_s = 1 / rate_hz if rate_hz else _round_period(sent.period_s)
    inputs = inputs[sent.kept]
    start_s = max(sensed.time_s[0], sent.time_s[0])
    first_s, inside = _phase(sent, inputs, period_s, start_s)
    sensed_rows = np.floor((sensed.time_s[-1] - first_s) / period_s + 1e-9) + 1
    sent_rows = np.floor((sent.time_s[-1] + sent.period_s - first_s) / period_s + 1e-6)
    count = int(min(sensed_rows, sent_rows))
    if not count > 1:
        raise _no_overlap(log, sensed, sent)
    grid_s = first_s + period_s * np.arange(count + 1)
    rows_s = grid_s[:-1]
    good = ~_in_lost_states(rows_s, sensed, period_s) & ~_in_lost_commands(grid_s, sent, inputs, period_s)
    good &= ~_undriven(grid_s, sent, commands)
    if not good.any():
        raise RecordingError(
            str(log.source),
            found=f"none of the {count:,} rows has all joints driven and its states and commands complete",
            expected="a stretch of at least half a second without losses",
            next_step="Record again, while the robot is controlled and with fewer topics in the bag.",
        )

    def sampled(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else _interpolated(rows_s, sensed, values[sensed.kept])[good]

    def held(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else held_mean(grid_s, sent.time_s, values[sent.kept])[good]

    q_rad = sampled(states.q_rad)
    assert q_rad is not None
    return Aligned(
        time_s=np.arange(count)[good] * period_s - np.flatnonzero(good)[0] * period_s,
        period_s=period_s,
        q_rad=q_rad,
        dq_rad_s=sampled(states.dq_rad_s),
        tau_nm=sampled(states.tau_nm) if commands.target_rad is not None else held(commands.tau_nm),
        target_rad=held(commands.target_rad),
        kp=_constant(held(commands.kp)),
        kd=_constant(held(commands.kd)),
        rows_left_out=int(np.count_nonzero(~good[np.argmax(good) : count - np.argmax(good[::-1])])),
        commands_inside_rows=inside,
        state_clock=sensed,
        command_clock=sent,
    )


def _as_logged(log: Log, clock: Clock) -> Aligned:
    """The rows of a log whose loop wrote state and command together, each at its number in the loop."""
    kept, states, commands = clock.kept, log.states, log.commands

    def rows(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else values[kept]

    return Aligned(
        time_s=clock.period_s * clock.number if clock.steady else clock.time_s - clock.time_s[0],
        period_s=clock.period_s,
        q_rad=states.q_rad[kept],
        dq_rad_s=rows(states.dq_rad_s),
        tau_nm=rows(states.tau_nm) if commands.target_rad is not None else rows(commands.tau_nm),
        target_rad=rows(commands.target_rad),
        kp=_constant(rows(commands.kp)),
        kd=_constant(rows(commands.kd)),
        rows_left_out=clock.lost_samples,
        commands_inside_rows=None,
        state_clock=clock,
        command_clock=clock,
    )


def _round_period(period_s: float) -> float:
    for unit_s in _ROUND_PERIODS_S:
        rounded_s = round(period_s / unit_s) * unit_s
        if abs(rounded_s / period_s - 1) < _ROUND_WITHIN:
            return round(rounded_s, 4)
    return period_s


def _phase(sent: Clock, inputs: np.ndarray, period_s: float, start_s: float) -> tuple[float, float]:
    """Where the first row starts, and the share of commanded motion that is not at the start of a row."""
    from_command = int(np.searchsorted(sent.time_s, start_s - 1e-3 * sent.period_s))
    from_command = min(from_command, len(sent.time_s) - 1)
    per_row = max(1, round(period_s / sent.period_s))
    change = np.r_[0.0, np.abs(np.diff(inputs, axis=0)).sum(axis=1)][from_command:]
    offset = np.round((sent.time_s[from_command:] - sent.time_s[from_command]) / sent.period_s).astype(int) % per_row
    by_offset = np.bincount(offset, weights=change, minlength=per_row)
    best = int(np.argmax(by_offset))
    total = by_offset.sum()
    return (
        float(sent.time_s[from_command] + best * sent.period_s),
        float(1 - by_offset[best] / total) if total > 0 else 0.0,
    )


def _interpolated(rows_s: np.ndarray, sensed: Clock, values: np.ndarray) -> np.ndarray:
    """By the cubic through the four samples around a row; by a line at the ends and beside a loss."""
    time_s = sensed.time_s
    before = np.clip(np.searchsorted(time_s, rows_s, side="right") - 1, 0, len(time_s) - 2)
    weight = ((rows_s - time_s[before]) / (time_s[before + 1] - time_s[before]))[:, None]
    line = (1 - weight) * values[before] + weight * values[before + 1]
    lost = np.zeros(len(time_s), bool)
    lost[sensed.lost] = True
    inner = (before >= 1) & (before <= len(time_s) - 3)
    inner &= ~(lost[np.maximum(before - 1, 0)] | lost[before] | lost[before + 1])
    i, w = before[inner], weight[inner]
    line[inner] = (
        -w * (w - 1) * (w - 2) / 6 * values[i - 1]
        + (w + 1) * (w - 1) * (w - 2) / 2 * values[i]
        - (w + 1) * w * (w - 2) / 2 * values[i + 1]
        + (w + 1) * w * (w - 1) / 6 * values[i + 2]
    )
    return line


def _in_lost_states(rows_s: np.ndarray, sensed: Clock, period_s: float) -> np.ndarray:
    bad = np.zeros(len(rows_s), bool)
    for i in sensed.lost.tolist():
        before_s, after_s = sensed.time_s[i], sensed.time_s[i + 1]
        if after_s - before_s - sensed.period_s > _LOSS_PASSED_OVER_ROWS * period_s:
            bad[np.searchsorted(rows_s, before_s, side="right") : np.searchsorted(rows_s, after_s)] = True
    return bad


def _in_lost_commands(grid_s: np.ndarray, sent: Clock, inputs: np.ndarray, period_s: float) -> np.ndarray:
    """Rows during which an unknown command acted."""
    bad = np.zeros(len(grid_s) - 1, bool)
    for i in sent.lost.tolist():
        from_s, until_s = sent.time_s[i] + sent.period_s, sent.time_s[i + 1]
        long = until_s - from_s > _LOSS_PASSED_OVER_ROWS * period_s
        if long and not np.array_equal(inputs[i], inputs[i + 1]):
            slack_s = 0.1 * sent.period_s
            first = np.searchsorted(grid_s, from_s + slack_s, side="right") - 1
            bad[max(first, 0) : np.searchsorted(grid_s, until_s - slack_s)] = True
    return bad


def _undriven(grid_s: np.ndarray, sent: Clock, commands: Commands) -> np.ndarray:
    if commands.driven is None:
        return np.zeros(len(grid_s) - 1, bool)
    driven = commands.driven[sent.kept].astype(float)[:, None]
    return held_mean(grid_s, sent.time_s, driven)[:, 0] < 1 - 1e-6


def _constant(gains: np.ndarray | None) -> np.ndarray | None:
    if gains is None or np.ptp(gains, axis=0).max() > 1e-9 * np.abs(gains).max():
        return gains
    return gains[0]


def _no_overlap(log: Log, sensed: Clock, sent: Clock) -> RecordingError:
    return RecordingError(
        str(log.source),
        found=f"states run from {sensed.time_s[0]:.3f} to {sensed.time_s[-1]:.3f} s, commands from "
        f"{sent.time_s[0]:.3f} to {sent.time_s[-1]:.3f} s",
        expected="both at the same time",
        next_step="Record states and commands in one run.",
    )
