"""Policies on the true robot: real files, real runs, and the row that a table makes of them."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
pytest.importorskip("mjbatch")
pytest.importorskip("onnx")

from tests.bench.evaluations import fell, measured, ran
from tests.skills.small_policies import untrained_policy
from tests.skills.task.test_reference import cut

from haloid.bench.skills.payload_methods import true_robot
from haloid.bench.skills.table import common_windows, measure
from haloid.motions.load import load_motion
from haloid.skills.evaluation.evaluate import EvaluationConfig, evaluate
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.policies.export import export_onnx
from haloid.skills.task.robot import tracked_robot


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model-based controller of the nominal robot alone, for half a second of standing."""
    path = tmp_path_factory.mktemp("policies") / "policy.onnx"
    motion = cut(load_motion("stand"), 0, 30)
    export_onnx(untrained_policy(tracked_robot("g1"), [motion], ["stand"], "controller"), path)
    return path


def test_policies_run_on_the_loaded_robot_with_noise_and_delay(policy):
    said: list[str] = []
    policies = {"stand": {"halo": [policy], "wdr": [policy, policy]}, "squat": {}}
    found = measure(policies, 2, 3, said.append)
    assert [(one.motion, one.method) for one in found] == [("stand", "wdr"), ("stand", "halo")]
    assert said == ["running stand, WDR", "running stand, HALO"]
    assert len(found[0].metrics) == 4
    config = EvaluationConfig(starts=2, seed=3, motion="stand", delay_s=0.005, noise=0.2)
    assert found[0].evaluations[0].config == config
    expected = evaluate(DeployedPolicy(policy), true_robot(), config)
    unloaded = evaluate(DeployedPolicy(policy), tracked_robot("g1"), config)
    qpos = found[0].evaluations[0].runs[0].qpos
    np.testing.assert_array_equal(qpos, expected.runs[0].qpos)
    assert np.abs(qpos - unloaded.runs[0].qpos).max() > 0.01, "the load shows"


def test_the_worn_robot_is_later_and_its_motors_differ(policy):
    (worn,) = measure({"stand": {"cm": [policy]}}, 1, 0, lambda _: None, worn=True)
    (new,) = measure({"stand": {"cm": [policy]}}, 1, 0, lambda _: None)
    assert worn.evaluations[0].config.delay_s == 0.01
    last_q = [one.evaluations[0].runs[0].qpos[-1] for one in (worn, new)]
    assert np.abs(last_q[0] - last_q[1]).max() > 1e-3


def test_common_windows_end_where_the_first_method_falls(policy, monkeypatch):
    """HALO lasts, CM falls after 20 rows: both errors are those of the first 20 rows."""
    import haloid.bench.skills.table as table

    monkeypatch.setattr(table, "SHORTEST_WINDOW", 10)
    (halo,) = measure({"stand": {"halo": [policy]}}, 2, 0, lambda _: None)
    evaluation = halo.evaluations[0]
    falls = replace(evaluation, runs=tuple(replace(run, failed_row=19) for run in evaluation.runs))
    cm = replace(halo, method="cm", evaluations=(falls,))
    windows = common_windows([cm, halo], ["e_g_mpjpe_mm"])
    assert (windows.starts, windows.seconds) == (2, 19 / 50)
    errors_m = [evaluation.body_error_m(run)[1:20].mean() for run in evaluation.runs]
    for method in ("cm", "halo"):
        assert windows.errors[method]["e_g_mpjpe_mm"] == pytest.approx(1e3 * np.mean(errors_m), rel=1e-6)
    monkeypatch.setattr(table, "SHORTEST_WINDOW", 21)
    assert common_windows([cm, halo], ["e_g_mpjpe_mm"]) == table.Windows({}, 0, 0.0)


def test_a_row_has_the_errors_of_all_runs_and_none_where_a_fall_has_no_end():
    one = measured("walk", "cm", ran(e_g_mpjpe_mm=10.0, e_epos_m=0.1), fell(0.25, e_g_mpjpe_mm=70.0))
    assert one.mean("e_g_mpjpe_mm") == 40.0
    assert math.isnan(one.mean("e_epos_m"))
    row = one.row(("e_g_mpjpe_mm", "e_epos_m"))
    expected = {"motion": "walk", "method": "cm", "runs": 2, "success": 0.5, "survival": 0.625}
    assert row == {**expected, "e_g_mpjpe_mm": 40.0, "e_epos_m": None}
    json.dumps(row, allow_nan=False)
