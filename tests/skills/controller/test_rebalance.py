"""Rebalancing: known zero-moment points, hulls and offsets; feet that stay; a loaded robot that stays up on one leg."""

import dataclasses
from functools import cache

import mujoco
import numpy as np
import pytest
from tests.skills.controller.robots import (
    clip,
    robot_on_floor,
    standing_qpos,
    tracked_heights_and_distances_m,
)

from haloid.lab.loads import halo_setting
from haloid.motions.own.balance import com_of_zmp
from haloid.robots.description import describe
from haloid.robots.inertia import perturb, read_links, write_links
from haloid.skills.controller import tables as tables_module
from haloid.skills.controller.contacts import SoleContacts, sole_contacts
from haloid.skills.controller.inverse_dynamics import without_contacts
from haloid.skills.controller.rebalance import (
    GOAL,
    LEAST,
    Margin,
    Support,
    ZeroMomentPoints,
    rebalanced,
    support_of,
    zero_moment_points,
)
from haloid.skills.controller.tables import controller_tables
from haloid.trajectories.mujoco_states import ModelStates, states_of

G1 = describe("g1")

KICK = ("side-kick", 0, 270)


@cache
def loaded_robot() -> mujoco.MjModel:
    """HALO's Perturbation Setting 1."""
    model = mujoco.MjModel.__copy__(robot_on_floor())
    links = read_links(model)
    write_links(
        model, {load.link: perturb(links[load.link], load.mass_kg, load.com_offset_m) for load in halo_setting(1)}
    )
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return model


@cache
def kick() -> tuple[ModelStates, SoleContacts, ModelStates]:
    """A side kick for the loaded robot: as it is, its contacts, and rebalanced."""
    model = loaded_robot()
    reference = states_of(model, clip(*KICK).trajectory)
    contacts = sole_contacts(model, reference)
    return reference, contacts, rebalanced(model, G1, reference, contacts)


def outside_m(model: mujoco.MjModel, reference: ModelStates, contacts: SoleContacts, margin: Margin) -> float:
    """How far the zero-moment point is outside the drawn-in soles, at most."""
    points = zero_moment_points(without_contacts(model), reference)
    return np.linalg.norm(support_of(model, reference, contacts, margin).missing_m(points), axis=1).max()


def test_at_rest_the_zero_moment_point_is_below_the_centre_of_mass():
    model = robot_on_floor()
    qpos = np.tile(standing_qpos(model), (5, 1))
    points = zero_moment_points(without_contacts(model), ModelStates(0.02, qpos, np.zeros((5, model.nv))))
    data = mujoco.MjData(model)
    data.qpos[:] = qpos[0]
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(points.pos_w_m, np.tile(data.subtree_com[1, :2], (5, 1)), atol=1e-9)
    np.testing.assert_allclose(points.load, 1.0)
    np.testing.assert_allclose(points.height_s2, data.subtree_com[1, 2] / 9.81)


def test_a_rigid_robot_that_is_pushed_forward_presses_behind_its_centre_of_mass():
    """p = c − (c_z / g) a, of a robot whose whole body moves with acceleration a."""
    model, acceleration = robot_on_floor(), 0.7
    times_s = 0.02 * np.arange(9)
    qpos, qvel = np.tile(standing_qpos(model), (9, 1)), np.zeros((9, model.nv))
    resting = zero_moment_points(without_contacts(model), ModelStates(0.02, qpos, qvel))
    qpos[:, 0] += acceleration * times_s**2 / 2
    qvel[:, 0] = acceleration * times_s
    moving = zero_moment_points(without_contacts(model), ModelStates(0.02, qpos, qvel))
    expected_m = qpos[4, 0] - qpos[0, 0] - resting.height_s2[4] * acceleration
    np.testing.assert_allclose((moving.pos_w_m - resting.pos_w_m)[4], [expected_m, 0.0], atol=1e-9)


@pytest.mark.parametrize(
    ("point", "rests", "missing"),
    [
        ((0.5, 0.5), (1, 1, 1, 1), (0.0, 0.0)),
        ((0.9, 0.3), (1, 1, 1, 1), (0.0, 0.0)),
        ((1.5, 0.5), (1, 1, 1, 1), (-0.5, 0.0)),
        ((2.0, 3.0), (1, 1, 1, 1), (-1.0, -2.0)),
        ((1.0, 1.0), (1, 1, 1, 0), (-0.5, -0.5)),
        ((0.5, 0.5), (1, 1, 0, 0), (0.0, -0.5)),
        ((0.5, 0.5), (1, 0, 0, 0), (-0.5, -0.5)),
        ((0.5, 0.5), (0, 0, 0, 0), (0.0, 0.0)),
    ],
)
def test_what_is_missing_is_the_way_to_the_nearest_point_of_the_support(point, rests, missing):
    square = np.array([[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]])
    points = ZeroMomentPoints(np.array([point]), np.ones(1), np.ones(1), np.zeros(1))
    np.testing.assert_allclose(Support(square, np.array([rests], bool)).missing_m(points)[0], missing, atol=1e-12)


def test_a_robot_that_barely_touches_the_ground_misses_nothing():
    square = np.array([[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]])
    points = ZeroMomentPoints(np.array([[5.0, 5.0]]), np.ones(1), np.array([0.2]), np.zeros(1))
    assert not Support(square, np.ones((1, 4), bool)).missing_m(points).any()


