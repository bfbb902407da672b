"""Gains on what is observed, against a simulated crowd of robots that obey the linear model."""

import numpy as np
import pytest
from tests.skills.controller.robots import robot_on_floor, standing_qpos

from haloid.skills.controller.contacts import sole_contacts
from haloid.skills.controller.estimate import Noise, observed_gains, tipping
from haloid.skills.controller.inverse_dynamics import reference_forces
from haloid.skills.controller.linear_feedback import FeedbackWeights, feedback_gains
from haloid.skills.controller.linear_model import linear_model
from haloid.skills.controller.tables import feedforward_targets, observation_matrices
from haloid.trajectories.mujoco_states import ModelStates

FRAMES, ROBOTS, STEPS = 60, 4000, 150


@pytest.fixture(scope="module")
def standing():
    """The parts of the controller of a robot that stands still, and its gains on observations."""
    model = robot_on_floor()
    reference = ModelStates(0.02, np.tile(standing_qpos(model), (FRAMES, 1)), np.zeros((FRAMES, model.nv)))
    contacts = sole_contacts(model, reference)
    forces = reference_forces(model, reference, contacts)
    noise = Noise()
    target_rad = feedforward_targets(model, reference, forces)
    linear = linear_model(model, "torso_link", reference, contacts, forces, target_rad, noise.tip_return)
    full = feedback_gains(model, "torso_link", reference, contacts, forces, linear, FeedbackWeights())
    observed, _ = observation_matrices(model, "torso_link", reference)
    gains = observed_gains(model, reference, contacts, linear, full, observed, noise)
    return linear, full[-1], observed[-1], gains[-1], noise, tipping(model, reference, contacts)[-1]


def crowd(standing, gain):
    """What is wanted, what is observed and the errors of the state after three seconds of noise and pushes; each robot
    has a moment on its torso that stays."""
    linear, full, c, _, noise, tips = standing
    random, n, nv = np.random.default_rng(0), 29, 35
    sensors = np.repeat([noise.torso_rad, noise.gyro_rad_s, noise.joint_rad, noise.joint_vel_rad_s], [3, 3, n, n])
    places = (noise.push_m, noise.push_rad, noise.push_joint_rad)
    pushes = np.repeat((*places, noise.push_m_s, noise.push_rad_s, noise.push_joint_rad_s), [3, 3, n, 3, 3, n])
    free = linear.free_part[-1]
    first, rest = linear.over(FRAMES - 1, 1), linear.over(FRAMES - 1, linear.physics_steps - 1)
    state, last = np.zeros((ROBOTS, 2 * nv)), np.zeros((ROBOTS, n))
    draw = lambda size: random.normal(size=(ROBOTS, len(size))) * size  # noqa: E731
    offset = draw(np.full(2, noise.offset_nm))
    for _ in range(STEPS):
        seen = np.hstack([state @ c.T + draw(sensors), last])
        when_it_acts = state @ first[0].T + np.hstack([last, offset]) @ first[1].T
        wanted = np.hstack([when_it_acts, offset]) @ full.T
        before, error = state, -seen @ gain.T + draw(np.full(n, noise.target_rad))
        pushed = draw(pushes)
        state = state + np.hstack([pushed[:, :nv] @ free.T, pushed[:, nv:] @ free.T])
        when_it_acts = state @ first[0].T + np.hstack([last, offset]) @ first[1].T
        state = when_it_acts @ rest[0].T + np.hstack([error, offset]) @ rest[1].T
        state += draw(np.full(2, noise.tip_rad)) @ tips.T
        last = error
    return wanted, seen, before


def test_no_other_gain_guesses_better_what_the_full_state_would_ask_for(standing):
    gain = standing[3]
    wanted, seen, _ = crowd(standing, gain)
    best = np.linalg.lstsq(seen, wanted, rcond=None)[0].T
    missed, least = wanted - seen @ gain.T, wanted - seen @ best.T
    assert (missed**2).mean() < 1.05 * (least**2).mean()  # of 4,000 robots and 93 observations, 1.023 is expected


def test_the_last_target_is_a_memory(standing):
    """Without it the robot sways more: its gains are those of the best guess from sensors alone."""
    gain = standing[3]
    wanted, seen, swaying = crowd(standing, gain)
    without = np.linalg.lstsq(seen[:, :64], wanted, rcond=None)[0].T
    assert ((wanted - seen @ gain.T) ** 2).mean() < 0.95 * ((wanted - seen[:, :64] @ without.T) ** 2).mean()
    *_, more = crowd(standing, np.hstack([without, np.zeros((29, 29))]))
    assert (swaying[:, :3] ** 2).mean() < (more[:, :3] ** 2).mean()
