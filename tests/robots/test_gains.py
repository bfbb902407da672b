"""Gain sets of the G1: the figures, the order, the words of the errors."""

import math

import pytest

from haloid.errors import HaloidError
from haloid.robots.gains import gain_set
from haloid.robots.load import actuated_joints, load_spec


@pytest.mark.parametrize("name", ["mjlab", "unitree", "stiff"])
def test_every_set_covers_all_joints_in_model_order_and_alike_on_both_sides(name):
    gains = gain_set("g1", name)
    assert tuple(gains.kp) == tuple(gains.kd) == actuated_joints(load_spec("g1"))
    for values in (gains.kp, gains.kd):
        assert all(value > 0 for value in values.values())
        assert all(values[j] == values[j.replace("left_", "right_")] for j in values)


def test_mjlab_gains_follow_from_the_armatures():
    model = load_spec("g1").compile()
    gains = gain_set("g1", "mjlab")
    omega_rad_s = 2 * math.pi * 10
    for joint in gains.kp:
        armature = model.dof_armature[model.joint(joint).dofadr[0]]
        assert gains.kp[joint] == pytest.approx(armature * omega_rad_s**2, rel=1e-12)
        assert gains.kd[joint] == pytest.approx(4 * armature * omega_rad_s, rel=1e-12)
    assert gains.kp["left_knee_joint"] == pytest.approx(99.098, abs=1e-3)
    assert gains.kd["left_knee_joint"] == pytest.approx(6.309, abs=1e-3)


def test_the_models_own_servos_have_mjlab_gains():
    model = load_spec("g1").compile()
    gains = gain_set("g1", "mjlab")
    for joint in gains.kp:
        servo = model.actuator(joint)
        assert servo.gainprm[0] == pytest.approx(gains.kp[joint], rel=1e-12)
        assert servo.biasprm[:3] == pytest.approx([0, -gains.kp[joint], -gains.kd[joint]], rel=1e-12)
        assert not servo.ctrllimited


@pytest.mark.parametrize(
    ("name", "joint", "kp", "kd"),
    [
        ("unitree", "left_hip_yaw_joint", 100, 2),
        ("unitree", "right_knee_joint", 150, 4),
        ("unitree", "waist_yaw_joint", 200, 5),
        ("unitree", "waist_pitch_joint", 40, 5),
        ("unitree", "left_ankle_roll_joint", 40, 2),
        ("unitree", "right_wrist_yaw_joint", 40, 1),
        ("stiff", "left_ankle_pitch_joint", 800, 40),
        ("stiff", "left_knee_joint", 600, 30),
        ("stiff", "waist_roll_joint", 500, 25),
        ("stiff", "right_elbow_joint", 100, 5),
    ],
)
def test_figures(name, joint, kp, kd):
    gains = gain_set("g1", name, [joint])
    assert gains.kp == {joint: kp} and gains.kd == {joint: kd}


def test_given_joints_keep_their_order():
    wanted = ["waist_yaw_joint", "left_knee_joint"]
    assert list(gain_set("g1", "mjlab", wanted).kp) == wanted


def test_unknown_set_lists_the_valid_ones():
    with pytest.raises(HaloidError) as error:
        gain_set("g1", "soft")
    assert str(error.value) == "No gain set 'soft' for the robot 'g1'. Available: mjlab, stiff, unitree."


def test_a_robot_given_by_path_has_no_sets():
    with pytest.raises(HaloidError) as error:
        gain_set("robots/my_arm.urdf", "mjlab")
    assert "No named gain sets for the robot 'robots/my_arm.urdf'; they exist for g1." in str(error.value)
    assert "Give kp and kd of every joint yourself" in str(error.value)


def test_unknown_joint_names_its_near_miss():
    with pytest.raises(HaloidError) as error:
        gain_set("g1", "mjlab", ["left_kne_joint"])
    assert "'g1' has no actuated joint 'left_kne_joint'. Did you mean 'left_knee_joint'?" in str(error.value)
