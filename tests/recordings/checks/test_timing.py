"""The clock of a recording: the words of its defects, and what is only a warning."""

from dataclasses import replace

import numpy as np
import pytest
from tests.recordings.words import assert_words

from haloid.recordings.checks.validate import validate
from haloid.recordings.errors import RecordingError


@pytest.mark.parametrize(
    ("unit_s", "unit", "period_s"),
    [
        (1e-3, "milliseconds", 0.001),
        (1e-3, "milliseconds", 0.02),
        (1e-3, "milliseconds", 0.1),
        (1e-6, "microseconds", 0.001),
        (1e-6, "microseconds", 0.1),
        (1e-9, "nanoseconds", 0.02),
        (3600, "hours", 0.02),
        (86400, "days", 0.02),
    ],
)
def test_a_clock_in_another_unit_is_recognised(recording, unit_s, unit, period_s):
    clock = replace(recording, time_s=np.arange(60) * period_s / unit_s)
    with pytest.raises(RecordingError) as caught:
        validate(clock)
    assert_words(str(caught.value), "column 'time': the median time", "in seconds", f"looks like {unit}", "multiply")


def test_a_clock_in_no_sensible_unit(recording):
    with pytest.raises(RecordingError, match="Correct the column's unit"):
        validate(replace(recording, time_s=np.arange(60) * 1e-250))


def test_a_repeated_time_names_the_row(run):
    run.set_cell("time", 12, "0.2")
    assert_words(
        run.error(), "column 'time', row 12 (line 13): time 0.2 s is also that of the row before", "Remove the"
    )


def test_a_duplicated_row_is_called_one_and_never_allowed(run):
    rows = run.rows()
    run.write_rows([*rows[:20], rows[19], rows[19], *rows[20:]])
    message = run.error(allow_gaps=True)
    assert_words(message, "row 20 (line 21)", "which is the same row (2 such rows)", "Remove the duplicated rows")


def test_time_going_back(run):
    run.set_cell("time", 12, "0.1")
    assert_words(run.error(), "row 12 (line 13): time goes back: 0.1 s after 0.2 s", "strictly increasing", "order")


def test_two_runs_joined(run):
    rows = run.rows()
    run.write_rows([*rows, *rows[1:]])
    assert_words(run.error(), "row 61 (line 62): the clock starts again: 0.0 s after 1.18 s", "split the file there")


def test_a_gap_names_the_row_and_the_flag(run):
    rows = run.rows()
    run.write_rows([*rows[:20], *rows[23:30], *rows[31:]])
    assert_words(
        run.error(),
        "column 'time', row 20 (line 21): 0.08 s since the row before, at a period of 0.02 s",
        "(2 gaps, about 4 rows lost in all)",
        "--allow-gaps",
    )


def test_an_allowed_gap_is_a_warning(run, caplog):
    rows = run.rows()
    run.write_rows([*rows[:20], *rows[23:]])
    assert len(run.read(allow_gaps=True).time_s) == 57
    assert_words(caplog.text, "row 20 (line 21): 0.08 s since the row before", "1 gap, about 3 rows")


def test_small_jitter_is_one_warning(run, caplog):
    run.set_cell("time", 12, "0.222")
    run.set_cell("time", 30, "0.579")
    run.read()
    assert len(caplog.records) == 1
    assert_words(caplog.text, "row 13 (line 14): jitter: 0.018 s since the row before, 10% off the period of 0.02 s")


def test_large_jitter_is_an_error(run):
    run.set_cell("time", 12, "0.227")
    assert_words(run.error(), "row 13 (line 14)", "35% off the period", "(2 such steps)", "within 20%", "resample")


def test_rounded_or_epoch_times_are_even(recording, caplog):
    validate(replace(recording, time_s=1.7e9 + np.arange(60) * 0.02))
    validate(replace(recording, time_s=np.round(np.arange(60) * 0.02, 3)))
    assert caplog.text == ""


@pytest.mark.parametrize(("rows", "words"), [(9, "has 9 rows"), (1, "has 1 row."), (24, "lasts 0.48 s (24 rows)")])
def test_a_recording_too_short_to_use(run, rows, words):
    run.write_rows(run.rows()[: rows + 1])
    assert_words(run.error(), words, "at least 10 rows and 0.5 s", "record for longer")


def test_half_a_second_is_enough(run):
    run.write_rows(run.rows()[:26])
    assert len(run.read().time_s) == 25


def test_times_that_overflow_are_no_traceback(recording):
    time_s = recording.time_s.copy()
    time_s[0], time_s[1:] = -1.7e308, 1.7e308 + np.arange(59) * 1e300
    with pytest.raises(RecordingError, match="column 'time'"):
        validate(replace(recording, time_s=time_s))
