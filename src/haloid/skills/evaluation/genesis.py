"""Skills, the same robots in another simulator: Genesis moves them, everything else stays as it is in MuJoCo.

In: a `TrackedRobot`. Out: a `Simulation` whose steps are Genesis's, for an environment of any kind. What the robots'
sensors show is computed from their states by MuJoCo's kinematics, so that observations, disturbances, pushes and
metrics are the same code, and with the same seed the same starts.
"""

from contextlib import ExitStack
from typing import Self

import numpy as np

from haloid.errors import HaloidError
from haloid.lab.genesis.process import GenesisPlayer, World, genesis_python
from haloid.robots.files.write_mjcf import mjcf_text
from haloid.skills.task.robot import TrackedRobot
from haloid.skills.task.simulation import Simulation


def check_genesis(randomisation: str) -> None:
    """Raises before anything is computed if Genesis cannot evaluate this, or is not installed."""
    if randomisation != "none":
        raise HaloidError(
            "Genesis moves robots that are all the model; leave out the randomisation, or evaluate in MuJoCo"
        )
    genesis_python()


class Genesis:
    """A `Simulate` (task/simulation.py): the processes it starts end with the `with` block."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self.name = "genesis"
        """With version and step once something has been simulated."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def __call__(self, robot: TrackedRobot, robots: int, threads: int) -> Simulation:
        world = World(
            mjcf=mjcf_text(robot.spec),
            joint_names=robot.joint_names,
            kp=robot.kp,
            kd=robot.kd,
            effort_nm=robot.effort_nm,
            timestep_s=float(robot.model.opt.timestep),
            robots=robots,
            floor=True,
        )
        player = self._open.enter_context(GenesisPlayer(world))
        self.name = player.simulator
        return GenesisSimulation(robot, robots, threads, player)


class GenesisSimulation(Simulation):
    """All robots are the robot's model: what is randomised in the batch does not reach Genesis."""

    def __init__(self, robot: TrackedRobot, robots: int, threads: int, player: GenesisPlayer) -> None:
        super().__init__(robot, robots, threads)
        self._player, self.name = player, player.simulator
        self._left: tuple[np.ndarray, np.ndarray] | None = None
        """States in which Genesis left the robots."""

    def _advance(self, steps: int) -> np.ndarray:
        here = np.array(self.qpos), np.array(self.qvel)
        moved = self._left is None or any((a != b).any() for a, b in zip(here, self._left, strict=True))
        put = here if moved else None
        if self._servos is None:
            here = self._player.step(np.array(self.ctrl), steps, put)
        else:
            for _ in range(steps):
                self.ctrl[:] = self._servos(self.held_rad, *here)
                here, put = self._player.step(np.array(self.ctrl), 1, put), None
        self._left = here
        self.qpos[:], self.qvel[:] = here
        return np.zeros(self._robots, dtype=bool)
