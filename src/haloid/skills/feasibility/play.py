"""Feasibility, an oracle independent of the check: the model-based controller plays a motion in MuJoCo.

In: a robot and a motion. Out: the part of the motion that the controller gets through on this very robot, from the
first frame, without noise, pushes or delay, with the contacts, torque limits and soles of the simulation.
"""

import numpy as np
import torch

from haloid.skills.controller.design import DESIGNS
from haloid.skills.controller.tables import ControllerTables, controller_tables
from haloid.skills.evaluation.metrics import FAILURE_M
from haloid.skills.policies.actions import ControllerActions, controller_action_tables
from haloid.skills.task.difficulty import Difficulty
from haloid.skills.task.environment import EnvironmentConfig, TrackingEnvironment
from haloid.skills.task.randomisation import RANDOMISATIONS
from haloid.skills.task.reference import reference_of
from haloid.skills.task.robot import TrackedRobot
from haloid.skills.training.vec_env import TrackingVecEnv
from haloid.trajectories.motion import Motion


def part_played(robot: TrackedRobot, motion: Motion) -> float:
    """From 0 to 1, of the best of the controllers that training tries; the first that gets through ends the search."""
    best = 0.0
    for design in DESIGNS:
        tables = controller_tables(robot.model, robot.description, motion, design.weights, design.assumed)
        best = max(best, _part_played(robot, motion, tables))
        if best == 1.0:
            break
    return best


def _part_played(robot: TrackedRobot, motion: Motion, tables: ControllerTables) -> float:
    reference = reference_of(robot, [motion], ["motion"])
    rows = controller_action_tables(robot, reference, tables.target_rad, tables.gain, tables.last_target_rad)
    actions = ControllerActions(rows, len(robot.joint_names), state_estimation=False)
    config = EnvironmentConfig(robots=1, threads=1, randomisation=RANDOMISATIONS["none"], restart=False)
    world = TrackingEnvironment(robot, reference, config, tables.reference)
    world.difficulty = Difficulty(reset=0.0, push=0.0, noise=0.0, randomisation=0.0)
    world.reset(np.arange(1), np.zeros(1, int))
    player, steps = TrackingVecEnv(world, actions), len(motion) - 1
    silent = torch.zeros(1, actions.outputs)
    with torch.inference_mode():
        for step in range(steps):
            player.get_observations()
            player.step(silent)
            assert player.last is not None
            if player.last.body_error_m[0] > FAILURE_M:
                return step / steps
    return 1.0
