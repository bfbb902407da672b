"""Servos at their torque limits: known on both sides of the edge, so that rows at it say what they know."""

from dataclasses import replace

import numpy as np
import pytest
from tests.identify.arm import ARM, blank, heavier_hand, played, simulator_of, write_arm

from haloid.identify.data.usable import motion_of, saturated
from haloid.identify.inspection.inspect import inspect_recording
from haloid.identify.settings import Settings
from haloid.identify.stages import identify
from haloid.recordings.recording import Recording

NOISE_RAD = 5e-4
SETTINGS = Settings(("hand",), stages="one", payload_model="halo", rows=15, fragments=20)


@pytest.fixture(scope="module")
def weak_arm(tmp_path_factory) -> str:
    """Its motors hold the loaded arm, and cannot follow all that is asked of them."""
    text = ARM.replace(' actuatorfrcrange="-60 60"', "")
    for joint, effort_nm in {"shoulder": 16.0, "elbow": 6.0, "wrist": 2.5}.items():
        text = text.replace(f'name="{joint}" axis', f'name="{joint}" actuatorfrcrange="-{effort_nm} {effort_nm}" axis')
    return write_arm(tmp_path_factory.mktemp("weak"), text)


def run_of(path: str, seed: int, **changed: np.ndarray) -> Recording:
    recording = blank(path)
    simulator = simulator_of(recording)
    return played(recording, simulator, replace(heavier_hand(simulator.nominal), **changed), NOISE_RAD, seed)


def test_a_load_is_found_where_servos_are_often_at_their_limits(weak_arm: str):
    errors = []
    for seed in range(5):
        recording = run_of(weak_arm, seed)
        simulator = simulator_of(recording)
        at_limit = saturated(motion_of(recording, simulator), simulator)
        assert np.all(at_limit.mean(axis=0) > 0.1) and 0.3 < at_limit.any(axis=1).mean() < 0.9
        found = identify([], [recording], SETTINGS)
        assert found.doubts == ()
        truth = heavier_hand(simulator.nominal).values(found.stage2.unknowns.columns)
        errors.append((found.stage2.values - truth) / found.stage2.std)
    assert np.mean(np.abs(errors) < 1.96) >= 0.8
    assert 0.5 < np.sqrt(np.mean(np.square(errors))) < 1.5


def test_a_motors_limit_tells_its_strength(weak_arm: str):
    """Of a motor that gives less than its model, gains and limit are less by one factor."""
    strength = np.array([0.9, 1.05, 0.85])
    recording = run_of(weak_arm, 0, strength=strength)
    settings = replace(SETTINGS, payload_parameters=("mass", "com", "*.strength"))
    stage = identify([], [recording], settings).stage2
    joints = [i for i, column in enumerate(stage.unknowns.columns) if column.kind == "strength"]
    assert np.all(np.abs(stage.values[joints] - strength) < 3.5 * stage.std[joints])
    assert np.all(stage.std[joints] < 0.02)


def test_rows_at_a_limit_are_usable(weak_arm: str):
    inspection = inspect_recording(run_of(weak_arm, 0), ("hand",))
    assert inspection.usable_share == 1.0 and inspection.precision is not None
    assert max(joint.saturated_share for joint in inspection.joints) > 0.1
