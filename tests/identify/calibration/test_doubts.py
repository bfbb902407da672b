"""Calibration names the joint and the run where something other than a servo acted."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from tests.identify.arm import write_arm
from tests.identify.calibration.worn import worn_runs

from haloid.identify.calibration.calibrate import CalibrationSettings, calibrate
from haloid.identify.calibration.doubts import worse_than_nominal, wrong_gains
from haloid.identify.calibration.files import write_calibration
from haloid.identify.calibration.fit import ServoFit
from haloid.identify.replay import Replay

RUNS, FAULTY = 4, 1


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_arm(tmp_path_factory.mktemp("arm"))


def doubts_of(arm: str, fault: Callable[[mujoco.MjSpec], None] | None) -> list[str]:
    """What is said of four runs, one of them played by an arm with a fault."""
    runs = worn_runs(arm, RUNS)
    if fault is not None:
        runs[FAULTY] = replace(worn_runs(arm, RUNS, fault=fault)[FAULTY], name="faulty")
    return list(calibrate(runs, CalibrationSettings(held_out=0)).doubts)


def jammed(spec: mujoco.MjSpec) -> None:
    spec.joint("wrist").frictionloss = 30.0


def touching(spec: mujoco.MjSpec) -> None:
    """The elbow gets no further than to where its links meet."""
    spec.joint("elbow").range = [-2.0, 0.2]


def slipped(spec: mujoco.MjSpec) -> None:
    spec.body("base").quat = [np.cos(0.15), 0.0, np.sin(0.15), 0.0]


@pytest.mark.parametrize(
    ("fault", "joint", "words"),
    [
        (jammed, "wrist", "faulty: wrist moves by 3 mrad where its target moves by 1"),
        (touching, "elbow", "faulty: no servo explains elbow ("),
        (slipped, "shoulder", "faulty: no servo explains shoulder ("),
    ],
)
def test_a_fault_is_told_by_joint_and_run(arm: str, fault: Callable[[mujoco.MjSpec], None], joint: str, words: str):
    doubts = doubts_of(arm, fault)
    assert doubts[0].startswith(words)
    assert all(doubt.startswith("faulty: ") and joint in doubt for doubt in doubts)


def test_a_calibration_that_is_worse_than_nominal_says_so():
    """What the elbow read in the held-out run, and two models of which the nominal one is nearer to it."""
    time_s, read = np.arange(100) * 0.02, np.zeros((100, 2))
    runs = [Replay("run", ("shoulder", "elbow"), time_s, read, read + off, time_s > 0) for off in ([0.01, 0.03], 0.01)]
    (doubt,) = worse_than_nominal(runs[:1], runs[1:])
    assert doubt.startswith("the calibrated model replays elbow (30.0 mrad rms, nominal 10.0) worse than the nominal")
    assert worse_than_nominal(runs[1:], runs[:1]) == []


def test_one_wrong_gain_is_told_where_the_others_are_right():
    servos = np.array([[60.0, 1, 1, 1, 1], [32.0, 1, 1, 1, 1], [21.0, 1, 1, 1, 1]])
    known = np.ones(3, bool)
    fit = ServoFit(("a", "b", "c"), servos, np.full((3, 5), 0.02), np.zeros(3), np.zeros(3), known, known, True, 1)
    (told,) = wrong_gains(fit, np.array([60.0, 40.0, 20.0]))
    assert told.startswith("b has a gain of 32 N·m/rad (30.8 to 33.3), not the 40 that was recorded, though other")
    assert wrong_gains(fit, np.full(3, 998.0)) == []  # none is right: nothing is said of one


def test_a_joint_that_never_moves_is_told_and_taken_from_the_others(arm: str, tmp_path: Path):
    """Its encoder reads one number, which any servo explains exactly."""
    runs = []
    for one in worn_runs(arm, 2):
        assert one.target_rad is not None
        still = [np.where([False, False, True], 0.1, values) for values in (one.q_rad, one.target_rad)]
        runs.append(replace(one, q_rad=still[0], target_rad=still[1]))
    found = calibrate(runs, CalibrationSettings(held_out=0))
    assert found.fit.moved.tolist() == [True, True, False] and not found.fit.kp_seen[2]
    assert found.doubts[0].startswith("nothing is known of wrist: no target and no reading moves by 10 mrad")
    assert 20 < found.fit.servos[2, 0] < 100 and found.fit.log_std[2, 0] > 0.29
    write_calibration(tmp_path, found)
    assert "wrist" in (tmp_path / "result.json").read_text()


def test_a_sound_arm_raises_no_doubt(arm: str):
    assert doubts_of(arm, None) == []
