"""Torques and sole forces of a reference, against statics, MuJoCo's own contact forces and forward dynamics."""

import mujoco
import numpy as np
import pytest
from tests.skills.controller.robots import clip, robot_on_floor, standing_qpos

from haloid.skills.controller.contacts import SoleContacts, sole_contacts, sole_spheres
from haloid.skills.controller.inverse_dynamics import put_in_the_middle, reference_forces, without_contacts
from haloid.trajectories.mujoco_states import ModelStates, states_of


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return robot_on_floor()


def test_standing_soles_bear_the_weight_under_the_centre_of_mass(model):
    reference = ModelStates(0.02, np.tile(standing_qpos(model), (3, 1)), np.zeros((3, model.nv)))
    contacts = sole_contacts(model, reference)
    force = reference_forces(model, reference, contacts).sole_force_w_n[1]
    weight_n = model.body_subtreemass[0] * 9.81
    assert force[:, 2].min() >= 0
    np.testing.assert_allclose(force.sum(axis=0), [0, 0, weight_n], atol=1e-2)
    data = mujoco.MjData(model)
    data.qpos[:] = reference.qpos[0]
    mujoco.mj_forward(model, data)
    pressure = force[:, 2] @ data.geom_xpos[contacts.geom_ids, :2] / weight_n
    np.testing.assert_allclose(pressure, data.subtree_com[0, :2], atol=1e-4)


def test_the_forces_found_reproduce_the_reference_acceleration(model):
    """Forward dynamics in free space with the torques and sole forces accelerates as the reference does."""
    reference = states_of(model, clip("squat", 60, 70).trajectory)
    contacts = sole_contacts(model, reference)
    found = reference_forces(model, reference, contacts)
    free, frame = without_contacts(model), 5
    data = mujoco.MjData(free)
    put_in_the_middle(free, data, reference, frame)
    acceleration = data.qacc.copy()
    mujoco.mj_kinematics(free, data)
    for geom, force in zip(contacts.geom_ids, found.sole_force_w_n[frame], strict=True):
        mujoco.mj_comPos(free, data)
        point = data.geom_xpos[geom] - [0, 0, free.geom_size[geom, 0]]
        mujoco.mj_applyFT(free, data, force, np.zeros(3), point, free.geom_bodyid[geom], data.qfrc_applied)
    data.qfrc_applied[6:] += found.joint_torque_nm[frame]
    free.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
    mujoco.mj_forward(free, data)
    assert np.abs(acceleration).max() > 0.5
    np.testing.assert_allclose(data.qacc, acceleration, atol=2e-2)


def test_simulated_standing_has_the_same_torques(model):
    """The servos of a robot that has come to rest on MuJoCo's own contacts hold what inverse dynamics says."""
    data = mujoco.MjData(model)
    data.qpos[:] = standing_qpos(model)
    held = np.tile(data.qpos, (3, 1))
    reference = ModelStates(0.02, held, np.zeros((3, model.nv)))
    contacts = SoleContacts(sole_spheres(model), np.ones((3, 8)), np.ones((3, 8), dtype=bool), np.zeros(8, dtype=bool))
    torque = reference_forces(model, reference, contacts).joint_torque_nm[1]
    kp = model.actuator_gainprm[:, 0]
    for _ in range(60):  # 0.3 s: long enough for the floor to take the load, too short to fall over
        data.ctrl[:] = held[0, 7:] + torque / kp
        mujoco.mj_step(model, data)
    assert np.abs(torque).max() > 5
    np.testing.assert_allclose(data.actuator_force, torque, atol=0.5)


def test_nothing_pushes_in_flight(model):
    qpos = np.tile(standing_qpos(model), (3, 1))
    qpos[:, 2] += 0.5
    reference = ModelStates(0.02, qpos, np.zeros((3, model.nv)))
    found = reference_forces(model, reference, sole_contacts(model, reference))
    assert np.all(found.sole_force_w_n == 0)
