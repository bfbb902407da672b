"""The robot that policies are trained on: mjlab's contract, a floor for the soles alone, sensors."""

import mujoco
import numpy as np
import pytest
from tests.recordings.words import assert_words

from haloid.errors import HaloidError
from haloid.lab.loads import halo_setting, put_on
from haloid.robots.description import describe
from haloid.robots.load import load_spec
from haloid.skills.task.robot import FLOOR, tracked_robot, tracked_robot_of

G1 = describe("g1")


def test_the_action_contract_is_that_of_the_models_servos(robot):
    """Gains and limits are read off the file's own actuators, without haloid's code between."""
    model = load_spec("g1").compile()
    for row, name in enumerate(robot.joint_names):
        actuator = next(a for a in range(model.nu) if model.actuator_trnid[a, 0] == model.joint(name).id)
        assert robot.kp[row] == model.actuator_gainprm[actuator, 0] == -model.actuator_biasprm[actuator, 1]
        assert robot.kd[row] == -model.actuator_biasprm[actuator, 2] > 0
        assert robot.action_scale_rad[row] == pytest.approx(0.25 * robot.effort_nm[row] / robot.kp[row])
        low, high = model.joint(name).range
        assert robot.soft_limits_rad[row] == pytest.approx([low + 0.05 * (high - low), high - 0.05 * (high - low)])
    pose = dict(zip(robot.joint_names, robot.default_joint_pos_rad, strict=True))
    assert (pose["left_shoulder_roll_joint"], pose["right_shoulder_roll_joint"]) == (0.2, -0.2)
    assert (pose["left_knee_joint"], pose["right_knee_joint"], pose["waist_yaw_joint"]) == (0.669, 0.669, 0.0)


def test_a_target_pulls_with_kp_and_kd_up_to_the_effort(robot):
    data, random = mujoco.MjData(robot.model), np.random.default_rng(1)
    data.qpos[2] = 5.0
    data.qvel[6:] = random.uniform(-1, 1, 29)
    data.ctrl[:] = random.uniform(-0.5, 0.5, 29)
    data.ctrl[3] = 30.0
    mujoco.mj_forward(robot.model, data)
    expected = robot.kp * (data.ctrl - data.qpos[7:]) - robot.kd * data.qvel[6:]
    expected = np.clip(expected, -robot.effort_nm, robot.effort_nm)
    np.testing.assert_allclose(data.qfrc_actuator[6:], expected, atol=1e-9)
    assert data.qfrc_actuator[6 + 3] == robot.effort_nm[3]


@pytest.mark.parametrize("pose", ["upright", "lying"])
def test_only_the_soles_touch_the_floor(robot, pose):
    data = mujoco.MjData(robot.model)
    data.qpos[2] = 0.7 if pose == "upright" else 0.0
    if pose == "lying":
        data.qpos[3:7] = np.sqrt([0.5, 0.0, 0.5, 0.0])
    mujoco.mj_forward(robot.model, data)
    floor, feet = robot.model.geom(FLOOR).id, [robot.model.body(name).id for name in robot.description.feet.values()]
    pairs = [tuple(contact.geom) for contact in data.contact[: data.ncon]]
    assert pairs
    for pair in pairs:
        assert floor in pair
        assert robot.model.geom_bodyid[sum(pair) - floor] in feet


def test_geometry_that_touches_nothing_is_for_pictures_alone(robot):
    pictured = tracked_robot("g1", for_pictures=True)
    assert pictured.model.ngeom > 50
    assert set(robot.model.geom_bodyid) == {0} | {robot.model.body(name).id for name in robot.description.feet.values()}
    for name in ("body_mass", "body_inertia", "body_ipos", "body_iquat"):
        np.testing.assert_array_equal(getattr(robot.model, name), getattr(pictured.model, name))


def test_a_link_that_has_its_mass_from_its_shape_keeps_it():
    spec = load_spec("g1")
    hand = spec.body("left_wrist_yaw_link")
    hand.explicitinertial = False
    mass = spec.copy().compile().body("left_wrist_yaw_link").mass
    assert tracked_robot_of(spec, G1).model.body("left_wrist_yaw_link").mass == mass


def test_sensors_are_the_bodies_poses_and_velocities(robot):
    model, data, random = robot.model, mujoco.MjData(robot.model), np.random.default_rng(2)
    data.qpos[:] = random.normal(size=model.nq) * 0.3
    data.qpos[3:7] /= np.linalg.norm(data.qpos[3:7])
    data.qvel[:] = random.normal(size=model.nv)
    mujoco.mj_forward(model, data)
    bodies = robot.body_ids
    velocity = np.zeros((len(bodies), 6))
    for row, body in enumerate(bodies):
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, velocity[row], 0)
    site, imu = model.site(G1.imu_site).id, np.zeros(6)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_SITE, site, imu, 1)
    expected = [imu[3:], imu[:3], data.xpos[bodies].ravel(), data.xquat[bodies].ravel()]
    expected += [velocity[:, 3:].ravel(), velocity[:, :3].ravel()]
    np.testing.assert_allclose(data.sensordata, np.concatenate(expected), atol=1e-12)


def test_a_loaded_robot_keeps_its_loads_and_the_spec_is_not_changed():
    spec = load_spec("g1")
    put_on(spec, halo_setting(1))
    before = spec.to_xml()
    loaded = tracked_robot_of(spec, G1, timestep_s=0.004)
    assert spec.to_xml() == before
    assert loaded.model.opt.timestep == 0.004
    assert sum(loaded.model.body_mass) == pytest.approx(sum(spec.compile().body_mass))
    assert sum(loaded.model.body_mass) > sum(tracked_robot().model.body_mass) + 1.0


def test_robots_that_cannot_be_tracked_are_refused():
    spec = load_spec("g1")
    spec.body("left_elbow_link").name = "left_forearm"
    with pytest.raises(HaloidError) as refusal:
        tracked_robot_of(spec, G1)
    assert_words(str(refusal.value), "no link left_elbow_link", "left_forearm")

    spec = load_spec("g1")
    spec.actuators[3].set_to_motor()
    with pytest.raises(HaloidError, match="not all driven by position servos"):
        tracked_robot_of(spec, G1)

    spec = load_spec("g1")
    for geom in list(spec.body("right_ankle_roll_link").geoms):
        geom.contype = geom.conaffinity = 0
    with pytest.raises(HaloidError, match="right_ankle_roll_link has no geometry that could touch the floor"):
        tracked_robot_of(spec, G1)

    spec = load_spec("g1")
    spec.delete(spec.site(G1.imu_site))
    with pytest.raises(HaloidError, match=f"no site '{G1.imu_site}'"):
        tracked_robot_of(spec, G1)
