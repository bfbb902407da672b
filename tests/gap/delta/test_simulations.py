"""Trainings move their robots in the simulator that a method made, their randomisation on top."""

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("mjbatch")
pytest.importorskip("rsl_rl")

import torch
from tests.gap.delta.known_gap import CLIPS, known_network, recorded_with
from tests.skills.small_training import short_stand

from haloid.gap.delta.residual import DeltaDynamics, StateResidual
from haloid.gap.delta.simulations import simulate_dynamics, simulate_with
from haloid.gap.replays.simulator import Simulator, States
from haloid.gap.sysid.parameters import Parameters, no_change
from haloid.skills.task.task import TaskConfig, build_task


def test_parameters_reach_the_robots_of_a_task_and_randomisation_comes_on_top(robot, tmp_path):
    start = no_change(robot)
    own, masses = start.own.copy(), start.masses_kg.copy()
    own[:, 0], masses[0] = np.log(0.8), 2.0
    config = TaskConfig((short_stand(tmp_path),), robots=3, threads=1, randomisation="nominal")
    simulate = simulate_with(Parameters(own, masses, np.array([0.01, 0.0, 0.0])))
    there, here = build_task(config, simulate=simulate).environment, build_task(config).environment
    torso = robot.model.body("torso_link").id
    more_kg = [world.simulation.batch.expand("body_mass")[:, torso] for world in (there, here)]
    assert np.ptp(more_kg[1]) > 0.01  # robots differ
    assert more_kg[0] - more_kg[1] == pytest.approx(2.0)
    assert there.simulation.robot.model.actuator_gainprm[:, 0] == pytest.approx(
        0.8 * robot.model.actuator_gainprm[:, 0]
    )


def test_a_residual_moves_states_as_in_replays(robot):
    data = recorded_with(known_network(robot), robot)
    torch.manual_seed(0)
    network = StateResidual(len(robot.joint_names), 2 * robot.model.nv, (8,)).eval()
    network.unit.fill_(0.01)
    dynamics, rows = DeltaDynamics(network, robot.default_joint_pos_rad), np.arange(CLIPS) * (len(data) // CLIPS)
    states, target_rad = States(data.qpos[rows], data.qvel[rows], data.held_rad[rows]), data.target_rad[rows]
    plain = Simulator(robot, CLIPS, threads=1).after(states, target_rad)
    wanted = dynamics.reached(states, target_rad, *plain)
    simulation = simulate_dynamics(dynamics)(robot, CLIPS, 1)
    simulation.put(np.arange(CLIPS), states.qpos, states.qvel)
    simulation.hold(np.arange(CLIPS), states.held_rad)
    assert not simulation.drive([(target_rad, 4)]).any()
    assert simulation.qpos == pytest.approx(wanted.qpos, abs=1e-9)
    assert simulation.qvel == pytest.approx(wanted.qvel, abs=1e-7)
    assert np.abs(wanted.qvel - plain[1]).max() > 1e-3
