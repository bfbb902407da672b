"""The scaling benchmark at a small size."""

import pytest

from haloid.bench.engines import scaling
from haloid.bench.engines.scaling import Scaling


@pytest.mark.slow
def test_every_size_is_measured():
    outcome = scaling.run(Scaling(fragments=2, rows=2, repeats=2), lambda _: None)
    by_parameters = [row for row in outcome.rows if row["varied"] == "parameters"]
    assert [row["parameters"] for row in by_parameters if row["engine"] == "analytic"] == [12, 58, 145, 203, 290]
    assert [row["parameters"] for row in by_parameters if row["engine"] == "finite-difference"] == [12, 145]
    assert [row["fragments"] for row in outcome.rows if row["varied"] == "fragments"] == list(scaling.FRAGMENTS)
    assert [row["rows"] for row in outcome.rows if row["varied"] == "rows"] == list(scaling.ROWS)
    assert all(0 < row["seconds"] < 60 for row in outcome.rows)
    assert 0.8 < outcome.headline["jacobian_145_over_12"] < 10
    assert outcome.headline["times_faster_than_differences_145"] > 1
    longest = outcome.rows[-1]["seconds"]
    assert longest > outcome.rows[-len(scaling.ROWS)]["seconds"]
