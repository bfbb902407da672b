"""The words of every defect that a csv can have, apart from its clock and its units."""

import pytest
from tests.recordings.words import assert_words

KNEE = "left_knee_joint"


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("nan", ["found nan", "finite"]),
        ("-inf", ["found -inf", "finite"]),
        ("1e999", ["found inf", "finite"]),
        ("", ["the value is missing ('')", "a number in every cell"]),
        ("NULL", ["the value is missing ('NULL')"]),
        ("oops", ["'oops' is not a number", "record again"]),
        ("0x1f", ["'0x1f' is not a number"]),
        ("57.3", ["found 57.3", "radians within the joint's limits", "looks like degrees", "pi/180"]),
        ("5", ["found 5", "Check the joint's zero, its sign"]),
        ("1e300", ["found 1e+300", "damaged"]),
        ("9000", ["found 9000", "damaged"]),
    ],
)
def test_a_bad_cell_is_named(run, cell, words):
    run.set_cell(f"q:{KNEE}", 12, cell)
    assert_words(run.error(), f"{run.csv}: column 'q:{KNEE}', row 12 (line 13): ", *words)


def test_blank_lines_do_not_shift_the_line_that_is_named(run):
    run.set_cell(f"q:{KNEE}", 12, "nan")
    lines = run.csv.read_text().split("\n")
    run.csv.write_text("\n".join(["", lines[0], "", "", *lines[1:]]))
    assert_words(run.error(), "row 12 (line 16)")


def test_an_unknown_joint_gets_its_near_miss(run):
    run.rename(f"q:{KNEE}", "q:left_knee")
    assert_words(
        run.error(),
        f"{run.csv}: column 'q:left_knee': robot 'g1' has no joint 'left_knee'",
        "29 actuated joints",
        f"Did you mean 'q:{KNEE}'?",
        "Rename the column",
    )


def test_an_unknown_joint_of_an_optional_channel_is_named_too(run):
    run.add_column("dq:left_thumb", ["0"] * 60)
    assert_words(run.error(), "column 'dq:left_thumb'", "has no joint 'left_thumb'", "or remove it")


@pytest.mark.parametrize("channel", ["q", "target"])
def test_a_missing_joint_is_named_with_the_column_it_might_be(run, channel):
    run.rename(f"{channel}:{KNEE}", f"{channel}_{KNEE}")
    assert_words(
        run.error(),
        f"column '{channel}:{KNEE}': the column is missing",
        f"Is it the column '{channel}_{KNEE}'? If so, rename it to '{channel}:{KNEE}'.",
    )


def test_many_missing_joints_make_one_message(run):
    run.drop("q:left_wrist")
    assert_words(
        run.error(),
        "column 'q:left_wrist_roll_joint': the column is missing (and 2 more: 'q:left_wrist_pitch_joint',",
        "29 actuated joints of robot 'g1'",
        "name a robot model that has only the recorded joints",
    )


@pytest.mark.parametrize("name", ["timestamp", "Time", "t", "tiem"])
def test_a_missing_time_column_is_found_under_other_names(run, name):
    run.rename("time", name)
    assert_words(run.error(), "column 'time': the column is missing", f"Is it the column '{name}'?", "seconds")


def test_a_duplicated_column_is_named(run):
    run.rename(f"target:{KNEE}", f"q:{KNEE}")
    assert_words(run.error(), f"line 1: column 'q:{KNEE}' appears 2 times (columns 5 and 34)", "Keep one")


def test_targets_missing_in_position_mode(run):
    run.drop("target:")
    assert_words(
        run.error(), str(run.csv), "no 'target:' columns", '"actuation": "position"', "Add the position targets"
    )


def test_torques_without_targets_suggest_torque_mode(run):
    rows = run.rows()
    rows[0] = [name.replace("target:", "tau:") for name in rows[0]]
    run.write_rows(rows)
    assert_words(run.error(), "no 'target:' columns, but 'tau:' columns", 'set "actuation" to "torque"')


def test_targets_without_torques_suggest_position_mode(run):
    run.set_meta(actuation="torque")
    assert_words(run.error(), "no 'tau:' columns, but 'target:' columns", 'set "actuation" to "position"')


def test_a_file_cut_in_its_last_line(run):
    run.csv.write_text(run.csv.read_text()[:-300])
    assert_words(
        run.error(), "row 60 (line 61): the row has ", "the header 59", "cut off in its last line", "delete that"
    )


def test_a_file_cut_within_its_last_number_is_a_warning(run, caplog):
    run.csv.write_text(run.csv.read_text()[:-3])
    run.read()
    assert_words(caplog.text, "run.csv: the last line does not end in a line break; its last value may be cut short")


def test_a_short_row_in_the_middle(run):
    rows = run.rows()
    del rows[12][-4:]
    run.write_rows(rows)
    assert_words(run.error(), "row 12 (line 13): the row has 55 cells, the header 59", "Fix or remove the line")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["the file is empty", "Record or copy"]),
        (b"\n \n\r\n", ["only blank lines"]),
        (b"time,q:a\n", ["a header but no rows"]),
        (b"0.0,1.0\n0.02,1.0\n", ["line 1: the first line holds numbers, not names", "Add the header line"]),
        (b"time;q:a\n0;1\n", ["separated by semicolons", "with commas"]),
        (b"time\tq:a\n0\t1\n", ["separated by tabs"]),
        (b"time,,q:a\n0,1,2\n", ["column 2 has no name"]),
        (b"time,q:a\n0,0,1,5\n", ["the row has 4 cells, the header 2", "decimal commas?"]),
        (b"time,q:a\n0,1\ntime,q:a\n", ["row 2 (line 3): the header line appears again", "split the file"]),
        ("time,q:a\n0,1\n".encode("utf-16"), ["UTF-16", "CSV UTF-8"]),
        (b"time,q:a\n0,1\n0,\xff\n", ["line 3: byte 0xff is not UTF-8"]),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), ["line 1: byte 0x89 is not UTF-8", "damaged, or not a csv"]),
    ],
)
def test_a_file_that_is_no_csv_of_numbers(run, content, words):
    run.csv.write_bytes(content)
    assert_words(run.error(), f"{run.csv}: ", *words)
