import mujoco
import numpy as np
import pytest

from haloid.errors import HaloidError
from haloid.recordings.reconstruction.reconstruct import reconstruct
from haloid.recordings.recording import Recording
from haloid.robots.clamp import clamp
from haloid.robots.load import actuated_joints, load_spec
from haloid.trajectories.kinematics import forward_kinematics

SPEC = load_spec("g1")
JOINTS = actuated_joints(SPEC)
ANGLES_RAD = np.random.default_rng(0).uniform(-0.5, 0.5, (5, len(JOINTS)))


def recording(link: str, **fields) -> Recording:
    return Recording("run", "g1", link, JOINTS, np.arange(5) * 0.02, ANGLES_RAD, **fields)


@pytest.mark.parametrize("link", ["left_ankle_roll_link", "right_ankle_roll_link", "pelvis", "left_wrist_yaw_link"])
def test_bodies_stand_to_each_other_as_in_the_floating_robot(link):
    motion = reconstruct(recording(link))
    floating = SPEC.copy().compile()
    data = mujoco.MjData(floating)
    address = [floating.joint(name).qposadr[0] for name in JOINTS]
    held = motion.body_names.index(link)
    for row, angles in enumerate(ANGLES_RAD):
        data.qpos[address] = angles
        mujoco.mj_kinematics(floating, data)
        rotation = data.body(link).xmat.reshape(3, 3)
        for body, name in enumerate(motion.body_names):
            expected = rotation.T @ (data.body(name).xpos - data.body(link).xpos)
            held_rotation = np.empty(9)
            mujoco.mju_quat2Mat(held_rotation, motion.quat_wxyz[row, held])
            found = held_rotation.reshape(3, 3).T @ (motion.pos_w_m[row, body] - motion.pos_w_m[row, held])
            np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_clamped_link_stays_where_it_is_in_the_zero_configuration():
    motion = reconstruct(recording("left_ankle_roll_link"))
    floating = SPEC.copy().compile()
    data = mujoco.MjData(floating)
    mujoco.mj_kinematics(floating, data)
    path = motion.path_of("left_ankle_roll_link")
    np.testing.assert_allclose(path, np.tile(data.body("left_ankle_roll_link").xpos, (5, 1)), atol=1e-12)


def test_the_clamp_pose_moves_the_whole_robot():
    pose = np.array([1.0, 2.0, 0.5, 1.0, 0.0, 0.0, 0.0])
    plain, moved = reconstruct(recording("pelvis")), reconstruct(recording("pelvis", clamp_pose=pose))
    np.testing.assert_allclose(moved.path_of("pelvis"), np.tile(pose[:3], (5, 1)), atol=1e-12)
    shift = moved.pos_w_m - plain.pos_w_m
    np.testing.assert_allclose(shift, np.broadcast_to(shift[0, 0], shift.shape), atol=1e-12)


def test_columns_go_by_name():
    model = clamp(SPEC, "pelvis").compile()
    order = np.random.default_rng(1).permutation(len(JOINTS))
    shuffled = forward_kinematics(model, [JOINTS[i] for i in order], ANGLES_RAD[:, order])
    np.testing.assert_array_equal(shuffled.pos_w_m, forward_kinematics(model, JOINTS, ANGLES_RAD).pos_w_m)


def test_joints_that_do_not_fit_are_named():
    model = clamp(SPEC, "pelvis").compile()
    names = ("knee", *JOINTS[1:])
    with pytest.raises(HaloidError, match=r"does not have: knee; joints without an angle: left_hip_pitch_joint"):
        forward_kinematics(model, names, ANGLES_RAD)
    with pytest.raises(HaloidError, match="no body 'left_hand'; there are: pelvis"):
        forward_kinematics(model, JOINTS, ANGLES_RAD).path_of("left_hand")
