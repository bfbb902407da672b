"""Servos far from their data sheet are found from any recorded gain, and the written model replays what was read.

The readings come from the whole arm in MuJoCo; the fit simulates one joint at a time in NumPy.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.identify.arm import blank, write_arm
from tests.identify.calibration.worn import TRUTH, worn_runs

from haloid.errors import HaloidError
from haloid.identify.calibration.calibrate import CalibrationSettings, calibrate, split
from haloid.identify.calibration.files import write_calibration
from haloid.identify.calibration.fit import profile_std
from haloid.identify.calibration.lone_joint import cut_windows, simulate
from haloid.identify.data.dataset import build_simulator
from haloid.identify.replay import mean_rms, replay


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_arm(tmp_path_factory.mktemp("arm"))


@pytest.mark.slow
@pytest.mark.parametrize("recorded_kp", [5.0, 998.0])
def test_servos_are_found_from_any_gain(arm: str, tmp_path: Path, recorded_kp: float):
    found = calibrate(worn_runs(arm, recorded_kp=recorded_kp))
    for name, servo, delay in zip(found.fit.joint_names, found.fit.servos, found.fit.delay_s, strict=True):
        assert servo[0] == pytest.approx(TRUTH[name]["kp"], rel=0.1)
        assert servo[2] == pytest.approx(TRUTH[name]["frictionloss"], rel=0.15)
        assert delay == pytest.approx(0.02, abs=0.01)
    played, nominal = found.judged
    assert [one.name for one in played] == ["run 1"]
    assert mean_rms(played) < 0.1 * mean_rms(nominal) and mean_rms(played) < 3e-3
    assert 0.85 < found.coverage95 <= 1.0
    write_calibration(tmp_path, found)
    for model in ("calibrated.xml", "patch.json", "."):
        again = replay(tmp_path / model, found.held_out)
        np.testing.assert_allclose(again[0].played_rad, played[0].played_rad, atol=1e-9)
    document = json.loads((tmp_path / "result.json").read_text())
    assert document["fit"]["rms_rad_heldout"] == pytest.approx(mean_rms(played))
    low, high = document["joints"]["elbow"]["kp"]["interval95"]
    assert low < document["joints"]["elbow"]["kp"]["value"] < high


def test_a_lone_joint_moves_as_the_whole_arm(arm: str):
    """With the true servos the readings are met, though the other joints come from smoothed, rounded readings."""
    runs = worn_runs(arm, runs=1, rows=300)
    simulator = build_simulator(runs[0])
    windows = cut_windows(runs, simulator, 30.0)
    kinds = ("kp", "damping", "frictionloss", "armature")
    servos = np.array([[[*(TRUTH[name][kind] for kind in kinds), 20.0] for name in simulator.dof_joints]])
    read = simulate(windows, servos, np.full((1, 3), 0.02))[0]
    error = (read - windows.read_rad)[windows.valid]
    assert np.sqrt(np.mean(error**2)) < 6e-3 < 0.01 * np.ptp(windows.read_rad)


def test_no_delay_is_known_as_such():
    """Its cost rises from 0 on; and a delay that changes nothing is known to be one of a tenth of a second."""
    tried = np.array([0.0, 0.005, 0.01])
    assert profile_std(tried, np.array([0.0, 2.0, 8.0])) == pytest.approx(0.0025)
    assert profile_std(tried, np.array([0.0, 2.0, 4.0])) == pytest.approx(0.0025)
    assert profile_std(tried, np.array([8.0, 0.0, 8.0])) == pytest.approx(0.005 / np.sqrt(12))
    assert profile_std(tried, np.zeros(3)) == pytest.approx(0.1)


def test_runs_are_split_evenly(arm: str):
    runs = [replace(blank(arm, rows=100), name=str(i)) for i in range(6)]
    train, held = split(runs, None)
    assert [one.name for one in held] == ["3"] and len(train) == 5
    assert [one.name for one in split(runs, 2)[1]] == ["1", "4"]
    train, held = split(runs[:1], None)
    assert (len(train[0].time_s), len(held[0].time_s)) == (80, 20)
    assert split(runs, 0) == (runs, [])
    with pytest.raises(HaloidError, match="6 of 6 runs were to be held out; expected 0 to 5"):
        split(runs, 6)


def test_words_of_refusals(arm: str):
    still = blank(arm, rows=100)
    with pytest.raises(HaloidError, match="no joint moves by more than 0 mrad in any run"):
        calibrate([still])
    shaken = worn_runs(arm, runs=1, rows=60)[0]
    late = np.repeat(np.arange(6.0), 10)
    with pytest.raises(HaloidError, match="the longest stretch without a gap has 10 rows; expected at least 20"):
        calibrate([replace(shaken, time_s=shaken.time_s + late)], CalibrationSettings(held_out=0))
    with pytest.raises(HaloidError, match="was recorded with kp 0 at elbow; expected a gain above 0"):
        calibrate([replace(shaken, kp=np.array([900.0, 0.0, 900.0]))])
    with pytest.raises(HaloidError, match="was driven by torques; expected position targets"):
        calibrate([blank(arm, actuation="torque")])
    with pytest.raises(HaloidError, match="nothing to calibrate from"):
        calibrate([], CalibrationSettings())
