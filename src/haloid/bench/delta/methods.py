"""The methods of ASAP's Table III on one stand-in: what each learns from the same rollouts, and its open-loop errors.

In: the benchmark's settings (open_loop.py), a stand-in, a seed. Out: for a method, a row for every length of replay.
Training times are of the processor, all cores together: they do not depend on what else the machine is doing. PPO's
training is kept as it goes: one that was stopped goes on, and its time with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from haloid.bench.delta.rollouts import controlled_rollouts
from haloid.gap.delta.fast import FastConfig, fit_fast
from haloid.gap.delta.learn import DeltaAction, DeltaDynamics, corrected_columns
from haloid.gap.delta.residual import DynamicsConfig, fit_dynamics
from haloid.gap.ppo.train import DeltaPpoConfig, fit_ppo, spent_cpu_s
from haloid.gap.replays.data import RealData
from haloid.gap.replays.open_loop import ERRORS, open_loop
from haloid.gap.replays.simulator import Correction
from haloid.gap.sysid.grid import grid_search
from haloid.gap.sysid.parameters import with_parameters
from haloid.gap.sysid.rollouts import identify_rollouts
from haloid.skills.task.robot import TrackedRobot, tracked_robot

if TYPE_CHECKING:
    from haloid.bench.delta.open_loop import AsapOpenLoop

Learned = tuple[Correction | None, TrackedRobot, float]
"""What corrects the simulator, whose robot it is, and how many seconds of the processor it took to learn."""


class Methods:
    def __init__(self, config: AsapOpenLoop, stand_in: str, seed: int, say: Callable[[str], None]) -> None:
        self._config, self._stand_in, self._seed, self._say = config, stand_in, seed, say
        self._robot = tracked_robot()

    def measured(self, method: str) -> list[dict[str, Any]]:
        """Learn by one of METHODS, and replay; OpenLoop is played beside it, should it break a window."""
        config = self._config
        learned, held_out = self._data
        self._say(method)
        correction, robot, cpu_s = self._learn(method, learned)
        found = open_loop(
            self._robot,
            held_out,
            {"OpenLoop": None, method: correction},
            windows=config.windows,
            seed=self._seed,
            threads=config.threads,
            robots={method: robot},
        )
        return [
            {
                "stand_in": self._stand_in,
                "seed": self._seed,
                "method": method,
                "length_s": entry.length_s,
                **{error: entry.mean(error) for error in ERRORS},
                "interval95_g_mpjpe_mm": entry.interval95(ERRORS[0]),
                "windows": len(entry.episode),
                "broken": entry.broken,
                "training_cpu_s": cpu_s,
            }
            for entry in found
            if entry.method == method
        ]

    def _learn(self, method: str, data: RealData) -> Learned:
        config, robot, seed, threads = self._config, self._robot, self._seed, self._config.threads
        match method:
            case "OpenLoop":
                return None, robot, 0.0
            case "SysID grid":
                few = config.windows // 4
                grid, cpu_s = timed(lambda: grid_search(robot, data, windows=few, seed=seed, threads=threads))
                return None, with_parameters(robot, grid), cpu_s
            case "identification":
                return None, *self._identified
            case "DeltaDynamics":
                settings = DynamicsConfig(transitions=3 * config.transitions, seed=seed, threads=threads)
                network, cpu_s = timed(lambda: fit_dynamics(robot, data, settings))
                return DeltaDynamics(network, robot.default_joint_pos_rad), robot, cpu_s
            case "ASAP by PPO":
                return self._by_ppo(data)
            case "ASAP fast":
                return self._fast(data, robot, 0.0)
            case "identification + fast":
                return self._fast(data, *self._identified)
        raise ValueError(method)

    def _fast(self, data: RealData, robot: TrackedRobot, before_cpu_s: float) -> Learned:
        config = self._config
        settings = FastConfig(
            transitions=config.transitions,
            passes=config.passes,
            windows=config.windows,
            seed=self._seed,
            threads=config.threads,
        )
        network, cpu_s = timed(lambda: fit_fast(robot, data, corrected_columns(robot, "all"), settings))
        return DeltaAction(network, robot.default_joint_pos_rad), robot, before_cpu_s + cpu_s

    def _by_ppo(self, data: RealData) -> Learned:
        config, robot = self._config, self._robot
        settings = DeltaPpoConfig(
            iterations=config.ppo_iterations, robots=config.ppo_robots, seed=self._seed, threads=config.threads
        )
        folder = config.folder / "ppo" / f"{self._stand_in}-{self._seed}"
        joints = corrected_columns(robot, "all")
        network = fit_ppo(
            robot, data, joints, settings, folder=folder, say=lambda words: self._say(f"ASAP by PPO, {words}")
        )
        return DeltaAction(network, robot.default_joint_pos_rad), robot, spent_cpu_s(folder)

    @cached_property
    def _identified(self) -> tuple[TrackedRobot, float]:
        """The robot with its parameters, and the time that they took."""
        config, (learned, _) = self._config, self._data
        parameters, cpu_s = timed(
            lambda: identify_rollouts(
                self._robot,
                learned,
                windows=config.windows,
                passes=max(2 * config.passes // 3, 1),
                seed=self._seed,
                threads=config.threads,
            )
        )
        return with_parameters(self._robot, parameters), cpu_s

    @cached_property
    def _data(self) -> tuple[RealData, RealData]:
        """To learn from, and to replay."""
        config = self._config
        data = controlled_rollouts(
            config.folder,
            self._stand_in,
            tuple(dict.fromkeys((*config.learned, *config.held_out))),
            self._robot,
            clips=config.clips,
            seed=self._seed,
            threads=config.threads,
            say=self._say,
        )
        return data.of(config.learned), data.of(config.held_out)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What comes of it, and the seconds of the processor that it took."""
    started = time.process_time()
    found = work()
    return found, time.process_time() - started
