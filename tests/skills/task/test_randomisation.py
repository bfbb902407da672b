"""Robots that differ: in what Table I says, by as much, and in nothing else."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

pytest.importorskip("mjbatch")

from tests.skills.one_robot import data_in, fields_of, model_of

from haloid.errors import HaloidError
from haloid.skills.task.environment import EnvironmentConfig, TrackingEnvironment
from haloid.skills.task.randomisation import RANDOMISATIONS, Randomisation
from haloid.skills.task.reference import reference_of

ROBOTS = 400


def environment_of(robot, motion, ranges: Randomisation, seed: int = 1) -> TrackingEnvironment:
    config = EnvironmentConfig(robots=ROBOTS, seed=seed, threads=1, randomisation=ranges)
    return TrackingEnvironment(robot, reference_of(robot, [motion]), config)


def assert_fills(drawn: np.ndarray, low: float, high: float) -> None:
    assert low - 1e-9 <= drawn.min() <= low + 0.05 * (high - low)
    assert high - 0.05 * (high - low) <= drawn.max() <= high + 1e-9


def test_wide_robots_fill_the_ranges_of_table_1(robot, motion):
    model, batch = robot.model, environment_of(robot, motion, RANDOMISATIONS["wide"]).simulation.batch
    torso, left, right = (model.body(n).id for n in ("torso_link", "left_wrist_yaw_link", "right_wrist_yaw_link"))
    mass, com, inertia = (batch.expand(name) for name in ("body_mass", "body_ipos", "body_inertia"))
    assert_fills(mass[:, torso] - model.body_mass[torso], 2.0, 8.0)
    for axis in range(3):
        assert_fills(com[:, torso, axis] - model.body_ipos[torso, axis], -0.08, 0.08)
    for hand in (left, right):
        assert_fills(mass[:, hand] - model.body_mass[hand], 1.0, 4.0)
        assert_fills(com[:, hand] - model.body_ipos[hand], -0.05, 0.05)
    assert abs(np.corrcoef(mass[:, left], mass[:, right])[0, 1]) < 0.2
    denser = (mass / np.maximum(model.body_mass, 1e-12))[:, :, None]
    np.testing.assert_allclose(inertia, denser * model.body_inertia, rtol=1e-12)
    others = np.setdiff1d(np.arange(1, model.nbody), [torso, left, right])
    assert (mass[:, others] == model.body_mass[others]).all()
    assert (com[:, others] == model.body_ipos[others]).all()


def test_the_friction_drawn_is_that_of_the_contacts_on_both_feet(robot, motion):
    """The floor has its own coefficient, and MuJoCo might have taken that."""
    environment = environment_of(robot, motion, RANDOMISATIONS["nominal"])
    drawn = []
    for row in range(0, ROBOTS, 10):
        model = model_of(robot.model, fields_of(environment, row))
        data = mujoco.MjData(model)
        data.qpos[2] = 0.74
        mujoco.mj_forward(model, data)
        assert data.ncon == 8
        drawn += [sorted({contact.friction[0] for contact in data.contact})]
    assert all(len(values) == 1 for values in drawn)
    drawn = np.array(drawn)
    assert 0.3 <= drawn.min() < 0.4 < 1.1 < drawn.max() <= 1.2


def test_encoders_lie_by_up_to_a_hundredth_and_targets_follow_them(robot, motion):
    environment = environment_of(robot, motion, RANDOMISATIONS["mjlab"])
    environment.difficulty = replace(environment.difficulty, noise=0.0)
    assert_fills(environment.encoder_bias, -0.01, 0.01)
    joints = environment.simulation.qpos.copy()[:, 7:]
    actor, critic = environment.observations()
    start = 58 + 6 + 3
    np.testing.assert_allclose(
        actor[:, start : start + 29], joints - robot.default_joint_pos_rad + environment.encoder_bias, atol=1e-6
    )
    np.testing.assert_allclose(critic[:, 286 - 87 : 286 - 58], joints - robot.default_joint_pos_rad, atol=1e-6)


def test_the_critic_sees_how_its_robot_differs_and_the_actor_does_not(robot, motion):
    environment = environment_of(
        robot, motion, replace(RANDOMISATIONS["wide"], kp_ratio=(0.9, 1.1), delay_s=(0.0, 0.02))
    )
    actor, critic = environment.observations()
    batch, model = environment.simulation.batch, robot.model
    links = [model.body(n).id for n in ("torso_link", "left_wrist_yaw_link", "right_wrist_yaw_link")]
    mass, com = batch.expand("body_mass"), batch.expand("body_ipos")
    seen = critic[:, 286:]
    assert seen.shape == (ROBOTS, 3 + 9 + 1 + 29 + 29 + 1)
    expected = (mass - model.body_mass)[:, links]
    np.testing.assert_allclose(seen[:, :3], expected, atol=1e-5)
    np.testing.assert_allclose(seen[:, 3:6], 100 * (com - model.body_ipos)[:, links[0]], atol=1e-4)
    np.testing.assert_allclose(seen[:, 13:42], 100 * environment.encoder_bias, atol=1e-5)
    np.testing.assert_allclose(seen[:, 42:71], 10 * (environment.kp_ratio - 1), atol=1e-5)
    np.testing.assert_allclose(seen[:, 71], 100 * environment.delay_s, atol=1e-5)
    assert np.ptp(seen[:, 12]) > 0.8, "friction"
    assert actor.shape == (ROBOTS, 154)


def test_robots_without_randomisation_are_the_model(robot, motion):
    environment = environment_of(robot, motion, RANDOMISATIONS["none"])
    for name, values in fields_of(environment, 7).items():
        np.testing.assert_array_equal(values, getattr(robot.model, name))
    assert not environment.encoder_bias.any()


def test_a_seed_repeats_its_robots_and_another_does_not(robot, motion):
    first, again, other = (environment_of(robot, motion, RANDOMISATIONS["nominal"], seed) for seed in (5, 5, 6))
    for name, values in fields_of(first, 3).items():
        np.testing.assert_array_equal(values, fields_of(again, 3)[name])
        assert not np.array_equal(values, fields_of(other, 3)[name])


def test_a_drawn_body_falls_as_its_own_model_does(robot, motion):
    """What follows from masses (composite inertia, M₀) is made anew: the batch's accelerations are the model's."""
    environment = environment_of(robot, motion, RANDOMISATIONS["wide"])
    environment.difficulty = replace(environment.difficulty, push=0.0, termination=1e9)
    before = environment.state()["physics"]
    environment.step(np.zeros((ROBOTS, 29)))
    model = model_of(robot.model, fields_of(environment, 11))
    for name in ("dof_M0", "body_subtreemass", "dof_invweight0", "body_invweight0"):
        np.testing.assert_allclose(environment.simulation.batch.expand(name)[11], getattr(model, name), rtol=1e-12)
        assert not np.allclose(getattr(model, name), getattr(robot.model, name), rtol=1e-3)
    right, wrong = data_in(model, before[11]), data_in(robot.model, before[11])
    for simulation, data in ((model, right), (robot.model, wrong)):
        data.ctrl[:] = robot.default_joint_pos_rad.astype(np.float32) - environment.encoder_bias[11]
        mujoco.mj_step(simulation, data, nstep=4)
    np.testing.assert_allclose(environment.simulation.qpos.copy()[11], right.qpos, atol=1e-9)
    assert np.abs(right.qpos - wrong.qpos).max() > 1e-3


def test_light_links_keep_a_part_of_their_mass_and_massless_ones_are_refused(robot, motion):
    hand = robot.model.body("left_wrist_yaw_link").id
    ranges = Randomisation(hands_mass_kg=(-5.0, -5.0))
    mass = environment_of(robot, motion, ranges).simulation.batch.expand("body_mass")
    np.testing.assert_allclose(mass[:, hand], 0.2 * robot.model.body_mass[hand])

    massless = replace(robot, model=model_of(robot.model, {}))
    massless.model.body_mass[hand] = 0.0
    with pytest.raises(HaloidError, match="a link without mass cannot be randomised"):
        environment_of(massless, motion, RANDOMISATIONS["wide"])
