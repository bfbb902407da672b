import mujoco
import numpy as np
import pytest

from haloid.lab.aging import Aging
from haloid.lab.dynamics import LabDynamics
from haloid.lab.loads import halo_setting
from haloid.lab.posture import clamped_ankles, stand
from haloid.lab.robot import LabRobot
from haloid.trajectories.kinematics import forward_kinematics

LEFT, RIGHT = "left_ankle_roll_link", "right_ankle_roll_link"


def robot(clamp: str, setting: int, support="single") -> LabRobot:
    return LabRobot(clamp=clamp, support=support, loads=halo_setting(setting) if setting else (), aging=Aging(seed=1))


def closed_loop_spectral_radius(lab: LabRobot) -> float:
    """Of one simulation step around the posture, dry friction left out."""
    built = lab.built
    built.model.dof_frictionloss[:] = 0.0
    data = mujoco.MjData(built.model)
    data.qpos[built.qpos_of] = lab.posture_rad
    hold_nm = LabDynamics(built).static_torque(lab.posture_rad)
    data.ctrl[built.actuator_of] = lab.posture_rad + hold_nm / (built.strength * built.kp)
    step = np.empty((2 * built.model.nv, 2 * built.model.nv))
    mujoco.mjd_transitionFD(built.model, data, 1e-6, True, step, None, None, None)
    return float(np.abs(np.linalg.eigvals(step)).max())


@pytest.mark.parametrize("clamp", [LEFT, RIGHT])
@pytest.mark.parametrize("setting", [0, 1, 2, 3])
def test_one_leg_stands_balanced_and_stable(clamp, setting):
    lab = robot(clamp, setting)
    ankles = clamped_ankles(lab.built)
    named = [name for name, is_clamped in zip(lab.built.joint_names, ankles, strict=True) if is_clamped]
    side = clamp.split("_")[0]
    assert named == [f"{side}_ankle_pitch_joint", f"{side}_ankle_roll_joint"]
    static_nm = np.abs(LabDynamics(lab.built).static_torque(lab.posture_rad))
    assert static_nm[ankles].max() < 0.01
    assert np.all(static_nm < 0.8 * lab.built.limits.effort_nm)
    assert np.all(lab.posture_rad > lab.built.limits.lower_rad + 0.1)
    assert np.all(lab.posture_rad < lab.built.limits.upper_rad - 0.1)
    assert closed_loop_spectral_radius(lab) < 0.9999


def test_mjlab_gains_cannot_hold_one_leg():
    """The check of the test above can fail: 28 N·m/rad at the ankle against a toppling stiffness of over 200."""
    assert closed_loop_spectral_radius(LabRobot(gains="mjlab")) > 1.0


def test_both_soles_are_flat_and_level_in_double_support():
    lab = robot(LEFT, 2, "double")
    motion = forward_kinematics(lab.built.model, lab.built.joint_names, lab.posture_rad[None])
    left, right = (motion.body_names.index(foot) for foot in (LEFT, RIGHT))
    assert abs(motion.pos_w_m[0, left, 2] - motion.pos_w_m[0, right, 2]) < 1e-4
    np.testing.assert_allclose(np.abs(motion.quat_wxyz[0, right]), [1, 0, 0, 0], atol=1e-4)


def test_the_stand_is_symmetric():
    built = LabRobot().built
    posture = dict(zip(built.joint_names, stand(built), strict=True))
    for name, angle in posture.items():
        if name.startswith("left_"):
            sign = -1 if "roll" in name else 1
            assert posture[name.replace("left_", "right_")] == sign * angle