def test_the_drawn_in_soles_are_the_margin_inside_the_soles():
    model = robot_on_floor()
    reference = states_of(model, clip("stand", 0, 20).trajectory)
    contacts = sole_contacts(model, reference)
    support = support_of(model, reference, contacts, LEAST)
    data = mujoco.MjData(model)
    data.qpos[:] = reference.qpos[10]
    mujoco.mj_kinematics(model, data)
    soles = data.geom_xpos[contacts.geom_ids, :2]
    left = model.geom_bodyid[contacts.geom_ids] == model.body("left_ankle_roll_link").id
    length_m = np.ptp(soles[left, 0]) - np.ptp(support.pos_w_m[10, left, 0])
    assert abs(length_m - 2 * LEAST.inward_m) < 2e-3
    assert np.ptp(support.pos_w_m[10, left, 1]) > 0.005


def test_the_offset_solves_the_cart_on_the_table():
    generator = np.random.default_rng(0)
    missing_m, height_s2, flies = (
        generator.normal(0, 0.01, (60, 2)),
        generator.uniform(0.05, 0.09, 60),
        np.zeros(60, bool),
    )
    flies[20:30] = True
    offset_m = com_of_zmp(missing_m, height_s2, flies, 0.02)
    acceleration = (offset_m[2:] - 2 * offset_m[1:-1] + offset_m[:-2]) / 0.02**2
    point_m = offset_m[1:-1] - height_s2[1:-1, None] * acceleration
    np.testing.assert_allclose(point_m[~flies[1:-1]], missing_m[1:-1][~flies[1:-1]], atol=1e-12)
    np.testing.assert_allclose(acceleration[flies[1:-1]], 0.0, atol=1e-9)
    np.testing.assert_allclose(offset_m[[0, -1]], missing_m[[0, -1]])


@pytest.mark.parametrize("name", ["squat", "side-kick", "walk"])
def test_a_motion_that_is_balanced_already_stays_the_very_same(name):
    model = robot_on_floor()
    reference = states_of(model, clip(name, 0, 400).trajectory)
    assert rebalanced(model, G1, reference, sole_contacts(model, reference)) is reference


def test_a_loaded_kick_moves_back_over_its_foot_by_centimetres():
    model = loaded_robot()
    reference, contacts, balanced = kick()
    assert outside_m(model, reference, contacts, Margin(0.0, 0.0)) > 0.02
    assert outside_m(model, balanced, contacts, GOAL) < 0.002
    shift_m = np.abs(balanced.qpos - reference.qpos)[:, :2].max()
    assert 0.01 < shift_m < 0.05


def test_a_robot_with_a_clamped_foot_needs_no_balance():
    reference, contacts, _ = kick()
    clamped = dataclasses.replace(contacts, held=contacts.resting[150])
    assert rebalanced(loaded_robot(), G1, reference, clamped) is reference


def test_all_but_the_legs_stays_and_the_resting_foot_does_not_move():
    model = loaded_robot()
    reference, contacts, balanced = kick()
    joints = [model.joint(row).name for row in range(1, model.njnt)]
    legs = np.array([any(part in name for part in ("hip", "knee", "ankle")) for name in joints])
    assert np.array_equal(balanced.qpos[:, 2:7], reference.qpos[:, 2:7])
    assert np.array_equal(balanced.qpos[:, 7:][:, ~legs], reference.qpos[:, 7:][:, ~legs])
    data = mujoco.MjData(model)
    for frame in range(0, len(reference), 9):
        places = []
        for states in (reference, balanced):
            data.qpos[:] = states.qpos[frame]
            mujoco.mj_kinematics(model, data)
            places.append(data.geom_xpos[contacts.geom_ids])
        np.testing.assert_allclose(*(place[contacts.resting[frame]] for place in places), atol=2e-6)
        assert np.linalg.norm(places[1] - places[0], axis=1).max() < 0.05


def test_velocities_are_the_derivatives_of_the_frames():
    _, _, balanced = kick()
    np.testing.assert_allclose(
        balanced.qvel[1:-1, 6:], (balanced.qpos[2:, 7:] - balanced.qpos[:-2, 7:]) / 0.04, atol=1e-9
    )


def test_where_a_leg_cannot_reach_the_pelvis_moves_less_and_the_feet_stay():
    """A stance leg at full length: sideways it would have to be longer."""
    model = loaded_robot()
    reference, contacts, _ = kick()
    raised = ModelStates(reference.step_s, reference.qpos.copy(), reference.qvel)
    shortened = mujoco.MjModel.__copy__(model)
    knee = shortened.joint("left_knee_joint")
    knee.range[:] = raised.qpos[:, knee.qposadr[0]].min(), raised.qpos[:, knee.qposadr[0]].max()
    balanced = rebalanced(shortened, G1, raised, contacts)
    data = mujoco.MjData(model)
    for frame in range(0, len(raised), 9):
        feet = []
        for states in (raised, balanced):
            data.qpos[:] = states.qpos[frame]
            mujoco.mj_kinematics(model, data)
            feet.append(data.body("left_ankle_roll_link").xpos.copy())
        np.testing.assert_allclose(feet[1], feet[0], atol=1e-5)
    jumps_m = np.abs(np.diff((balanced.qpos - raised.qpos)[:, :2], n=2, axis=0)).max()
    assert jumps_m < 1e-3


@pytest.mark.slow
def test_a_loaded_robot_kicks_only_when_rebalanced(monkeypatch):
    model, motion = loaded_robot(), clip(*KICK)
    _, distances = tracked_heights_and_distances_m(model, motion, controller_tables(model, G1, motion), noise=0.0)
    assert distances.max() < 0.1
    monkeypatch.setattr(tables_module, "rebalanced", lambda _model, _robot, reference, _contacts: reference)
    _, distances = tracked_heights_and_distances_m(model, motion, controller_tables(model, G1, motion), noise=0.0)
    assert distances.max() > 0.2
