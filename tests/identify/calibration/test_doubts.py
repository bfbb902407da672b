"""Calibration names the joint and the run where something other than a servo acted."""

from collections.abc import Callable
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from tests.identify.arm import write_arm
from tests.identify.calibration.worn import worn_runs

from haloid.identify.calibration.calibrate import CalibrationSettings, calibrate

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


def test_a_sound_arm_raises_no_doubt(arm: str):
    assert doubts_of(arm, None) == []
