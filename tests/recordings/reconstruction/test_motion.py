from dataclasses import replace

import mujoco
import numpy as np
import pytest
from tests.recordings.double_support import LEFT, RIGHT, noisy_run

from haloid.errors import HaloidError
from haloid.recordings.reconstruction.foot_height import FootHeight
from haloid.recordings.reconstruction.motion import reconstruct_motion
from haloid.recordings.reconstruction.reconstruct import reconstruct
from haloid.recordings.recording import Recording
from haloid.robots.load import load_spec
from haloid.trajectories.motion import Motion

RUN, TRUTH = noisy_run()


@pytest.fixture(scope="module")
def motion() -> Motion:
    return reconstruct_motion(RUN, feet=FootHeight()).motion


def test_frames_are_even_from_the_first_row_to_the_last():
    for fps, frames in ((50.0, 500), (30.0, 300), (120.0, 1198)):
        result = reconstruct_motion(replace(RUN, time_s=RUN.time_s + 3.0), fps=fps)
        assert result.motion.joint_pos_rad.shape == (frames, 29)
        assert result.motion.rate_hz == fps


def test_order_is_that_of_the_robots_own_model(motion):
    robot = load_spec("g1").compile()
    assert motion.body_names == tuple(robot.body(body).name for body in range(1, robot.nbody))
    assert motion.body_names[0] == "pelvis"
    assert motion.joint_names == tuple(robot.joint(joint).name for joint in range(1, robot.njnt))


def test_a_plain_model_with_the_motions_root_has_the_same_bodies_and_velocities(motion):
    robot = load_spec("g1").compile()
    data, velocity = mujoco.MjData(robot), np.empty(6)
    for frame in range(0, 500, 25):
        root_rotation = np.empty(9)
        mujoco.mju_quat2Mat(root_rotation, motion.body_quat_wxyz[frame, 0])
        data.qpos[:3], data.qpos[3:7] = motion.body_pos_w_m[frame, 0], motion.body_quat_wxyz[frame, 0]
        data.qpos[7:] = motion.joint_pos_rad[frame]
        data.qvel[:3] = motion.body_lin_vel_w_m_s[frame, 0]
        data.qvel[3:6] = root_rotation.reshape(3, 3).T @ motion.body_ang_vel_w_rad_s[frame, 0]
        data.qvel[6:] = motion.joint_vel_rad_s[frame]
        mujoco.mj_forward(robot, data)
        np.testing.assert_allclose(motion.body_pos_w_m[frame], data.xpos[1:], atol=1e-12)
        alike = np.abs(np.sum(motion.body_quat_wxyz[frame] * data.xquat[1:], axis=1))
        np.testing.assert_allclose(alike, 1.0, atol=1e-12)
        for body in range(1, robot.nbody):
            mujoco.mj_objectVelocity(robot, data, mujoco.mjtObj.mjOBJ_XBODY, body, velocity, 0)
            np.testing.assert_allclose(motion.body_ang_vel_w_rad_s[frame, body - 1], velocity[:3], atol=1e-12)
            np.testing.assert_allclose(motion.body_lin_vel_w_m_s[frame, body - 1], velocity[3:], atol=1e-12)


@pytest.mark.parametrize("feet", [None, FootHeight()])
def test_velocities_are_differences_of_poses(feet):
    """At 1000 frames per second, where differences are exact enough; corrected feet included."""
    run = replace(RUN, time_s=RUN.time_s[:30], q_rad=RUN.q_rad[:30])
    motion = reconstruct_motion(run, fps=1000.0, feet=feet).motion
    inner, span_s = slice(1, -1), 2 / motion.rate_hz
    joints = (motion.joint_pos_rad[2:] - motion.joint_pos_rad[:-2]) / span_s
    np.testing.assert_allclose(motion.joint_vel_rad_s[inner], joints, atol=2e-4)
    bodies = (motion.body_pos_w_m[2:] - motion.body_pos_w_m[:-2]) / span_s
    np.testing.assert_allclose(motion.body_lin_vel_w_m_s[inner], bodies, atol=2e-4)
    for body in range(0, len(motion.body_names), 7):
        for frame in range(1, len(joints), 50):
            turned = np.empty(3)
            quats = motion.body_quat_wxyz[[frame - 1, frame + 1], body]
            mujoco.mju_subQuat(turned, quats[1], quats[0])  # in the body's axes
            turned_w = np.empty(3)
            mujoco.mju_rotVecQuat(turned_w, turned, quats[0])
            np.testing.assert_allclose(motion.body_ang_vel_w_rad_s[frame, body], turned_w / span_s, atol=5e-4)


def test_the_corrected_foot_rests_and_the_clamped_one_is_still(motion):
    left, right = motion.body_names.index(LEFT), motion.body_names.index(RIGHT)
    assert np.abs(motion.body_pos_w_m[:, right, 2] - motion.body_pos_w_m[:, left, 2]).max() < 1e-9
    assert np.ptp(motion.body_pos_w_m[:, left], axis=0).max() == 0.0
    assert np.abs(motion.body_lin_vel_w_m_s[:, left]).max() == 0.0
    assert np.abs(motion.body_lin_vel_w_m_s[:, right, 2]).max() < 1e-4


def test_without_noise_the_motion_is_the_true_one():
    """Hands within what smoothing takes from a multi-sine of up to 2 Hz."""
    result = reconstruct_motion(replace(RUN, q_rad=TRUTH.playback.q_rad), bandwidth_hz=12.0)
    true = reconstruct(replace(RUN, q_rad=TRUTH.playback.q_rad))
    hand = result.motion.body_names.index("left_wrist_yaw_link")
    assert np.abs(result.motion.body_pos_w_m[:, hand] - true.path_of("left_wrist_yaw_link")).max() < 1e-3


@pytest.mark.parametrize("fps", [0.0, -50.0, 0.05, float("nan")])
def test_a_rate_without_frames_is_refused(fps):
    with pytest.raises(HaloidError, match=r"has fewer than two frames in the recording's 9\.98 s"):
        reconstruct_motion(RUN, fps=fps)


def test_an_arm_on_a_fixed_base_needs_no_clamp(tmp_path):
    arm = tmp_path / "arm.xml"
    arm.write_text(
        """<mujoco><compiler angle="radian"/><worldbody><body name="rod"><joint name="hinge" axis="0 1 0"/>
        <inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/><body name="tip" pos="0.5 0 0">
        <inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/></body></body></worldbody></mujoco>"""
    )
    time_s = np.arange(100) * 0.02
    run = Recording("arm", str(arm), None, ("hinge",), time_s, 0.4 * time_s[:, None])
    motion = reconstruct_motion(run).motion
    assert motion.body_names == ("rod", "tip")
    tip = np.stack([0.5 * np.cos(0.4 * time_s), 0 * time_s, -0.5 * np.sin(0.4 * time_s)], axis=1)
    np.testing.assert_allclose(motion.body_pos_w_m[:, 1], tip, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(motion.body_lin_vel_w_m_s[:, 1], axis=1), 0.2, atol=1e-9)
    np.testing.assert_allclose(motion.body_ang_vel_w_rad_s[:, 0], np.tile([0, 0.4, 0], (100, 1)), atol=1e-9)
