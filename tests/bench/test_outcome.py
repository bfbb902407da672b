"""A target says what was found, what was to be reached, and whether it was."""

import pytest

from haloid.bench.outcome import Target


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Target("gap", 1.0, 1.0), "met: gap 1 (target at most 1)"),
        (Target("gap", 1.0, 1.0, strictly=True), "MISSED: gap 1 (target below 1)"),
        (Target("gap", 0.99, 1.0, strictly=True), "met: gap 0.99 (target below 1)"),
        (Target("success", 0.9, 0.9, at_least=True), "met: success 0.9 (target at least 0.9)"),
        (Target("success", 0.9, 0.9, at_least=True, strictly=True), "MISSED: success 0.9 (target above 0.9)"),
    ],
)
def test_a_tie_meets_a_target_unless_it_is_strict(target: Target, words: str):
    assert str(target) == words
    assert target.met == words.startswith("met")
