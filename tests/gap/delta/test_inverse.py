"""Delta action used without more training: the robot with a known gap does what the simulator without it does."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("mjbatch")

import torch
from tests.gap.delta.known_gap import CLIPS, known_network, recorded_with

from haloid.gap.delta.action import DeltaAction
from haloid.gap.delta.inverse import MOST_RAD, Compensation, fixed_point, gradient_search
from haloid.gap.delta.networks import joint_terms
from haloid.gap.replays.simulator import Simulator, States
from haloid.skills.task.robot import tracked_robot
from haloid.skills.task.transforms import Now


@pytest.mark.parametrize(("solve", "off_rad"), [(fixed_point, 1e-6), (gradient_search, 1e-3)])
def test_a_compensated_robot_does_what_the_simulator_would(solve, off_rad):
    robot = tracked_robot()
    network = known_network(robot)
    data, action = recorded_with(network, robot), DeltaAction(network, robot.default_joint_pos_rad)
    rows = np.arange(5, len(data), len(data) // CLIPS)
    states, wanted_rad = States(data.qpos[rows], data.qvel[rows], data.held_rad[rows]), data.target_rad[rows]
    now = Now(states.qpos, states.qvel, states.held_rad, np.full(len(rows), 5), 0.005, np.random.default_rng(0))
    ((sent_rad, steps),) = Compensation(action, solve)([(wanted_rad, 4)], now)
    assert steps == 4
    assert np.abs(sent_rad - wanted_rad).max() > 0.02  # there is something to make up for
    assert action.targets(states, sent_rad) == pytest.approx(wanted_rad, abs=off_rad)  # Eq. 1
    simulator = Simulator(robot, len(rows), threads=1)
    simulated, _ = simulator.after(states, wanted_rad)
    real, _ = simulator.after(states, action.targets(states, sent_rad))
    plain, _ = simulator.after(states, action.targets(states, wanted_rad))
    assert np.abs(real - simulated).max() < 0.1 * np.abs(plain - simulated).max()


def test_an_iteration_that_diverges_does_not_reach_the_servos():
    robot = tracked_robot()
    network = joint_terms(robot)
    with torch.no_grad():
        network.coefficients[:, 7] = 50.0  # Δ grows with the square of the servo's error
    qpos = np.zeros((2, robot.model.nq))
    qpos[:, 3] = 1.0
    qpos[:, 7:] = robot.default_joint_pos_rad
    now = Now(qpos, np.zeros((2, robot.model.nv)), qpos[:, 7:], np.ones(2, dtype=int), 0.005, np.random.default_rng(0))
    action, wanted_rad = DeltaAction(network, robot.default_joint_pos_rad), qpos[:, 7:] + 0.3
    with np.errstate(over="ignore", invalid="ignore"):
        assert not np.isfinite(fixed_point(action, States(now.qpos, now.qvel, now.held_rad), wanted_rad)).all()
        ((sent_rad, _),) = Compensation(action, fixed_point)([(wanted_rad, 4)], now)
    assert np.abs(sent_rad - wanted_rad).max() <= MOST_RAD + 1e-12
