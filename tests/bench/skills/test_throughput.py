"""The speed of training at a small size: few robots here and there, a short motion, two iterations."""

from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("mjbatch")

from tests.skills.small_training import short_stand

from haloid.bench.skills import throughput
from haloid.bench.skills.throughput import PARTS, Throughput
from haloid.skills.task.task import TaskConfig


@pytest.mark.slow
def test_the_loop_is_split_and_compared_with_mjlab(monkeypatch, tmp_path: Path):
    pytest.importorskip("mjlab")
    monkeypatch.setattr(throughput, "MOTION", short_stand(tmp_path))
    monkeypatch.setattr(throughput, "TaskConfig", partial(TaskConfig, robots=16, threads=1))
    said: list[str] = []
    outcome = throughput.run(Throughput(iterations=2, mjlab_robots=2, mjlab_steps=2), said.append)
    assert said == [
        "training",
        "training, iteration 1 of 2",
        "training, iteration 2 of 2",
        "building mjlab's environment",
    ]
    headline, seconds = outcome.headline, {row["part"]: row["seconds"] for row in outcome.rows}
    assert list(seconds) == ["physics", "terms", "policy", "update", "trial"]
    assert all(value > 0 for value in seconds.values())
    whole_s, steps = sum(seconds.values()), 2 * 24 * 16
    assert sum(headline[f"{part}_share"] for part in PARTS) == pytest.approx(1.0)
    assert headline["physics_share"] == pytest.approx(seconds["physics"] / whole_s)
    assert headline["env_steps_per_second"] == pytest.approx(steps / whole_s)
    mjlab = headline["mjlab_env_steps_per_second"]
    assert mjlab > 0
    assert headline["times_faster_than_mjlab_cpu"] == pytest.approx(headline["env_steps_per_second"] / mjlab)
    rows = outcome.tables[0].rows
    assert [row[0] for row in rows] == [*PARTS.values(), "whole loop", "mjlab's environment alone, 2 robots"]
    assert rows[-2][1:] == [f"{1e6 * whole_s / steps:.0f}", "100 %"]
    assert rows[-1][1:] == [f"{1e6 / mjlab:.0f}", ""]
    assert outcome.tables[0].note == "768 steps; mjlab's in the same run."
    assert [(target.found, target.limit, target.at_least) for target in outcome.targets] == [
        (headline["env_steps_per_second"], 7000, True),
        (headline["times_faster_than_mjlab_cpu"], 15, True),
    ]
