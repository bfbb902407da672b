"""Delta, other simulators to train a policy in: with other parameters (SysID), or with states that a residual moves.

In: `Parameters` (sysid/parameters.py), or a delta dynamics model. Out: a `Simulate` (skills/task/simulation.py) for
trainings and their trials, as ASAP's Table IV has them beside the delta action model.
"""

from __future__ import annotations

import numpy as np

from haloid.gap.delta.residual import DeltaDynamics
from haloid.gap.replays.simulator import States
from haloid.gap.sysid.parameters import Parameters, with_parameters
from haloid.skills.task.robot import TrackedRobot
from haloid.skills.task.simulation import Simulate, Simulation
from haloid.skills.task.transforms import Command


def simulate_with(parameters: Parameters) -> Simulate:
    """Robots with these parameters; a task's randomisation comes on top of them."""
    return lambda robot, robots, threads: Simulation(with_parameters(robot, parameters), robots, threads)


def simulate_dynamics(dynamics: DeltaDynamics) -> Simulate:
    """After every control step the states are moved by the residual."""
    return lambda robot, robots, threads: _Moved(robot, robots, threads, dynamics)


class _Moved(Simulation):
    def __init__(self, robot: TrackedRobot, robots: int, threads: int, dynamics: DeltaDynamics) -> None:
        super().__init__(robot, robots, threads)
        self._dynamics = dynamics

    def drive(self, command: Command) -> np.ndarray:
        before = States(self.qpos.copy(), self.qvel.copy(), self.held_rad.copy())
        unusable = super().drive(command)
        reached = self._dynamics.reached(before, command[-1][0], self.qpos.copy(), self.qvel.copy())
        self.qpos[:], self.qvel[:] = reached.qpos, reached.qvel
        return unusable | self.diverged()
