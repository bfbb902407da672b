"""Table III from runs stated by hand: ratios over common windows, the gate, kinds, and trainings that are missing."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("mjbatch")

from tests.bench.evaluations import feed, fell, measured, ran, silent

from haloid.bench.outcome import write_outcome
from haloid.bench.skills import table3
from haloid.bench.skills.payload_methods import METHODS
from haloid.bench.skills.table import Measured, Windows
from haloid.bench.skills.table3 import Table3
from haloid.errors import HaloidError


def motion(name: str, wdr_mm: float, cm_mm: float, halo_mm: float) -> list[Measured]:
    """Two runs by each method that reach the end, 1 mm about these means."""
    means = zip(METHODS, (wdr_mm, cm_mm, halo_mm), strict=True)
    return [
        measured(name, method, ran(e_g_mpjpe_mm=mean - 1), ran(e_g_mpjpe_mm=mean + 1, e_mpjpe_mm=3.0, e_vel_m_s=0.5))
        for method, mean in means
    ]


@pytest.fixture
def told(monkeypatch):
    """The table's own distribution, 0.95 for all but what is told; windows are the errors of the whole runs."""
    rates: dict[tuple[str, str], float] = {}

    def windows(methods: Sequence[Measured], errors: Sequence[str]) -> Windows:
        means = {one.method: {error: one.mean(error) for error in errors} for one in methods}
        return Windows(means if all(one.survival > 0.1 for one in methods) else {}, 2, 1.5)

    def own(policies: dict, starts: int, seed: int, say: object) -> dict[tuple[str, str], float]:
        names = [(name, method) for name, by_method in policies.items() for method in by_method]
        return {name: rates.get(name, 0.95) for name in names}

    monkeypatch.setattr(table3, "common_windows", windows)
    monkeypatch.setattr(table3, "own_successes", own)
    return rates


def test_ratios_are_geometric_means_over_motions(monkeypatch, told):
    """0.5 and 2 of CM are 1, not 1.25; 0.25 and 1 of WDR are 0.5."""
    feed(monkeypatch, table3, [*motion("squat", 40, 20, 10), *motion("yaw-jump", 40, 20, 40)])
    outcome = table3.run(Table3(motions=("squat", "yaw-jump")), silent)
    assert outcome.headline["halo_over_cm"] == pytest.approx(1.0)
    assert outcome.headline["halo_over_wdr"] == pytest.approx(0.5)
    assert outcome.headline["halo_g_mpjpe_mm"] == pytest.approx(25.0)
    assert [str(target) for target in outcome.targets] == [
        "MISSED: E_g-mpjpe of HALO over CM, common windows 1 (target at most 0.61)",
        "met: E_g-mpjpe of HALO over WDR, common windows 0.5 (target at most 0.55)",
        "met: success of HALO 1 (target at least 0.95)",
        "MISSED: motions 2 (target at least 6)",
        "met: WDR on its own distribution 0.95 (target at least 0.9)",
        "met: CM on its own distribution 0.95 (target at least 0.9)",
        "met: HALO on its own distribution 0.95 (target at least 0.9)",
    ]
    assert outcome.notes == []


def test_a_fall_counts_in_success_and_the_gate_names_who_is_below(monkeypatch, told):
    wdr, cm, _ = motion("squat", 40, 20, 10)
    halo = measured("squat", "halo", ran(e_g_mpjpe_mm=10.0), fell(0.5, e_g_mpjpe_mm=90.0))
    feed(monkeypatch, table3, [wdr, cm, halo])
    told["squat", "wdr"] = 0.4
    outcome = table3.run(Table3(motions=("squat",)), silent)
    headline = outcome.headline
    assert (headline["halo_success"], headline["cm_success"], headline["wdr_success"]) == (0.5, 1.0, 1.0)
    assert (headline["wdr_own_success"], headline["cm_own_success"], headline["seeds"]) == (0.4, 0.95, 2.0)
    (note,) = outcome.notes
    assert "The gate of 90 %" in note
    assert "is not passed by WDR's squat (40 %):" in note
    assert outcome.tables[1].rows[2] == ["squat", "HALO", "50.0", "2 × 1.5 s", "1 of 2", "75 %", "95 %"]


