"""What ASAP's benchmarks make of their settings: which methods and uses are run, and which clips are learned from."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("rsl_rl")
pytest.importorskip("mjbatch")

from haloid.bench.delta.closed_loop import TABLE_IV, USES, AsapClosedLoop, _outcome, run
from haloid.bench.delta.open_loop import METHODS, AsapOpenLoop, methods_on
from haloid.bench.delta.open_loop import run as run_open_loop
from haloid.bench.delta.variants import first_clips
from haloid.errors import HaloidError
from haloid.gap.delta.refine import lengths_s
from haloid.gap.ppo.train import spent_cpu_s
from haloid.gap.replays.data import RealData


def test_an_unknown_use_is_refused_before_anything_is_made(tmp_path):
    config = AsapClosedLoop(uses=("ASAP", "magic"), folder=tmp_path / "folder")
    with pytest.raises(HaloidError, match=f"there is no use magic. Choose of: {', '.join(USES)}"):
        run(config, lambda text: None)
    assert not (tmp_path / "folder").exists()


def test_targets_of_the_closed_loop_ask_for_every_metric_of_every_motion():
    def row(use: str, error: float) -> dict:
        errors = {name: error for name in TABLE_IV} | {f"{name}_95": 0.1 for name in TABLE_IV}
        return {"use": use, "motion": "squat", "success": 1.0, "loop_cpu_min": {"collect": 1.0}, **errors}

    config = AsapClosedLoop(motions=("squat",))
    found = _outcome(config, [row("vanilla", 2.0), row("ASAP", 1.0), row("fixed-point", 2.0)])
    assert all(target.met for target in found.targets)
    assert not _outcome(config, [row("vanilla", 1.0), row("ASAP", 2.0)]).targets[0].met


def test_first_clips_are_of_every_motion_and_the_rest_are_the_others():
    episode = np.repeat(np.arange(7), 5)
    source = np.where(episode < 4, 0, 1)
    zeros = np.zeros((len(episode), 3))
    data = RealData(zeros, zeros, zeros, zeros, episode, source, ("squat", "walk"), np.zeros(len(episode), dtype=bool))
    assert np.unique(first_clips(data, 2).episode).tolist() == [0, 1, 4, 5]
    assert np.unique(first_clips(data, 2, rest=True).episode).tolist() == [2, 3, 6]
    assert len(first_clips(data, 2)) == 20


@pytest.mark.parametrize(
    ("horizon_s", "lengths"), [(0.0, []), (0.25, [0.25]), (1.0, [0.25, 0.5, 1.0]), (1.5, [0.25, 0.5, 1.0, 1.5])]
)
def test_windows_grow_up_to_the_horizon(horizon_s, lengths):
    assert lengths_s(horizon_s) == lengths


def test_ppo_is_for_the_stand_ins_that_are_asked_for():
    config = AsapOpenLoop(stand_ins=("twin", "worn"), ppo_stand_ins=("twin",))
    assert methods_on(config, "twin") == list(METHODS)
    assert methods_on(config, "worn") == [method for method in METHODS if method != "ASAP by PPO"]
    assert methods_on(replace(config, ppo_iterations=0), "twin") == methods_on(config, "worn")


@pytest.mark.slow
def test_a_stopped_run_goes_on_with_the_methods_and_iterations_that_are_left(tmp_path, monkeypatch):
    """Stopped in PPO's second iteration: the others' results are kept, and PPO goes on with what it had learned."""
    monkeypatch.setattr("haloid.gap.ppo.train.STORE_EVERY", 1)
    config = AsapOpenLoop(
        stand_ins=("twin",),
        seeds=1,
        learned=("stand",),
        held_out=("stand",),
        clips=4,
        windows=4,
        transitions=100,
        passes=1,
        ppo_iterations=3,
        ppo_robots=8,
        threads=1,
        folder=tmp_path,
    )
    said: list[str] = []

    def stop_in_ppo(text: str) -> None:
        said.append(text)
        if "iteration 2 of 3" in text:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_open_loop(config, stop_in_ppo)
    kept = sorted(file.stem for file in (tmp_path / "results" / "twin-0").iterdir())
    assert kept == sorted(method.replace(" ", "-") for method in METHODS[:-1])
    before_cpu_s = spent_cpu_s(tmp_path / "ppo" / "twin-0")
    said.clear()
    outcome = run_open_loop(config, said.append)
    assert [text.split(":")[1] for text in said] == [
        " ASAP by PPO",
        " ASAP by PPO, iteration 2 of 3",
        " ASAP by PPO, iteration 3 of 3",
    ]
    assert [row["method"] for row in outcome.rows[::3]] == list(METHODS)
    assert outcome.rows[-1]["training_cpu_s"] > before_cpu_s > 0
    said.clear()
    run_open_loop(config, said.append)
    assert said == []
