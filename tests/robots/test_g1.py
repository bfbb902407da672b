"""The project's own G1 against the published one, and what a scene may expect of it."""

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
)

from haloid.robots.load import actuated_joints, load_spec

ARMATURES = {0.003609725, 2 * 0.003609725, 0.01017752, 0.025101925, 0.00425}


@pytest.fixture(scope="module")
def g1() -> mujoco.MjModel:
    return load_spec("g1").compile()


@pytest.fixture(scope="module")
def published() -> mujoco.MjModel:
    return published_model("unitree_g1/g1.xml")


def on_floor() -> mujoco.MjModel:
    spec = load_spec("g1")
    spec.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1])
    return spec.compile()


def test_total_mass_is_the_published_one(g1):
    assert g1.body_mass.sum() == pytest.approx(33.341142, abs=1e-9)


def test_every_link_has_the_published_inertial(g1, published):
    assert body_names(g1) == body_names(published)
    assert_same_inertials(g1, published)


def test_joints_have_the_published_axes_ranges_and_efforts(g1, published):
    assert_same_joints(g1, published)
    assert joint_names(g1)[0] == "floating_base_joint"
    assert g1.jnt_actfrclimited[1:].all() and g1.jnt_limited[1:].all()


def test_forward_kinematics_equal_the_published_model_at_random_configurations(g1, published):
    assert [g1.site(i).name for i in range(g1.nsite)] == [published.site(i).name for i in range(published.nsite)]
    assert_same_kinematics(g1, published)


def test_keyframe_and_actuator_order_are_the_published_ones(g1, published):
    assert [g1.actuator(i).name for i in range(29)] == [published.actuator(i).name for i in range(29)]
    np.testing.assert_array_equal(g1.key("stand").qpos, published.key("stand").qpos)
    np.testing.assert_array_equal(g1.key("stand").ctrl, published.key("stand").ctrl)


def test_joints_carry_rotor_inertia_and_neither_damping_nor_friction(g1):
    assert set(np.round(g1.dof_armature[6:], 12)) == {round(a, 12) for a in ARMATURES}
    armature = {name: g1.dof_armature[g1.joint(name).dofadr[0]] for name in actuated_joints(g1)}
    assert armature["left_knee_joint"] == 0.025101925
    assert armature["right_ankle_roll_joint"] == 2 * 0.003609725
    assert armature["waist_yaw_joint"] == 0.01017752
    assert armature["right_wrist_pitch_joint"] == 0.00425
    assert not g1.dof_damping.any() and not g1.dof_frictionloss.any()


def test_options_and_a_world_without_a_floor(g1):
    assert g1.opt.timestep == 0.005
    assert g1.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    assert g1.nmesh == 0
    assert not (g1.geom_bodyid == 0).any()


def test_left_and_right_look_alike(g1):
    data = mujoco.MjData(g1)
    mujoco.mj_kinematics(g1, data)
    for left in (name for name in body_names(g1) if name.startswith("left_")):
        pair = [np.flatnonzero(g1.geom_bodyid == g1.body(name).id) for name in (left, left.replace("left", "right", 1))]
        np.testing.assert_allclose(g1.geom_size[pair[0]], g1.geom_size[pair[1]], err_msg=left)
        mirrored = data.geom_xpos[pair[1]] * [1, -1, 1]
        # The published shoulders differ by 1e-5 m from side to side.
        np.testing.assert_allclose(data.geom_xpos[pair[0]], mirrored, atol=2e-5, err_msg=left)


@pytest.mark.parametrize("pose", ["zero", "stand"])
def test_no_link_touches_another_at_rest(g1, pose):
    data = mujoco.MjData(g1)
    if pose == "stand":
        mujoco.mj_resetDataKeyframe(g1, data, g1.key("stand").id)
    mujoco.mj_forward(g1, data)
    assert contacts(g1, data) == set()


def test_a_hand_can_touch_the_thigh(g1):
    data = mujoco.MjData(g1)
    data.joint("left_hip_pitch_joint").qpos = -0.6
    data.joint("left_elbow_joint").qpos = 1.0
    mujoco.mj_forward(g1, data)
    assert frozenset(("left_hand_collision", "left_thigh_collision")) in contacts(g1, data)


def test_each_foot_stands_on_its_four_published_points():
    model = on_floor()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    corners = [f"foot_{end}_{side}" for end in ("heel", "toe") for side in ("inner", "outer")]
    assert contacts(model, data) == {frozenset(("floor", f"{leg}_{c}")) for leg in ("left", "right") for c in corners}
    for contact in data.contact:
        assert contact.dim == 3 and contact.friction[0] == 0.6
        assert abs(contact.dist) < 0.0025
    soles = {tuple(model.geom(f"left_{corner}").pos) for corner in corners}
    assert soles == {(-0.05, 0.025, -0.03), (-0.05, -0.025, -0.03), (0.12, 0.03, -0.03), (0.12, -0.03, -0.03)}


def test_it_falls_without_a_controller_and_nothing_explodes():
    model = on_floor()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    data.ctrl[:] = model.key("stand").ctrl
    top_speed_rad_s = 0.0
    for _ in range(600):
        mujoco.mj_step(model, data)
        top_speed_rad_s = max(top_speed_rad_s, float(np.abs(data.qvel).max()))
    assert all(warning.number == 0 for warning in data.warning)
    assert top_speed_rad_s < 60.0
    assert 0.0 < data.body("pelvis").xpos[2] < 0.85
    assert np.abs(data.qvel).max() < 1.0
