"""First guesses of a standing robot: the foot nearer to the floor and to rest, as far as the encoders are to blame."""

import numpy as np
import pytest
from tests.recordings.double_support import LEFT

from haloid.identify.data.standing import standing_states
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.recordings.reconstruction.resting_foot import RestingFoot, resting_foot
from haloid.recordings.recording import Recording

ROWS = np.arange(50, 450, 25)


@pytest.fixture(scope="module")
def robot() -> LabRobot:
    return LabRobot(clamp=LEFT, support="double")


def corrected(recording: Recording) -> tuple[RestingFoot, np.ndarray, np.ndarray, np.ndarray]:
    moving = 0.01 * np.random.default_rng(0).normal(size=(len(ROWS), len(recording.joint_names)))
    return resting_foot(recording), moving, *standing_states(recording, ROWS, recording.q_rad[ROWS], moving)


def test_noise_is_taken_from_the_foot_and_from_nothing_else(robot):
    noisy, _ = record(robot, Sensors(noise_rad=1e-3), seed=1)
    clean, _ = record(robot, seed=1)
    foot, moving, q_rad, dq_rad_s = corrected(noisy)
    true_m = foot.heights_m(clean.q_rad[ROWS])
    before, after = (np.std(foot.heights_m(angles) - true_m) for angles in (noisy.q_rad[ROWS], q_rad))
    assert after < 0.5 * before
    for angles_rad, was, velocity in zip(q_rad, moving, dq_rad_s, strict=True):
        twist = foot.twist(angles_rad)
        assert np.linalg.norm(twist @ velocity) < 0.5 * np.linalg.norm(twist @ was)
    others = np.setdiff1d(np.arange(len(noisy.joint_names)), foot.lower_body)
    np.testing.assert_array_equal(q_rad[:, others], noisy.q_rad[ROWS][:, others])


def test_readings_without_noise_stay_as_they_are(robot):
    clean, _ = record(robot, seed=1)
    _, _, q_rad, _ = corrected(clean)
    np.testing.assert_allclose(q_rad, clean.q_rad[ROWS], rtol=0, atol=2e-4)
