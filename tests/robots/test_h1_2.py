"""The project's own H1-2 against the published one, and what it can do."""

import mujoco
import numpy as np
import pytest
from tests.robots.published import (
    assert_same_inertials,
    assert_same_joints,
    assert_same_kinematics,
    body_names,
    contacts,
    joint_names,
    published_model,
    published_text,
)

from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.motions.check import check
from haloid.motions.load import load_motion
from haloid.robots.description import describe
from haloid.robots.load import actuated_joints, load_spec

PUBLISHED = "unitree_h1_2/h1_2_handless.xml"


@pytest.fixture(scope="module")
def h1_2() -> mujoco.MjModel:
    return load_spec("h1-2").compile()


def test_mass_joints_and_limits(h1_2):
    assert h1_2.body_mass.sum() == pytest.approx(66.984, abs=1e-9)
    assert actuated_joints(h1_2) == describe("h1-2").motor_order and h1_2.nu == 27
    assert joint_names(h1_2)[0] == "floating_base_joint"
    for joint, low, high, effort_nm in (
        ("left_hip_yaw_joint", -0.43, 0.43, 200),
        ("right_hip_roll_joint", -3.14, 0.43, 200),
        ("left_knee_joint", -0.12, 2.19, 300),
        ("left_ankle_pitch_joint", -0.897334, 0.523598, 60),
        ("torso_joint", -2.35, 2.35, 200),
        ("right_shoulder_yaw_joint", -3.01, 2.66, 18),
        ("left_wrist_roll_joint", -3.01, 2.75, 19),
    ):
        np.testing.assert_array_equal(h1_2.joint(joint).range, [low, high])
        np.testing.assert_array_equal(h1_2.jnt_actfrcrange[h1_2.joint(joint).id], [-effort_nm, effort_nm])


def test_links_joints_and_kinematics_equal_the_published_model(h1_2):
    published = published_model(PUBLISHED)
    assert body_names(h1_2) == body_names(published)
    assert_same_inertials(h1_2, published)
    assert_same_joints(h1_2, published)
    assert [h1_2.actuator(i).name for i in range(27)] == [published.actuator(i).name for i in range(27)]
    np.testing.assert_allclose(h1_2.site("imu").pos, published.site("imu").pos)
    feet = [site for site in range(h1_2.nsite) if h1_2.site(site).name.endswith("_foot")]
    assert len(feet) == 2 and not h1_2.site_pos[feet].any()
    assert_same_kinematics(h1_2, published, own_sites=("left_foot", "right_foot"))


def test_speed_limits_are_the_urdfs():
    text = published_text("unitree_h1_2/h1_2_handless.urdf")
    limits = describe("h1-2").speed_limits_rad_s
    for joint, speed_rad_s in limits.items():
        after = text[text.index(f'<joint name="{joint}"') :]
        assert f'velocity="{speed_rad_s:g}"' in after[: after.index("</joint>")], joint
    assert set(limits) == set(describe("h1-2").joints)


def test_it_stands_on_its_soles_and_nothing_else_touches(h1_2):
    data = mujoco.MjData(h1_2)
    mujoco.mj_forward(h1_2, data)
    assert contacts(h1_2, data) == set()
    spec = load_spec("h1-2")
    spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1])
    model, robot = spec.compile(), describe("h1-2")
    data = mujoco.MjData(model)
    for joint, angle in robot.standing_pose.items():
        data.joint(joint).qpos = angle
    mujoco.mj_kinematics(model, data)
    soles = [geom for geom in range(model.ngeom) if "_foot_" in model.geom(geom).name]
    assert len(soles) == 8
    data.qpos[2] -= data.geom_xpos[soles, 2].min() - 0.005 + 1e-4
    mujoco.mj_forward(model, data)
    assert contacts(model, data) == {frozenset(("floor", model.geom(sole).name)) for sole in soles}
    assert data.body("pelvis").xpos[2] == pytest.approx(robot.standing_height_m, abs=5e-3)
    assert abs(data.body("left_ankle_roll_link").xpos[1]) == pytest.approx(robot.stance_half_width_m, abs=1e-6)


@pytest.mark.parametrize("name", ["stand", "squat"])
def test_its_own_motions_are_its_own(name):
    motion = load_motion(name, robot="h1-2")
    assert motion.joint_names == describe("h1-2").joints
    assert motion.body_pos_w_m[0, 0, 2] == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(motion.joint_pos_rad[-1], motion.joint_pos_rad[0], atol=1e-4)
    assert [finding for finding in check(motion.trajectory, "h1-2") if finding.severity == "error"] == []


def test_it_can_be_recorded_on_one_clamped_foot():
    recording, _ = record(LabRobot("h1-2"), seed=1)
    assert recording.robot == "h1-2" and recording.clamp == "left_ankle_roll_link"
    assert np.ptp(recording.q_rad, axis=0).max() > 0.2