def test_a_motion_without_windows_has_no_errors_to_compare(monkeypatch, told, tmp_path: Path):
    falls = [measured("wave", method, fell(0.05), fell(0.05)) for method in METHODS]
    feed(monkeypatch, table3, [*motion("squat", 40, 20, 10), *falls])
    outcome = table3.run(Table3(motions=("squat", "wave")), silent)
    assert outcome.headline["halo_over_cm"] == pytest.approx(0.5)
    assert outcome.headline["halo_success"] == 0.5
    assert outcome.tables[1].rows[3][2] == ""
    write_outcome("table3", outcome, 1.0, tmp_path)

    feed(monkeypatch, table3, falls)
    alone = table3.run(Table3(motions=("wave",)), silent)
    assert "halo_over_cm" not in alone.headline
    assert alone.tables[0].rows[0][2] == ""


def test_means_stand_beside_the_papers_by_kind_and_method(monkeypatch, told):
    found = [*motion("squat", 40, 20, 10), *motion("wave", 60, 30, 20), *motion("side-kick", 90, 80, 70)]
    feed(monkeypatch, table3, found)
    outcome = table3.run(Table3(motions=("squat", "wave", "side-kick")), silent)
    rows = outcome.tables[0].rows
    assert [row[:3] for row in rows] == [
        ["steady", "WDR", "50.0"],
        ["steady", "CM", "25.0"],
        ["steady", "HALO", "15.0"],
        ["agile", "WDR", "90.0"],
        ["agile", "CM", "80.0"],
        ["agile", "HALO", "70.0"],
    ]
    assert rows[2][3:] == ["2.0", "0.750", "100 %", "95 %", "52.5, 44.9, 0.098"]
    assert rows[3][-1] == "132.9, 81.5, 0.136"
    assert all(len(row) == len(outcome.tables[0].columns) for row in rows)


def test_the_motions_it_comes_with_are_five_steady_and_one_agile(monkeypatch, told):
    names = Table3().motions
    asked = feed(monkeypatch, table3, [one for name in names for one in motion(name, 40, 20, 10)])
    outcome = table3.run(Table3(starts=6, seed=9), silent)
    assert asked() == [names, 6, 9]
    assert (outcome.headline["steady_motions"], outcome.headline["agile_motions"]) == (5.0, 1.0)
    assert all(target.met for target in outcome.targets)
    kinds = {row["motion"]: row["kind"] for row in outcome.rows}
    assert [name for name, kind in kinds.items() if kind == "agile"] == ["side-kick"]


@pytest.mark.parametrize("agile", ["clips/spin.csv", "spin"])
def test_files_are_steady_unless_they_are_told_to_be_agile(monkeypatch, told, agile):
    feed(monkeypatch, table3, [*motion("bow", 40, 20, 10), *motion("spin", 40, 20, 10)])
    outcome = table3.run(Table3(motions=("clips/bow.npz", "clips/spin.csv"), agile=(agile,)), silent)
    assert {row["motion"]: row["kind"] for row in outcome.rows} == {"bow": "steady", "spin": "agile"}


def test_an_agile_motion_that_is_not_among_the_motions_is_told(monkeypatch):
    asked = feed(monkeypatch, table3, [])
    with pytest.raises(
        HaloidError, match=r"^agile are spni\.csv; expected some of the motions: squat, clips/spin\.csv$"
    ):
        table3.run(Table3(motions=("squat", "clips/spin.csv"), agile=("spni.csv",)), silent)
    assert asked() == [], "nothing was trained"


def test_motions_that_lack_a_training_are_named_and_left_out(monkeypatch, told, tmp_path: Path):
    found = [*motion("squat", 40, 20, 10), *motion("wave", 40, 20, 40)[:2]]
    feed(monkeypatch, table3, found)
    outcome = table3.run(Table3(motions=("squat", "wave", "walk")), silent)
    assert outcome.notes == ["Not trained yet, run the command again to go on: wave, walk."]
    assert {row["motion"] for row in outcome.rows} == {"squat"}
    assert outcome.headline["halo_over_cm"] == pytest.approx(0.5)
    document = json.loads(write_outcome("table3", outcome, 1.0, tmp_path).read_text())
    assert document["rows"][2]["window"]["e_g_mpjpe_mm"] == 10.0


def test_without_any_training_there_is_only_the_note(monkeypatch, tmp_path: Path):
    feed(monkeypatch, table3, motion("squat", 40, 20, 10)[:1])
    outcome = table3.run(Table3(motions=("squat",)), silent)
    assert outcome.notes == ["Not trained yet, run the command again to go on: squat."]
    assert (outcome.headline, outcome.rows, outcome.tables, outcome.targets) == ({}, [], [], [])
    write_outcome("table3", outcome, 1.0, tmp_path)
