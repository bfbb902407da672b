"""ASAP's SysID baseline (appendix B): a grid over the base's centre of mass and mass and over servo gains.

In: real data, the nominal robot. Out: the `Parameters` of the grid with which replays end nearest to the recording:
c_x, c_y, c_z of −2, 0, 2 cm and a mass ratio of 0.95, 1, 1.05 all together, then kp and kd ratios of 0.95, 1, 1.05 for
every joint (not all 3⁵⁸ combinations: each joint takes the pair with which its own angle is nearest).
"""

from __future__ import annotations

from itertools import product

import numpy as np

from haloid.gap.replays.data import RealData
from haloid.gap.sysid.parameters import Parameters, no_change
from haloid.gap.sysid.rollouts import answers, errors_mm
from haloid.skills.task.reference import CONTROL_HZ
from haloid.skills.task.robot import TrackedRobot

COM_M = (-0.02, 0.0, 0.02)
RATIOS = (0.95, 1.0, 1.05)
LENGTH_S = 0.5
BLOCK = 9
"""Variants replayed at the same time."""


def grid_search(
    robot: TrackedRobot, data: RealData, *, windows: int = 48, seed: int = 0, threads: int = 0
) -> Parameters:
    steps = round(LENGTH_S * CONTROL_HZ)
    firsts = data.windows(steps, stride=steps // 4)
    firsts = np.random.default_rng(seed).choice(firsts, min(windows, len(firsts)), replace=False)
    start = no_change(robot)
    mass_kg = float(robot.model.body(robot.description.anchor).mass[0])
    bases = []
    for *com_m, ratio in product(COM_M, COM_M, COM_M, RATIOS):
        masses = np.zeros_like(start.masses_kg)
        masses[0] = (ratio - 1.0) * mass_kg
        bases.append(Parameters(start.own, masses, np.array(com_m)))
    errors = [
        errors_mm(robot, bases[row : row + BLOCK], data, firsts, steps, threads) for row in range(0, len(bases), BLOCK)
    ]
    base = bases[int(np.argmin(np.concatenate(errors)))]
    gains = []
    for kp, kd in product(np.log(RATIOS), np.log(RATIOS)):
        own = np.zeros_like(base.own)
        own[:, 0], own[:, 1] = kp, kd
        gains.append(Parameters(own, base.masses_kg, base.com_m))
    off, more = answers(robot, [base, *gains], np.ones(len(gains)), data, firsts, steps, threads)
    by_joint = ((off[:, None] + more) ** 2).mean(axis=(0, 2))
    best = by_joint.argmin(axis=0)
    own = np.stack([gains[choice].own[joint] for joint, choice in enumerate(best)])
    return Parameters(own, base.masses_kg, base.com_m)
