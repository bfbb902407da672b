"""A real robot whose gap is known: the simulator, its targets changed by a delta action with given coefficients."""

import numpy as np
import torch

from haloid.gap.delta.action import DeltaAction
from haloid.gap.delta.networks import JointTerms, joint_terms
from haloid.gap.replays.data import RealData
from haloid.gap.replays.simulator import Simulator, States
from haloid.skills.task.robot import TrackedRobot

CLIPS, ROWS = 24, 26


def known_network(robot: TrackedRobot, seed: int = 0) -> JointTerms:
    """Softer servos that rub and are told late, each joint in its own measure."""
    network, random = joint_terms(robot), np.random.default_rng(seed)
    with torch.no_grad():
        for term, size in ((1, 0.1), (2, 0.2), (5, 0.1)):
            network.coefficients[:, term] = torch.from_numpy(-size * random.uniform(0.5, 1.5, len(robot.joint_names)))
    return network


def recorded_with(network: JointTerms, robot: TrackedRobot, seed: int = 1) -> RealData:
    """Clips of the robot hanging in the air under wandering targets: no contact, so the truth can be recovered."""
    random, joints = np.random.default_rng(seed), len(robot.joint_names)
    qpos = np.zeros((CLIPS, robot.model.nq))
    qpos[:, 2], qpos[:, 3] = 3.0, 1.0
    qpos[:, 7:] = robot.default_joint_pos_rad + random.uniform(-0.1, 0.1, (CLIPS, joints))
    states = States(qpos, np.zeros((CLIPS, robot.model.nv)), qpos[:, 7:].copy())
    simulator, action = Simulator(robot, CLIPS, threads=1), DeltaAction(network, robot.default_joint_pos_rad)
    simulator.put(states)
    target_rad, rows = states.held_rad.copy(), []
    for _ in range(ROWS):
        target_rad = target_rad + random.normal(0, 0.05, target_rad.shape)
        rows.append((states.qpos, states.qvel, target_rad, states.held_rad))
        states = States(*simulator.step(action.targets(states, target_rad)), target_rad)
    columns = [np.stack([row[part] for row in rows], axis=1).reshape(CLIPS * ROWS, -1) for part in range(4)]
    return RealData(
        *columns,
        episode=np.repeat(np.arange(CLIPS), ROWS),
        source=np.zeros(CLIPS * ROWS, dtype=int),
        sources=("hanging",),
        fallen=np.zeros(CLIPS * ROWS, dtype=bool),
    )
