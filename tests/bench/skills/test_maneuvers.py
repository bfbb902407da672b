"""Table VI from runs stated by hand: successes are counted, and HALO's compared."""

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("mjbatch")

from tests.bench.evaluations import feed, fell, measured, ran, silent

from haloid.bench.skills import maneuvers
from haloid.bench.skills.maneuvers import MOTIONS, Maneuvers
from haloid.bench.skills.table import Measured


def successes(motion: str, wdr: int, cm: int, halo: int, runs: int = 10) -> list[Measured]:
    counts = {"wdr": wdr, "cm": cm, "halo": halo}
    return [
        measured(motion, method, *[ran(e_g_mpjpe_mm=20.0)] * count, *[fell(e_g_mpjpe_mm=40.0)] * (runs - count))
        for method, count in counts.items()
    ]


def test_successes_are_counted_by_motion_and_method(monkeypatch):
    found = [
        *successes("swallow", 0, 5, 10),
        *successes("side-kick", 1, 7, 9),
        *successes("roundhouse-kick", 2, 10, 4),
    ]
    asked = feed(monkeypatch, maneuvers, found)
    outcome = maneuvers.run(Maneuvers(seed=4), silent)
    assert asked() == [("swallow", "side-kick", "roundhouse-kick"), 10, 4]
    assert outcome.headline == {
        "wdr_swallow": 0.0,
        "cm_swallow": 5.0,
        "halo_swallow": 10.0,
        "wdr_side_kick": 1.0,
        "cm_side_kick": 7.0,
        "halo_side_kick": 9.0,
        "wdr_roundhouse_kick": 2.0,
        "cm_roundhouse_kick": 10.0,
        "halo_roundhouse_kick": 4.0,
    }
    assert outcome.tables[0].columns == ["method", *MOTIONS, "paper, of 10"]
    assert outcome.tables[0].rows == [
        ["WDR", "0 of 10", "1 of 10", "2 of 10", "0, 0, 0"],
        ["CM", "5 of 10", "7 of 10", "10 of 10", "5, 7, 5"],
        ["HALO", "10 of 10", "9 of 10", "4 of 10", "10, 10, 10"],
    ]
    assert [str(target) for target in outcome.targets] == [
        "met: successes of HALO, swallow 10 (target at least 10)",
        "MISSED: successes of HALO, side-kick 9 (target at least 10)",
        "met: successes of HALO minus CM's, all three 1 (target at least 1)",
        "met: successes of HALO minus WDR's, all three 20 (target at least 1)",
    ]
    assert outcome.rows[1]["success"] == 0.5
    assert outcome.rows[1]["e_g_mpjpe_mm"] == 30.0


def test_as_many_successes_as_another_method_are_not_more(monkeypatch):
    found = [one for motion in MOTIONS for one in successes(motion, 0, 3, 3, runs=3)]
    feed(monkeypatch, maneuvers, found)
    outcome = maneuvers.run(Maneuvers(starts=3), silent)
    assert [target.met for target in outcome.targets] == [True, True, False, True]
    assert outcome.tables[0].rows[2][1] == "3 of 3"


def test_one_missing_training_leaves_only_a_note(monkeypatch):
    found = [one for motion in MOTIONS for one in successes(motion, 0, 5, 10)][:-1]
    asked = feed(monkeypatch, maneuvers, found)
    outcome = maneuvers.run(Maneuvers(), silent)
    assert outcome.notes == ["Not all methods are trained yet; run the command again to go on."]
    assert (outcome.headline, outcome.rows, outcome.tables, outcome.targets) == ({}, [], [], [])
    assert asked() == [MOTIONS], "nothing is run"
