from dataclasses import replace

import numpy as np
import pytest

from haloid.recordings.errors import RecordingError
from haloid.recordings.reconstruction.rollout import rollout_of_recording
from haloid.recordings.recording import Recording
from haloid.robots.load import load_spec
from haloid.trajectories.kinematics import body_states
from haloid.trajectories.mujoco_states import qpos_of, qvel_of


def lost(recording: Recording, rows: list[int]) -> Recording:
    kept = np.delete(np.arange(len(recording.time_s)), rows)
    return replace(
        recording,
        time_s=recording.time_s[kept],
        q_rad=recording.q_rad[kept],
        target_rad=recording.target_rad[kept],
    )


def test_readings_and_commands_are_kept_and_the_clamped_foot_stands_still(recording: Recording):
    rollout = rollout_of_recording(recording)
    trajectory = rollout.trajectory
    np.testing.assert_array_equal(trajectory.joint_pos_rad, recording.q_rad)
    np.testing.assert_array_equal(trajectory.target_rad, recording.target_rad)
    np.testing.assert_array_equal(rollout.action, recording.target_rad)
    assert (trajectory.rate_hz, rollout.clamp) == (pytest.approx(50.0), "left_ankle_roll_link")
    free = load_spec("g1").compile()
    bodies = body_states(free, qpos_of(free, trajectory), qvel_of(free, trajectory))
    foot = bodies.row_of("left_ankle_roll_link")
    assert np.ptp(bodies.pos_w_m[:, foot], axis=0).max() < 1e-12
    assert np.abs(bodies.lin_vel_w_m_s[:, foot]).max() < 1e-9


def test_velocities_are_the_measured_ones_where_there_are_any(recording: Recording):
    amplitude_rad = np.ptp(recording.q_rad, axis=0) / 2
    smooth = rollout_of_recording(recording)
    truth_rad_s = np.gradient(recording.q_rad, recording.time_s, axis=0)[10:-10]
    assert smooth.trajectory.joint_vel_rad_s is not None
    off = np.abs(smooth.trajectory.joint_vel_rad_s[10:-10] - truth_rad_s) / amplitude_rad
    assert off.max() < 0.2
    measured = np.full_like(recording.q_rad, 0.25)
    rollout = rollout_of_recording(replace(recording, dq_rad_s=measured))
    np.testing.assert_array_equal(rollout.trajectory.joint_vel_rad_s, measured)
    assert (smooth.facts["joint_vel"], rollout.facts["joint_vel"]) == ("of a smoothing spline", "measured")


def test_a_gap_begins_a_new_episode(recording: Recording):
    rollout = rollout_of_recording(lost(recording, [20, 40, 42]))
    assert [(episode.start, episode.end) for episode in rollout.episodes] == [(0, 20), (20, 39), (39, 56)]
    assert len(rollout) == 60 - 3 - 1  # row 41 alone between two gaps leads nowhere
    np.testing.assert_array_equal(rollout.episode(1).joint_pos_rad, recording.q_rad[21:40])


def test_torque_mode_is_refused(recording: Recording):
    torque = replace(recording, target_rad=None, tau_nm=recording.q_rad, actuation="torque", kp=None, kd=None)
    with pytest.raises(RecordingError, match="torques were commanded"):
        rollout_of_recording(torque)
