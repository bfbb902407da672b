import mujoco
import numpy as np
import pytest

from haloid.errors import HaloidError
from haloid.robots.load import load_spec
from haloid.robots.sole import sole_height_m, sole_points_in_foot_m

FOOT = "right_ankle_roll_link"


def test_the_sole_of_the_g1_lies_under_its_spheres():
    model = load_spec("g1").compile()
    foot = model.body(FOOT).id
    points = sole_points_in_foot_m(model, foot)
    np.testing.assert_allclose(points, [[0.035, 0, -0.035], [0.125, 0, -0.035], [0.035, 0.035, -0.035]], atol=1e-12)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    assert sole_height_m(model, foot) == pytest.approx(data.xpos[foot, 2] - 0.035)


def test_the_sole_is_that_of_the_zero_configuration_whatever_the_model_starts_in():
    """A foot of which the frame is turned: the sole is still level where all joints are 0."""
    text = """
    <mujoco><compiler angle="radian"/><worldbody><body name="leg" pos="0 0 1"><joint name="hip" axis="0 1 0" ref="0.3"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.8" size="0.03" contype="0" conaffinity="0"/>
      <body name="foot" pos="0 0 -0.9" quat="0.7071067811865476 0.7071067811865476 0 0">
        <joint name="ankle" axis="1 0 0"/><geom type="box" size="0.1 0.02 0.04" pos="0.05 -0.03 0"/>
    </body></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:] = 0.0
    foot = model.body("foot").id
    mujoco.mj_kinematics(model, data)
    points_w = data.xpos[foot] + sole_points_in_foot_m(model, foot) @ data.xmat[foot].reshape(3, 3).T
    np.testing.assert_allclose(np.ptp(points_w[:, 2]), 0.0, atol=1e-12)
    assert points_w[0, 2] == pytest.approx(sole_height_m(model, foot))


def test_a_foot_that_touches_nothing_has_no_sole():
    model = load_spec("g1").compile()
    with pytest.raises(HaloidError, match="left_ankle_pitch_link has no collision geometry that shows where its sole"):
        sole_height_m(model, model.body("left_ankle_pitch_link").id)
