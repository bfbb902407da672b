"""A policy in the loop with the lab robot, against runs whose targets are known beforehand."""

import re
from collections.abc import Callable
from dataclasses import replace

import mujoco
import numpy as np
import pytest

from haloid.errors import HaloidError
from haloid.lab.aging import Aging
from haloid.lab.closed_loop import Policy, Senses, play_policy
from haloid.lab.excitation import Excitation, Reference
from haloid.lab.loads import halo_setting
from haloid.lab.play import FellError, feed_forward_targets, play
from haloid.lab.record import design, record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.recordings.files.read import read_recording
from haloid.recordings.files.write import write_recording

ROBOT = LabRobot(support="double", loads=halo_setting(1), aging=Aging(seed=4))
MOTION = design(ROBOT, Excitation(duration_s=3.0), 0)
NOISY = Sensors(noise_rad=0.0005, bias_rad=0.01, delay_s=0.008)


def policy_of(targets_of: Callable[[Senses], np.ndarray], motion: Reference = MOTION) -> Policy:
    return Policy(lambda: targets_of, motion, "torso_link", "imu_in_pelvis")


def follower(seen: list[Senses] | None = None) -> Policy:
    """Feed-forward targets with a little feedback, so that what it sends depends on what it sees."""
    target_rad = feed_forward_targets(ROBOT.built, MOTION)

    def targets_of(senses: Senses) -> np.ndarray:
        if seen is not None:
            seen.append(senses)
        return target_rad[senses.row] + 0.3 * (MOTION.q_rad[senses.row] - senses.q_rad) - 0.01 * senses.dq_rad_s

    return policy_of(targets_of)


@pytest.mark.parametrize("delay_s", [0.0, 0.0125])
def test_a_policy_that_looks_at_nothing_is_a_reference(delay_s):
    sensors = Sensors(bias_rad=0.01, delay_s=delay_s)
    target_rad = feed_forward_targets(ROBOT.built, MOTION)
    looped = play_policy(ROBOT, policy_of(lambda senses: target_rad[senses.row]), sensors, 0)
    played = play(ROBOT, MOTION, sensors)
    np.testing.assert_array_equal(looped.target_rad, played.target_rad)
    np.testing.assert_allclose(looped.q_rad, played.q_rad, atol=1e-9)
    np.testing.assert_allclose(looped.saturated_fraction, played.saturated_fraction, atol=1e-9)


def test_a_seed_is_a_run_and_nothing_is_left_of_the_run_before():
    first, _ = record(ROBOT, NOISY, follower(), seed=7)
    again, _ = record(ROBOT, NOISY, follower(), seed=7)
    other, _ = record(ROBOT, NOISY, follower(), seed=8)
    np.testing.assert_array_equal(first.q_rad, again.q_rad)
    np.testing.assert_array_equal(first.target_rad, again.target_rad)
    assert first.target_rad is not None and other.target_rad is not None
    assert np.abs(first.target_rad - other.target_rad).max() > 1e-4


def test_the_log_holds_what_the_policy_saw_and_sent(tmp_path):
    seen: list[Senses] = []
    recording, truth = record(ROBOT, replace(NOISY, measure_velocity=True), follower(seen), seed=3, name="explored")
    rows = seen[-len(recording.time_s) :]
    assert [senses.row for senses in rows] == list(range(len(rows)))
    np.testing.assert_array_equal(recording.q_rad, [senses.q_rad for senses in rows])
    assert recording.dq_rad_s is not None
    np.testing.assert_allclose(recording.dq_rad_s, [senses.dq_rad_s for senses in rows], atol=1e-12)
    assert recording.support == "double"
    back = read_recording(write_recording(recording, tmp_path / "explored"))
    assert back.target_rad is not None and recording.target_rad is not None
    np.testing.assert_array_equal(back.target_rad, recording.target_rad)
    assert truth.playback.tracking_max_rad.max() < 0.1


def test_recorded_targets_move_the_same_robot_in_the_same_way():
    """Replayed open loop by plain MuJoCo steps from states of the run, half a second each."""
    sensors = Sensors(quantise=False)
    recording, truth = record(ROBOT, sensors, follower(), seed=0)
    assert recording.target_rad is not None
    built, data = ROBOT.built, mujoco.MjData(ROBOT.built.model)
    for first in (0, 40, 110):
        mujoco.mj_resetData(built.model, data)
        data.qpos[built.qpos_of] = truth.playback.q_rad[first]
        data.qvel[built.dof_of] = truth.playback.dq_rad_s[first]
        for row in range(first, first + 25):
            np.testing.assert_allclose(data.qpos[built.qpos_of], recording.q_rad[row], atol=1e-6)
            data.ctrl[built.actuator_of] = recording.target_rad[row]
            for _ in range(4):
                mujoco.mj_step(built.model, data)


def test_orientation_and_gyro_are_those_of_the_moving_links():
    """Against MuJoCo's own sensors' convention: differences of the torso's and the IMU's rotations between steps."""
    seen: list[Senses] = []
    _, truth = record(ROBOT, Sensors(quantise=False), follower(seen), seed=0)
    built, data = ROBOT.built, mujoco.MjData(ROBOT.built.model)
    site = built.model.site("imu_in_pelvis").id
    row, step_s = 80, 1e-4
    senses = seen[row - len(MOTION.time_s)]
    rotations = []
    for shift_s in (-step_s, 0.0, step_s):
        data.qpos[built.qpos_of] = truth.playback.q_rad[row] + shift_s * truth.playback.dq_rad_s[row]
        mujoco.mj_kinematics(built.model, data)
        rotations.append(data.site_xmat[site].reshape(3, 3).copy())
        if shift_s == 0.0:
            np.testing.assert_allclose(senses.anchor_quat_wxyz, data.body("torso_link").xquat, atol=1e-12)
    spin = rotations[1].T @ (rotations[2] - rotations[0]) / (2 * step_s)
    np.testing.assert_allclose(senses.gyro_rad_s, [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-5)


def test_a_policy_that_lets_the_robot_fall_is_not_recorded():
    with pytest.raises(FellError, match=r"^the robot fell: \w+ was [\d.]+ rad off its reference"):
        record(ROBOT, NOISY, policy_of(lambda senses: MOTION.q_rad[0] - 1.0), seed=0)


def test_arms_that_hang_are_no_fall():
    arms = np.array([limb not in ("legs", "waist") for limb in ROBOT.built.limbs])
    target_rad = feed_forward_targets(ROBOT.built, MOTION) - 0.6 * arms
    _, truth = record(ROBOT, NOISY, policy_of(lambda senses: target_rad[senses.row]), seed=0)
    assert truth.playback.tracking_max_rad[arms].max() > 0.5 > truth.playback.tracking_max_rad[~arms].max()


def test_a_policy_for_other_joints_is_refused():
    other = replace(MOTION, joint_names=MOTION.joint_names[::-1])
    with pytest.raises(HaloidError, match=re.escape("expected those of the robot in its own order: left_hip_pitch")):
        record(ROBOT, NOISY, policy_of(lambda senses: MOTION.q_rad[0], other), seed=0)
