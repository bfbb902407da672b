"""The linearised control step against the nonlinear one."""

import mujoco
import numpy as np
from tests.skills.controller.robots import robot_on_floor, standing_qpos

from haloid.skills.controller.contacts import SoleContacts, sole_contacts
from haloid.skills.controller.inverse_dynamics import reference_forces, sole_jacobians
from haloid.skills.controller.linear_model import LinearModel, linear_model
from haloid.skills.controller.tables import feedforward_targets
from haloid.trajectories.mujoco_states import ModelStates

TORSO = "torso_link"


def standing_still(model: mujoco.MjModel) -> tuple[SoleContacts, LinearModel, mujoco.MjData]:
    """The linear model of two frames of standing, and a state in which Jacobians can be taken."""
    reference = ModelStates(0.02, np.tile(standing_qpos(model), (2, 1)), np.zeros((2, model.nv)))
    contacts = sole_contacts(model, reference)
    forces = reference_forces(model, reference, contacts)
    linear = linear_model(
        model, TORSO, reference, contacts, forces, feedforward_targets(model, reference, forces), 0.01
    )
    data = mujoco.MjData(model)
    data.qpos[:] = reference.qpos[0]
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    return contacts, linear, data


def test_a_turned_ankle_target_moves_the_pelvis_as_in_simulation():
    """Standing on MuJoCo's soft contacts: the change after 0.1 s of a small change of both ankles' targets."""
    model = robot_on_floor()
    reference = ModelStates(0.02, np.tile(standing_qpos(model), (3, 1)), np.zeros((3, model.nv)))
    contacts = sole_contacts(model, reference)
    forces = reference_forces(model, reference, contacts)
    target = feedforward_targets(model, reference, forces)
    linear = linear_model(model, TORSO, reference, contacts, forces, target, 0.01)
    ankles = [model.actuator(f"{side}_ankle_pitch_joint").id for side in ("left", "right")]
    change = np.zeros(model.nu)
    change[ankles] = 0.02
    predicted = np.zeros(2 * model.nv)
    for _ in range(5):
        predicted = linear.state[1] @ predicted + linear.inputs[1][:, : model.nu] @ change

    ends = []
    for ctrl in (target[1], target[1] + change):
        data = mujoco.MjData(model)
        data.qpos[:] = reference.qpos[0]
        data.ctrl[:] = target[1]
        mujoco.mj_step(model, data, nstep=20)  # the floor takes the load
        data.ctrl[:] = ctrl
        mujoco.mj_step(model, data, nstep=20)
        ends.append((data.qpos.copy(), data.qvel.copy()))
    moved = np.zeros(model.nv)
    mujoco.mj_differentiatePos(model, moved, 1.0, ends[0][0], ends[1][0])
    pitch, forward = 4, 0
    assert abs(moved[forward]) > 1e-4
    np.testing.assert_allclose(moved[[forward, pitch]], predicted[[forward, pitch]], rtol=0.25)


def test_a_moment_on_the_torso_moves_the_pelvis_as_in_simulation():
    """As above, 0.1 s of 2 N·m about y, after which a robot on ankles without feedback is on its way."""
    model = robot_on_floor()
    _, linear, _ = standing_still(model)
    reference = ModelStates(0.02, np.tile(standing_qpos(model), (2, 1)), np.zeros((2, model.nv)))
    contacts = sole_contacts(model, reference)
    target = feedforward_targets(model, reference, reference_forces(model, reference, contacts))
    predicted = np.zeros(2 * model.nv)
    for _ in range(5):
        predicted = linear.state[1] @ predicted + linear.inputs[1][:, model.nu :] @ [0.0, 2.0]
    ends = []
    for moment_nm in (0.0, 2.0):
        data = mujoco.MjData(model)
        data.qpos[:], data.ctrl[:] = reference.qpos[0], target[1]
        mujoco.mj_step(model, data, nstep=20)
        data.xfrc_applied[model.body(TORSO).id, 4] = moment_nm
        mujoco.mj_step(model, data, nstep=20)
        ends.append(data.qpos.copy())
    moved = np.zeros(model.nv)
    mujoco.mj_differentiatePos(model, moved, 1.0, *ends)
    waist = 6 + model.actuator("waist_pitch_joint").id
    assert abs(moved[waist]) > 1e-4
    np.testing.assert_allclose(moved[[0, 4, waist]], predicted[[0, 4, waist]], rtol=0.25)


def test_resting_soles_keep_their_places():
    model = robot_on_floor()
    _, linear, data = standing_still(model)
    foot = np.zeros((3, model.nv))
    mujoco.mj_jacBody(model, data, foot, None, model.body("left_ankle_roll_link").id)
    slip_m_per_rad = foot @ linear.inputs[1][:, : model.nu][: model.nv]
    assert np.abs(linear.inputs[1][:, : model.nu][: model.nv]).max() > 1e-3
    assert np.abs(slip_m_per_rad).max() < 1e-5


def test_a_servo_at_its_limit_has_the_slope_of_one_below_it():
    """All servos at half the torque that standing takes: differences must not straddle the kink."""
    model = mujoco.MjModel.__copy__(robot_on_floor())
    reference = ModelStates(0.02, np.tile(standing_qpos(model), (3, 1)), np.zeros((3, model.nv)))
    contacts = sole_contacts(model, reference)
    forces = reference_forces(model, reference, contacts)
    free = linear_model(model, TORSO, reference, contacts, forces, feedforward_targets(model, reference, forces), 0.01)
    model.actuator_forcerange[:] = np.outer(np.abs(forces.joint_torque_nm[1]) / 2 + 1e-3, [-1, 1])
    at_limit = linear_model(
        model, TORSO, reference, contacts, forces, feedforward_targets(model, reference, forces), 0.01
    )
    np.testing.assert_allclose(at_limit.inputs[1], free.inputs[1], atol=0.02 * np.abs(free.inputs[1]).max())


def test_a_foot_put_down_beside_its_mark_stays_there_and_pushes_do_not_move_it():
    model = robot_on_floor()
    contacts, linear, data = standing_still(model)
    soles = sole_jacobians(model, data, contacts.geom_ids).reshape(-1, model.nv)
    error = np.zeros(2 * model.nv)
    error[model.joint("left_hip_yaw_joint").dofadr[0]] = 0.02
    error[2] = 0.001  # the whole robot a millimetre too high
    before_m = (soles @ error[: model.nv]).reshape(-1, 3)
    after_m = (soles @ (linear.state[1] @ error)[: model.nv]).reshape(-1, 3)
    assert np.abs(before_m[:, :2]).max() > 1e-3
    np.testing.assert_allclose(after_m[:, :2], before_m[:, :2], atol=2e-5)
    assert np.all(np.abs(after_m[:, 2]) < 0.99 * np.abs(before_m[:, 2]))
    assert np.abs(soles @ linear.free_part[1]).max() < 0.01 * np.abs(soles).max()


def test_parts_of_a_control_step_make_the_whole():
    _, linear, _ = standing_still(robot_on_floor())
    assert linear.physics_steps == 4
    first_state, first_inputs = linear.over(1, 1)
    rest_state, rest_inputs = linear.over(1, 3)
    np.testing.assert_allclose(rest_state @ first_state, linear.state[1], atol=1e-9)
    np.testing.assert_allclose(rest_state @ first_inputs + rest_inputs, linear.inputs[1], atol=1e-9)
