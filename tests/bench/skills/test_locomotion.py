"""Table V from runs stated by hand: whom the errors are of, N/A, and who comes before whom."""

import json
from pathlib import Path

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("mjbatch")

from tests.bench.evaluations import feed, fell, measured, ran, silent

from haloid.bench.outcome import write_outcome
from haloid.bench.skills import locomotion
from haloid.bench.skills.locomotion import Walk, YawJump, survivors_mean
from haloid.skills.evaluation.metrics import RunMetrics


def jumps(**runs: tuple[RunMetrics, ...]) -> list:
    return [measured("yaw-jump", method, *runs[method]) for method in ("wdr", "cm", "halo")]


def turned(*errors_deg: float | None) -> tuple[RunMetrics, ...]:
    """Runs that end with these errors of heading; None: one that falls."""
    return tuple(fell() if error is None else ran(e_ang_deg=error) for error in errors_deg)


def test_errors_are_of_the_runs_that_reached_the_end():
    one = measured("walk", "cm", ran(e_fpos_m=0.1), fell(e_fpos_m=9.0), ran(e_fpos_m=0.3))
    assert survivors_mean(one, "e_fpos_m") == pytest.approx(0.2)
    assert survivors_mean(measured("walk", "cm", fell(), fell()), "e_epos_m") is None


def test_a_walk_has_two_errors_and_their_targets(monkeypatch):
    halo = (ran(e_fpos_m=0.1, e_epos_m=0.20), ran(e_fpos_m=0.3, e_epos_m=0.40))
    cm = (ran(e_fpos_m=0.1, e_epos_m=0.50), ran(e_fpos_m=0.2, e_epos_m=0.70))
    wdr = (ran(e_fpos_m=0.4, e_epos_m=0.15), fell(e_fpos_m=5.0))
    asked = feed(
        monkeypatch,
        locomotion,
        [measured("walk", "wdr", *wdr), measured("walk", "cm", *cm), measured("walk", "halo", *halo)],
    )
    outcome = locomotion.run(Walk(starts=2, seed=8), silent)
    assert asked() == [("walk",), 2, 8]
    assert outcome.headline == pytest.approx(
        {
            "wdr_success": 0.5,
            "cm_success": 1.0,
            "halo_success": 1.0,
            "wdr_fpos_m": 0.4,
            "wdr_epos_m": 0.15,
            "cm_fpos_m": 0.15,
            "cm_epos_m": 0.6,
            "halo_fpos_m": 0.2,
            "halo_epos_m": 0.3,
        }
    )
    assert [str(target) for target in outcome.targets] == [
        "met: success of HALO 1 (target at least 0.95)",
        "MISSED: e_fpos_m and success: HALO before CM (1: yes) 0 (target at least 1)",
        "met: e_epos_m and success: HALO before CM (1: yes) 1 (target at least 1)",
        "met: e_fpos_m and success: HALO before WDR (1: yes) 1 (target at least 1)",
        "MISSED: e_epos_m and success: HALO before WDR (1: yes) 0 (target at least 1)",
    ]
    assert outcome.tables[0].columns == ["method", "E_fpos m", "E_epos m", "reached the end", "paper"]
    assert outcome.tables[0].rows == [
        ["WDR", "0.4", "0.15", "1 of 2", "0.45, 0.89"],
        ["CM", "0.15", "0.6", "2 of 2", "0.22, 0.45"],
        ["HALO", "0.2", "0.3", "2 of 2", "0.12, 0.26"],
    ]


def test_a_method_that_never_reaches_the_end_has_no_error(monkeypatch, tmp_path: Path):
    feed(monkeypatch, locomotion, jumps(wdr=turned(None, None), cm=turned(40.0, None), halo=turned(10.0, 12.0)))
    outcome = locomotion.run(YawJump(starts=2), silent)
    assert outcome.tables[0].columns == ["method", "E_ang °", "reached the end", "paper"]
    assert outcome.tables[0].rows == [
        ["WDR", "N/A", "0 of 2", "N/A"],
        ["CM", "40", "1 of 2", "41.8"],
        ["HALO", "11", "2 of 2", "11.3"],
    ]
    assert outcome.headline == {
        "wdr_success": 0.0,
        "cm_success": 0.5,
        "halo_success": 1.0,
        "cm_ang_deg": 40.0,
        "halo_ang_deg": 11.0,
    }
    assert [target.met for target in outcome.targets] == [True, True, True]
    document = json.loads(write_outcome("yaw-jump", outcome, 1.0, tmp_path).read_text())
    assert [row["e_ang_deg"] for row in document["rows"]] == [None, None, 11.0], "over all runs, or not at all"


@pytest.mark.parametrize(
    ("halo", "rival", "before"),
    [
        (turned(5.0, 5.0), turned(6.0, 6.0), 1.0),
        (turned(6.0, 6.0), turned(5.0, 5.0), 0.0),
        (turned(5.0, 5.0), turned(5.0, 5.0), 0.0),  # nearer, not as near
        (turned(5.0, None), turned(9.0, 9.0), 0.0),  # falls more often, however near it ends
        (turned(9.0, 9.0), turned(5.0, None), 0.0),  # falls less often and ends farther
        (turned(5.0, None), turned(9.0, None), 1.0),
        (turned(90.0, None), turned(None, None), 1.0),  # the rival has no end
        (turned(None, None), turned(None, None), 0.0),
    ],
)
def test_who_comes_before_whom(monkeypatch, halo, rival, before):
    feed(monkeypatch, locomotion, jumps(wdr=turned(None, None), cm=rival, halo=halo))
    over_cm = locomotion.run(YawJump(starts=2), silent).targets[1]
    assert (over_cm.what, over_cm.found) == ("e_ang_deg and success: HALO before CM (1: yes)", before)
    assert over_cm.met == bool(before)


@pytest.mark.parametrize("config", [Walk(), YawJump()])
def test_without_all_trainings_there_is_only_a_note(monkeypatch, config):
    motion = "walk" if isinstance(config, Walk) else "yaw-jump"
    asked = feed(monkeypatch, locomotion, [measured(motion, "wdr", ran()), measured(motion, "halo", ran())])
    outcome = locomotion.run(config, silent)
    assert outcome.notes == ["Not all methods are trained yet; run the command again to go on."]
    assert (outcome.headline, outcome.rows, outcome.tables, outcome.targets) == ({}, [], [], [])
    assert asked() == [(motion,)], "nothing is run"
