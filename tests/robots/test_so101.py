"""The project's own SO-101 arm against the published one."""

import mujoco
import numpy as np
import pytest
from tests.robots.published import (
    assert_same_inertials,
    assert_same_joints,
    assert_same_kinematics,
    contacts,
    published_model,
)

from haloid.robots.load import actuated_joints, load_spec
from haloid.robots.servos import model_gains

JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")
PUBLISHED = "robotstudio_so101/so101_nomesh.xml"


@pytest.fixture(scope="module")
def so101() -> mujoco.MjModel:
    return load_spec("so101").compile()


def test_mass_joints_and_limits(so101):
    assert so101.body_mass.sum() == pytest.approx(0.632006, abs=1e-9)
    assert actuated_joints(so101) == JOINTS
    assert so101.nq == so101.nu == 6
    upper = [so101.joint(name).range[1] for name in JOINTS]
    assert upper == [1.91986, 1.74533, 1.69, 1.65806, 2.74385, 1.74533]
    assert so101.joint("gripper").range[0] == -0.174533
    assert so101.body("moving_jaw_so101_v1").jntadr[0] == so101.joint("gripper").id


def test_the_servos_are_the_published_files(so101):
    gains = model_gains(load_spec("so101"))
    assert gains.kp == dict.fromkeys(JOINTS, 998.22)
    assert gains.kd == dict.fromkeys(JOINTS, 2.731)
    np.testing.assert_array_equal(so101.actuator_forcerange, [[-2.94, 2.94]] * 6)


def test_links_joints_and_kinematics_equal_the_published_model(so101):
    published = published_model(PUBLISHED)
    assert_same_inertials(so101, published)
    assert_same_joints(so101, published)
    assert_same_kinematics(so101, published)


def test_drives_equal_the_published_model(so101):
    published = published_model(PUBLISHED)
    fields = ("dof_armature", "dof_damping", "dof_frictionloss", "actuator_trnid", "actuator_gainprm")
    for field in (*fields, "actuator_biasprm", "actuator_forcerange", "actuator_ctrlrange", "actuator_forcelimited"):
        np.testing.assert_array_equal(getattr(so101, field), getattr(published, field), err_msg=field)
    assert so101.opt.timestep == published.opt.timestep
    assert so101.opt.integrator == published.opt.integrator


def test_no_link_touches_another_at_rest_and_the_hand_can_touch_the_shoulder(so101):
    data = mujoco.MjData(so101)
    mujoco.mj_forward(so101, data)
    assert contacts(so101, data) == set()
    data.qpos[:] = [0, -1.7, 1.69, 1.65, 0, 0]
    mujoco.mj_forward(so101, data)
    assert any("shoulder_collision" in pair for pair in contacts(so101, data))
