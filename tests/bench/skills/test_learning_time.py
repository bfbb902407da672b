"""How long learning takes, from runs and seconds stated by hand."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
pytest.importorskip("mjbatch")

from tests.bench.evaluations import fell, measured, ran

from haloid.bench.skills.learning_time import Timed, _Clock, outcome_of


def test_minutes_and_success_are_judged_apart():
    runs = [ran()] * 8 + [fell()] * 2
    quick = Timed("squat", 4_000_000, 600.0, 900.0, measured("squat", "halo", *runs).evaluations[0])
    slow = Timed("step-in-place", 1_000_000, 6000.0, 6000.0, measured("", "halo", *[ran()] * 10).evaluations[0])
    outcome = outcome_of([quick, slow])
    assert [str(target) for target in outcome.targets] == [
        "MISSED: success of squat on its own distribution 0.8 (target at least 0.9)",
        "met: minutes in which squat was learned 10 (target at most 15)",
    ]
    assert outcome.headline["step_in_place_processor_minutes"] == 100.0
    assert outcome.tables[0].rows[0] == ["squat", "4.0", "10.0", "15.0", "80 (49 to 94) %"]


def test_the_clock_counts_all_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    iteration: Any = None
    now = [100.0, 7.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("time.process_time", lambda: now[1])
    first = _Clock(tmp_path / "seconds.json")
    now[:] = 103.0, 12.0
    first.tick(iteration)
    now[:] = 200.0, 0.0  # another process, later
    second = _Clock(tmp_path / "seconds.json")
    now[:] = 201.5, 1.0
    second.tick(iteration)
    assert (second.wall_s, second.processor_s) == (4.5, 6.0)
