"""Skills, a look at the policy while it learns: without exploration, from the start of every motion to its end.

In: the task and a function from observations to network outputs. Out: how many robots get through, how long they last
and how near they stay. Rewards in training do not tell: episodes start anywhere, more often where the policy fails, and
the difficulty changes. The best policy is chosen by trials, the untrained one among them, so that learning cannot do
harm.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

from haloid.skills.evaluation.metrics import FAILURE_M
from haloid.skills.policies.actions import Actions
from haloid.skills.task.difficulty import Difficulty
from haloid.skills.task.environment import EnvironmentConfig, TrackingEnvironment
from haloid.skills.task.reference import Reference
from haloid.skills.task.robot import TrackedRobot
from haloid.skills.task.simulation import Simulate, Simulation
from haloid.skills.training.vec_env import TrackingVecEnv
from haloid.trajectories.mujoco_states import ModelStates

ROBOTS, SEED = 48, 1_000_003
GENTLE = Difficulty(reset=0.1, push=0.0, randomisation=0.25)
"""For the choice of a controller, which knows nothing of pushes and of robots that differ a lot."""
MEASURED_TIMESTEP_S = 0.005


@dataclass(frozen=True)
class Trial:
    success: float
    """Part of the robots whose bodies were never 0.5 m from the reference on average."""
    survival: float
    """Part of the motion before that, mean over robots."""
    body_error_m: float
    """While they lasted."""

    @property
    def score(self) -> float:
        return self.success + self.survival - self.body_error_m


Outputs = Callable[[torch.Tensor], torch.Tensor]
"""From the actor's observations to the network's outputs."""


def trial(environment: TrackingEnvironment, difficulty: Difficulty, actions: Actions, outputs: Outputs) -> Trial:
    """Of robots like those of `environment`, which is not touched."""
    robot, reference, config = environment.robot, environment.reference, environment.config
    return try_out(
        robot, reference, config, environment.starts, difficulty, actions, outputs, simulate=environment.simulate
    )


def try_out(
    robot: TrackedRobot,
    reference: Reference,
    config: EnvironmentConfig,
    starts: ModelStates | None,
    difficulty: Difficulty,
    actions: Actions,
    outputs: Outputs,
    robots: int = ROBOTS,
    simulate: Simulate = Simulation,
) -> Trial:
    """The same robots, starts and noise every time, with the physics that policies are measured on."""
    model = copy.copy(robot.model)
    model.opt.timestep = MEASURED_TIMESTEP_S
    robot, config = replace(robot, model=model), replace(config, robots=robots, seed=SEED, restart=False)
    world = TrackingEnvironment(robot, reference, config, starts, simulate=simulate)
    world.difficulty = difficulty
    first = np.resize(reference.first, robots)
    steps = reference.last[reference.motion_of_frame[first]] - first
    world.reset(np.arange(robots), first)
    vec_env = TrackingVecEnv(world, actions)
    alive, lasted, error = np.ones(robots, dtype=bool), np.zeros(robots), np.zeros(robots)
    with torch.inference_mode():
        for step in range(int(steps.max())):
            vec_env.step(outputs(vec_env.get_observations()["actor"]))
            assert vec_env.last is not None
            distance = vec_env.last.body_error_m
            running = step < steps
            alive &= ~running | (distance <= FAILURE_M)
            counts = alive & running
            lasted += counts
            error += np.where(counts, distance, 0.0)
            if not (alive & running).any():
                break
    return Trial(
        success=float(alive.mean()),
        survival=float((lasted / steps).mean()),
        body_error_m=float(error.sum() / max(lasted.sum(), 1.0)),
    )
