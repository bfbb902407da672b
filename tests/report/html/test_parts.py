import pytest

from haloid.report import Table, Text
from haloid.report.html.parts import TableError


def test_paragraphs_are_separated_by_empty_lines():
    assert Text("  one\nline\n\n  \ntwo ").paragraphs() == ["one\nline", "two"]


def test_floats_are_shown_with_four_digits():
    assert Table(["a", "b", "c"], [[13.81849, 3, "0.10"]]).texts() == [["13.82", "3", "0.10"]]


@pytest.mark.parametrize("cell", [1, -2.5, "12", "+3 kg", "−3", "±0.02", "0.5 ± 0.1", "<0.01", "≈ 4"])
def test_numbers_are_known_as_numbers(cell: str | int | float):
    assert Table(["link", "x"], [["torso", cell], ["hand", "—"]]).numeric_columns() == [False, True]


def test_columns_of_words_gaps_or_nothing_are_no_numbers():
    assert Table(["a", "b"], [["1", "—"], ["g1", ""]]).numeric_columns() == [False, False]
    assert Table(["a", "b"], []).numeric_columns() == [False, False]


def test_row_of_the_wrong_length_says_which():
    with pytest.raises(TableError) as caught:
        Table(["link", "mass (kg)"], [["torso_link", 7.8], ["pelvis"]])
    assert str(caught.value) == "Row 2 of a table has 1 cells for its 2 columns (link, mass (kg))."
