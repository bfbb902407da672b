"""What a search adds, from runs stated by hand."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
pytest.importorskip("mjbatch")

from tests.bench.evaluations import fell, measured, ran

from haloid.bench.skills.controller_search import Searched, outcome_of


def test_the_searched_controller_stands_beside_the_usual_one():
    def evaluation(successes: int):
        return measured("walk", "halo", *[ran()] * successes, *[fell()] * (10 - successes)).evaluations[0]

    outcome = outcome_of([Searched("walk", *(evaluation(number) for number in (2, 8, 0, 1)))], search=60)
    assert outcome.headline["walk_usual_success"] == 0.2
    assert outcome.headline["mean_best_success"] == 0.8
    assert [row["success"] for row in outcome.rows] == [0.2, 0.8, 0.0, 0.1]
    assert outcome.tables[0].rows[0][1:3] == ["20 (6 to 51) %", "80 (49 to 94) %"]
    assert "60 designs" in (outcome.tables[0].note or "")
