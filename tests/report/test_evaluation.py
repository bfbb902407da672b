"""The table of an evaluation: failures are shown, not averaged away."""

import numpy as np
import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("mjbatch")

from haloid.report.evaluation import metrics_table, success_text, use_table
from haloid.report.pictures.evaluation_video import typical_run
from haloid.robots.description import describe
from haloid.skills.evaluation.evaluate import Evaluation
from haloid.skills.evaluation.metrics import RunMetrics
from haloid.skills.evaluation.runs import EvaluationConfig, Run
from haloid.skills.task.reference import Poses, Reference
from haloid.trajectories.trajectory import Trajectory

NAN = float("nan")


def evaluation(*metrics: RunMetrics) -> Evaluation:
    poses = Poses(*(np.zeros((2, 1)) for _ in Poses.__dataclass_fields__))
    joints = np.zeros((2, 1))
    run = Run(0, poses, Trajectory(50.0, ("knee_joint",), joints), joints, joints, joints, None)
    return Evaluation(
        config=EvaluationConfig(),
        motion="squat",
        joint_names=("knee_joint", "hip_joint"),
        description=describe("g1"),
        reference=Reference(poses, ("squat",), np.array([0]), np.array([1]), np.zeros(2, dtype=int)),
        runs=(run,) * len(metrics),
        metrics=metrics,
        torque_rms_use=np.array([0.1, 0.2]),
        torque_peak_use=np.array([0.3, 0.4]),
        range_peak_use=np.array([0.5, 0.6]),
    )


GOOD = RunMetrics(True, 1.0, 20.0, 10.0, 0.1, 0.05, 0.02, 0.03, 1.0)
BETTER = RunMetrics(True, 1.0, 10.0, 10.0, 0.1, 0.05, 0.02, 0.01, 1.0)
FALLEN = RunMetrics(False, 0.4, 300.0, 10.0, 0.1, 0.05, 0.02, NAN, NAN)


def test_all_runs_stand_beside_the_successful_ones():
    found = evaluation(GOOD, BETTER, FALLEN)
    assert success_text(found) == "2 of 3"
    assert found.survival == pytest.approx(0.8)
    rows = {row[0]: row[2:] for row in metrics_table(found).rows}
    assert rows["E_g-mpjpe (mm)"] == ["110.0 ± 134.4", "15.0 ± 5.0"]
    assert rows["E_epos (m)"] == ["–", "0.020 ± 0.010"]
    assert "A run that fails counts up to its failure" in metrics_table(found).note
    assert metrics_table(evaluation(GOOD)).note == ""


def test_without_a_success_there_is_nothing_to_show_for_successes():
    rows = {row[0]: row[2:] for row in metrics_table(evaluation(FALLEN)).rows}
    assert rows["E_g-mpjpe (mm)"] == ["300.0 ± 0.0", "–"]


def test_the_hardest_used_joint_comes_first():
    assert use_table(evaluation(GOOD)).rows == [["hip", "20 %", "40 %", "60 %"], ["knee", "10 %", "30 %", "50 %"]]


def test_the_film_shows_the_run_in_the_middle():
    assert typical_run(evaluation(FALLEN, BETTER, GOOD)) == 2
    assert typical_run(evaluation(GOOD, FALLEN, FALLEN)) == 1
