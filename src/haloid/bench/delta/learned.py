"""What there is to learn from a policy's rollouts on a stand-in (closed_loop.py): each is learned when it is asked for.

In: the benchmark's settings, the folder of the policy. Out: a delta action model in a file, and simulators to train in.
Rollouts and the delta action model are kept; parameters and delta dynamics come out the same every time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from haloid.gap.delta.fast import FastConfig, fit_fast
from haloid.gap.delta.files import DeltaModel, delta_facts, save_delta
from haloid.gap.delta.learn import corrected_columns
from haloid.gap.delta.residual import DeltaDynamics, DynamicsConfig, fit_dynamics
from haloid.gap.delta.simulations import simulate_dynamics, simulate_with
from haloid.gap.replays.collect import CollectConfig, collect
from haloid.gap.replays.data import RealData, read_real_data
from haloid.gap.standins.named import stand_in, what_moves
from haloid.gap.sysid.grid import grid_search
from haloid.gap.sysid.rollouts import identify_rollouts
from haloid.outputs import atomic_file
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.policies.open_policy import onnx_of
from haloid.skills.task.robot import TrackedRobot
from haloid.skills.task.simulation import Simulate
from haloid.trajectories.rollout_file import write_rollout

if TYPE_CHECKING:
    from haloid.bench.delta.closed_loop import AsapClosedLoop

TIMES = "loop_cpu_min.json"


class Learned:
    def __init__(self, config: AsapClosedLoop, policy: Path, robot: TrackedRobot, say: Callable[[str], None]) -> None:
        self._config, self._policy, self._robot, self._say = config, policy, robot, say
        self.clock = Clock(config.folder / TIMES)

    @cached_property
    def action_file(self) -> Path:
        """Of the delta action model, by the fast way."""
        config, robot, file = self._config, self._robot, self._config.folder / "delta" / "delta.pt"
        if not file.is_file():
            data, columns = self._data, corrected_columns(robot, "all")
            fast = FastConfig(
                transitions=config.transitions,
                windows=config.windows,
                passes=config.passes,
                seed=config.seed,
                threads=config.threads,
            )
            say = lambda words: self._say(f"delta model: {words}")  # noqa: E731
            network = self.clock.timed("train", lambda: fit_fast(robot, data, columns, fast, say))
            facts = delta_facts(robot, "action", "fast", robot.joint_names, data.sources, len(data))
            save_delta(DeltaModel(facts, network), file)
        return file

    def simulate(self, method: str) -> Simulate:
        """The simulator that a method makes of the nominal one."""
        config, robot, data = self._config, self._robot, self._data
        seed, threads = config.seed, config.threads
        self._say(f"{method}: learning from the rollouts")
        if method == "SysID":
            few = max(config.windows // 4, 1)
            return simulate_with(grid_search(robot, data, windows=few, seed=seed, threads=threads))
        if method == "identification":
            passes = max(2 * config.passes // 3, 1)
            parameters = identify_rollouts(
                robot, data, windows=config.windows, passes=passes, seed=seed, threads=threads
            )
            return simulate_with(parameters)
        settings = DynamicsConfig(transitions=3 * config.transitions, seed=seed, threads=threads)
        network = fit_dynamics(robot, data, settings)
        return simulate_dynamics(DeltaDynamics(network, robot.default_joint_pos_rad))

    @cached_property
    def _data(self) -> RealData:
        """Of all motions that the policy is trained for: fine-tuning meets what is learned in all of them."""
        with onnx_of(self._policy) as policy:
            motions = DeployedPolicy(policy).facts.motions
            files = [self._config.folder / "rollouts" / f"{motion}.npz" for motion in motions]
            if not all(file.is_file() for file in files):
                self.clock.timed("collect", lambda: self._collect(policy, dict(zip(motions, files, strict=True))))
        return read_real_data(files, self._robot)

    def _collect(self, policy: Path, files: dict[str, Path]) -> None:
        config = self._config
        for motion, file in files.items():
            self._say(f"collecting {motion}")
            settings = CollectConfig(clips=config.clips, motion=motion, seed=config.seed, threads=config.threads)
            with what_moves(config.stand_in) as simulate:
                rollout = collect(
                    DeployedPolicy(policy),
                    stand_in(config.stand_in),
                    DEFAULT_ROBOT,
                    config.stand_in,
                    settings,
                    simulate=simulate,
                )
            write_rollout(rollout, file)


class Clock:
    """Processor minutes of the loop's parts, in a file, as one run may make the model and another the policy."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def timed(self, part: str, work: Callable[[], Any]) -> Any:
        started = time.process_time()
        found = work()
        minutes = {**self.minutes(), part: (time.process_time() - started) / 60}
        with atomic_file(self._file) as beside:
            beside.write_text(json.dumps(minutes), encoding="utf-8")
        return found

    def minutes(self) -> dict[str, float]:
        return json.loads(self._file.read_text(encoding="utf-8")) if self._file.is_file() else {}
