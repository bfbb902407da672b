"""Validation of a recording's clock: seconds, strictly increasing, without gaps, long enough.

Everything is measured against the control period, the median time between rows. Rows of an uneven loop are taken at
their own times; the stamps of a steady loop may scatter a little.
"""

import logging
import math

import numpy as np

from haloid.recordings.errors import Origin, RecordingError
from haloid.recordings.files.columns import TIME
from haloid.recordings.steadiness import GAP_PERIODS, is_steady

MIN_ROWS = 10
MIN_DURATION_S = 0.5
MIN_PERIOD_S = 1e-4
MAX_PERIOD_S = 1.0
"""A control loop slower than this is a clock in another unit; a millisecond clock at 1 kHz has the period 1."""
JITTER_NOTICED_PERIODS = 0.01
JITTER_ALLOWED_PERIODS = 0.2
_TYPICAL_PERIOD_S = 0.01
_CLOCK_UNITS_S = {
    "milliseconds": 1e-3,
    "microseconds": 1e-6,
    "nanoseconds": 1e-9,
    "minutes": 60.0,
    "hours": 3600.0,
    "days": 86400.0,
}

logger = logging.getLogger(__name__)


def check_timing(time_s: np.ndarray, q_rad: np.ndarray, origin: Origin, *, allow_gaps: bool) -> None:
    """Raises for the first defect of the clock; `time_s` is finite."""
    if len(time_s) < MIN_ROWS:
        raise _too_short(f"the recording has {len(time_s)} row{'s' * (len(time_s) != 1)}", origin)
    with np.errstate(over="ignore"):
        steps_s = np.diff(time_s)
    _check_increasing(time_s, steps_s, q_rad, origin)
    period_s = float(np.median(steps_s))
    _check_unit(period_s, origin)
    duration_s = period_s * len(time_s)
    if duration_s < MIN_DURATION_S * (1 - 1e-6):
        raise _too_short(f"the recording lasts {duration_s:.3g} s ({len(time_s)} rows)", origin)
    _check_gaps(steps_s, period_s, origin, allow_gaps)
    _check_jitter(steps_s, period_s, origin)


def _check_increasing(time_s: np.ndarray, steps_s: np.ndarray, q_rad: np.ndarray, origin: Origin) -> None:
    wrong = np.flatnonzero(~(steps_s > 0))
    if not len(wrong):
        return
    row = int(wrong[0]) + 1
    now_s, before_s = float(time_s[row]), float(time_s[row - 1])
    if now_s == before_s:
        copied = np.array_equal(q_rad[row], q_rad[row - 1])
        found = f"time {now_s!r} s is also that of the row before" + (", which is the same row" if copied else "")
        next_step = "Remove the duplicated rows, or write the time with more digits."
    elif now_s <= time_s[0]:
        found = f"the clock starts again: {now_s!r} s after {before_s!r} s"
        next_step = "Two runs were joined: split the file there into two recordings."
    else:
        found = f"time goes back: {now_s!r} s after {before_s!r} s"
        next_step = "Put the rows in the order of their time."
    others = f" ({len(wrong)} such rows)" if len(wrong) > 1 else ""
    raise origin.data_error(
        column=TIME, row=row, found=found + others, expected="strictly increasing seconds", next_step=next_step
    )


def _check_unit(period_s: float, origin: Origin) -> None:
    if MIN_PERIOD_S <= period_s < MAX_PERIOD_S:
        return
    unit = min(_CLOCK_UNITS_S, key=lambda name: abs(math.log(period_s * _CLOCK_UNITS_S[name] / _TYPICAL_PERIOD_S)))
    converted_s = period_s * _CLOCK_UNITS_S[unit]
    if MIN_PERIOD_S <= converted_s < MAX_PERIOD_S:
        factor = _CLOCK_UNITS_S[unit]
        next_step = f"It looks like {unit} (a period of {converted_s:.3g} s): multiply the column by {factor:g}."
    else:
        next_step = "Correct the column's unit."
    raise origin.data_error(
        column=TIME,
        found=f"the median time between rows is {period_s:.6g} s",
        expected=f"a control period in seconds, between {MIN_PERIOD_S:g} and {MAX_PERIOD_S:g} s",
        next_step=next_step,
    )


def _check_gaps(steps_s: np.ndarray, period_s: float, origin: Origin, allow_gaps: bool) -> None:
    gaps = np.flatnonzero(steps_s >= GAP_PERIODS * period_s)
    if not len(gaps):
        return
    lost_rows = sum(max(round(float(step_s) / period_s) - 1, 1) for step_s in steps_s[gaps])
    row = int(gaps[0]) + 1
    step_s = float(steps_s[gaps[0]])
    found = (
        f"{step_s:.4g} s since the row before, at a period of {period_s:.4g} s "
        f"({len(gaps)} gap{'s' * (len(gaps) != 1)}, about {lost_rows} rows lost in all)"
    )
    if allow_gaps:
        logger.warning("%s: column 'time', %s: %s", origin.data_file, origin.row_name(row), found)
        return
    raise origin.data_error(
        column=TIME,
        row=row,
        found=found,
        expected=f"no step of {GAP_PERIODS:g} periods or more",
        next_step="Record again without losing rows, cut the recording there, or pass --allow-gaps.",
    )


def _check_jitter(steps_s: np.ndarray, period_s: float, origin: Origin) -> None:
    jitter = np.where(steps_s < GAP_PERIODS * period_s, np.abs(steps_s / period_s - 1), 0.0)
    worst = int(np.argmax(jitter))
    if jitter[worst] <= JITTER_NOTICED_PERIODS or not is_steady(steps_s, period_s):
        return
    found = f"{steps_s[worst]:.4g} s since the row before, {jitter[worst]:.0%} off the period of {period_s:.4g} s"
    if jitter[worst] <= JITTER_ALLOWED_PERIODS:
        logger.warning("%s: column 'time', %s: jitter: %s", origin.data_file, origin.row_name(worst + 1), found)
        return
    count = int(np.count_nonzero(jitter > JITTER_ALLOWED_PERIODS))
    raise origin.data_error(
        column=TIME,
        row=worst + 1,
        found=f"{found} ({count} such step{'s' * (count != 1)})",
        expected=f"stamps within {JITTER_ALLOWED_PERIODS:.0%} of the period (a late one makes a long and a short step)",
        next_step="Take the time from the robot's own clock, or resample the log to an even period.",
    )


def _too_short(found: str, origin: Origin) -> RecordingError:
    return origin.data_error(
        found=found,
        expected=f"at least {MIN_ROWS} rows and {MIN_DURATION_S:g} s",
        next_step="Too short to use: record for longer.",
    )
