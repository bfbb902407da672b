"""Replays, the simulator: f(s, a) for many states at once, and replays of recorded targets from recorded states.

In: a robot, states, targets. Out: the states one control step later; or, for windows of real data, what the simulator
does with the same targets. A correction may change the targets on their way (delta action) or the state that is
reached (delta dynamics).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from haloid.gap.replays.data import RealData
from haloid.skills.task.environment import STEP_S
from haloid.skills.task.reference import Poses
from haloid.skills.task.robot import TrackedRobot
from haloid.skills.task.simulation import Simulation

Fields = dict[str, np.ndarray]
"""Values of a MuJoCo model's fields, one row for each simulation: robots that differ."""


@dataclass(frozen=True)
class States:
    """Robots when a control step begins."""

    qpos: np.ndarray
    """(N, nq)"""
    qvel: np.ndarray
    """(N, nv)"""
    held_rad: np.ndarray
    """(N, n) the targets that the servos hold."""

    def __len__(self) -> int:
        return len(self.qpos)

    def at(self, rows: np.ndarray) -> States:
        return States(self.qpos[rows], self.qvel[rows], self.held_rad[rows])


class Correction(Protocol):
    def targets(self, states: States, target_rad: np.ndarray) -> np.ndarray:
        """(N, n) what the servos are told instead of `target_rad`."""
        ...

    def reached(self, states: States, target_rad: np.ndarray, qpos: np.ndarray, qvel: np.ndarray) -> States:
        """The state after the step instead of the simulator's (`qpos`, `qvel`)."""
        ...


class NoCorrection:
    def targets(self, states: States, target_rad: np.ndarray) -> np.ndarray:
        return target_rad

    def reached(self, states: States, target_rad: np.ndarray, qpos: np.ndarray, qvel: np.ndarray) -> States:
        return States(qpos, qvel, target_rad)


class Simulator:
    """`number` robots that are put anywhere and stepped together; `fields` may give each its own parameters."""

    def __init__(self, robot: TrackedRobot, number: int, threads: int = 0, fields: Fields | None = None) -> None:
        self.robot, self.number = robot, number
        self._simulation = Simulation(robot, number, threads)
        self._substeps = round(STEP_S / robot.model.opt.timestep)
        self._everyone = np.arange(number)
        if fields:
            with self._simulation.batch.model_update(*fields):
                for name, values in fields.items():
                    self._simulation.batch.expand(name)[:] = values

    def put(self, states: States, robots: np.ndarray | None = None) -> None:
        """All robots, or these alone, into states."""
        robots = self._everyone if robots is None else robots
        self._simulation.put(robots, states.qpos, states.qvel)
        self._simulation.hold(robots, states.held_rad)

    def step(self, target_rad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """qpos and qvel after a control step; a simulation that diverged is not finite, or was refused and stands."""
        self._simulation.drive([(target_rad, self._substeps)])
        return self._simulation.qpos.copy(), self._simulation.qvel.copy()

    def poses(self) -> Poses:
        self._simulation.sense()
        return self._simulation.poses().at(self._everyone)

    def after(self, states: States, target_rad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """f(s, a) for any number of states, in batches."""
        qpos, qvel = np.empty_like(states.qpos), np.empty_like(states.qvel)
        for start in range(0, len(states), self.number):
            rows = np.arange(start, min(start + self.number, len(states)))
            padded = np.resize(rows, self.number)
            self.put(states.at(padded))
            reached = self.step(target_rad[padded])
            qpos[rows], qvel[rows] = reached[0][: len(rows)], reached[1][: len(rows)]
        return qpos, qvel


@dataclass(frozen=True)
class Replay:
    """Windows as the simulator plays them: (steps + 1, W, …), row 0 the recorded start."""

    qpos: np.ndarray
    qvel: np.ndarray
    poses: list[Poses]


def replay(
    simulator: Simulator, data: RealData, firsts: np.ndarray, steps: int, correction: Correction | None = None
) -> Replay:
    """The recorded targets of windows that begin in rows `firsts`, from the recorded states, as many as `simulator`
    has robots."""
    correction = correction or NoCorrection()
    states = States(data.qpos[firsts], data.qvel[firsts], data.held_rad[firsts])
    simulator.put(states)
    qpos, qvel, poses = [states.qpos], [states.qvel], [simulator.poses()]
    for step in range(steps):
        target_rad = data.target_rad[firsts + step]
        simulated = simulator.step(correction.targets(states, target_rad))
        states = correction.reached(states, target_rad, *simulated)
        if states.qpos is not simulated[0]:
            simulator.put(states)
        qpos.append(states.qpos)
        qvel.append(states.qvel)
        poses.append(simulator.poses())
    return Replay(np.stack(qpos), np.stack(qvel), poses)


def recorded(simulator: Simulator, data: RealData, firsts: np.ndarray, steps: int) -> list[Poses]:
    """Where the bodies were in the same windows, by the simulator's kinematics."""
    poses = []
    for step in range(steps + 1):
        rows = firsts + step
        simulator.put(States(data.qpos[rows], data.qvel[rows], data.held_rad[rows]))
        poses.append(simulator.poses())
    return poses


def body_errors_mm(played: Replay, robot: TrackedRobot, data: RealData, firsts: np.ndarray) -> np.ndarray:
    """(sets,) mean distance of the bodies from the recording, of so many sets of the windows as were played side by
    side; an error that is not finite or larger counts as a metre."""
    truth = recorded(Simulator(robot, len(firsts), 1), data, firsts, len(played.poses) - 1)
    distances = []
    for now, real in zip(played.poses[1:], truth[1:], strict=True):
        bodies = now.body_pos_w.reshape(-1, *real.body_pos_w.shape) - real.body_pos_w
        distances.append(np.linalg.norm(bodies, axis=-1).mean(axis=-1))
    return 1e3 * np.nan_to_num(np.array(distances), nan=1.0, posinf=1.0).clip(0.0, 1.0).mean(axis=(0, 2))
