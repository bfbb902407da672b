"""The uses of a delta action model in the closed loop (closed_loop.py): each makes a policy, and runs it on a stand-in.

In: the benchmark's settings. Out: a row for every use and motion. Rollouts, the delta model and trainings are kept.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from haloid.errors import HaloidError
from haloid.gap.delta.action import DeltaAction
from haloid.gap.delta.fast import FastConfig, fit_fast
from haloid.gap.delta.files import DeltaModel, delta_facts, load_delta, save_delta
from haloid.gap.delta.finetune import finetune, train_on, tuning_config
from haloid.gap.delta.inverse import Compensation, Solve, fixed_point, gradient_search
from haloid.gap.delta.learn import corrected_columns
from haloid.gap.replays.collect import CollectConfig, collect
from haloid.gap.replays.data import read_real_data
from haloid.gap.standins.named import stand_in
from haloid.outputs import atomic_file
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.skills.evaluation.evaluate import Evaluation, EvaluationConfig, evaluate
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.policies.open_policy import onnx_of, open_policy
from haloid.skills.task.robot import TrackedRobot, tracked_robot
from haloid.skills.task.task import TaskConfig
from haloid.skills.task.transforms import Command, Now, Transform
from haloid.skills.training.checkpoint import FILE
from haloid.skills.training.learning import Iteration, TrainingConfig
from haloid.skills.training.run_config import read_config
from haloid.skills.training.run_folder import resume, train
from haloid.trajectories.rollout_file import write_rollout

if TYPE_CHECKING:
    from haloid.bench.delta.closed_loop import AsapClosedLoop

SOLVERS: dict[str, Solve] = {"fixed-point": fixed_point, "gradient-search": gradient_search}
DISTURBANCE, NOISE = 0.3, 0.2
"""Of the runs' starts and observations, as parts of mjlab's: as when the rollouts are collected."""
TIMES = "loop_cpu_min.json"
OTHER_STARTS = 1000
"""Added to the seed: the runs do not start as the rollouts did."""


@dataclass(frozen=True)
class ActionNoise:
    """a + β·δ with δ uniform in [0, 1] (section V-C), in the policy's units of action."""

    beta: float
    scale_rad: np.ndarray

    def __call__(self, command: Command, now: Now) -> Command:
        noise_rad = self.beta * self.scale_rad * now.random.uniform(0.0, 1.0, now.held_rad.shape)
        return [(target_rad + noise_rad, steps) for target_rad, steps in command]


class Uses:
    def __init__(self, config: AsapClosedLoop, say: Callable[[str], None]) -> None:
        self._config, self._say = config, say
        self._robot: TrackedRobot = tracked_robot()

    def measured(self, use: str) -> list[dict[str, Any]]:
        """A row for every motion."""
        policy, transforms = self._made(use)
        config, rows = self._config, []
        started = time.process_time()
        deployed, robot = open_policy(policy), stand_in(config.stand_in)
        for motion in config.motions:
            self._say(f"{use}: running {motion}")
            settings = EvaluationConfig(
                starts=config.starts,
                seed=config.seed + OTHER_STARTS,
                motion=motion,
                disturbance=DISTURBANCE,
                noise=NOISE,
                threads=config.threads,
            )
            found = evaluate(deployed, robot, settings, transforms=transforms)
            rows.append({"use": use, "motion": motion, **_numbers(found)})
        if use == "ASAP":
            self._took("evaluate", started)
            rows = [{**row, "loop_cpu_min": self._cpu_min()} for row in rows]
        return rows

    def _made(self, use: str) -> tuple[Path, tuple[Transform, ...]]:
        """The folder of a policy, and what stands between it and the robot."""
        config, policy = self._config, self._vanilla
        if use == "vanilla":
            return policy, ()
        if use in SOLVERS:
            model = load_delta(self._delta)
            action = DeltaAction(model.network, np.array(model.facts.default_joint_pos_rad))
            return policy, (Compensation(action, SOLVERS[use]),)
        folder = config.folder / use

        def tell(iteration: Iteration) -> None:
            self._say(f"{use}: iteration {iteration.number} of {config.iterations}")

        if use == "ASAP":
            delta, settings = self._delta, {"iterations": config.iterations, "threads": config.threads}
            self._timed("finetune", lambda: finetune(policy, delta, folder, **settings, on_iteration=tell))
            return folder, ()
        own = read_config(policy).task
        training = tuning_config(policy, config.iterations, config.threads)
        training = replace(training, task=replace(training.task, delay_s=own.delay_s))
        noisy = (ActionNoise(config.noise, self._robot.action_scale_rad),) if use == "action-noise" else ()
        train_on(policy, training, folder, noisy, on_iteration=tell)
        return folder, ()

    @cached_property
    def _vanilla(self) -> Path:
        config = self._config

        def tell(iteration: Iteration) -> None:
            self._say(f"vanilla: iteration {iteration.number} of {config.vanilla_iterations}")

        if config.policy is not None:
            known = read_config(config.policy).task.motions
            if missing := sorted(set(config.motions) - set(known)):
                raise HaloidError(
                    f"{config.policy} was not trained for {', '.join(missing)}. Its motions: {', '.join(known)}"
                )
            return config.policy
        folder = config.folder / "vanilla"
        if (folder / FILE).is_file():
            resume(folder, on_iteration=tell)
            return folder
        task = TaskConfig(motions=config.motions, state_estimation=True, seed=config.seed, threads=config.threads)
        training = TrainingConfig(task, iterations=config.vanilla_iterations, threads=config.threads)
        train(training, folder, on_iteration=tell)
        return folder

    @cached_property
    def _delta(self) -> Path:
        """Learned from what the vanilla policy did on the stand-in."""
        config, file = self._config, self._config.folder / "delta" / "delta.pt"
        if not file.is_file():
            files = self._timed("collect", self._collected)
            data, columns = read_real_data(files, self._robot), corrected_columns(self._robot, "all")
            fast = FastConfig(
                transitions=config.transitions,
                windows=config.windows,
                passes=config.passes,
                seed=config.seed,
                threads=config.threads,
            )
            say = self._say
            network = self._timed(
                "train", lambda: fit_fast(self._robot, data, columns, fast, lambda words: say(f"delta model: {words}"))
            )
            facts = delta_facts(self._robot, "action", "fast", self._robot.joint_names, data.sources, len(data))
            save_delta(DeltaModel(facts, network), file)
        return file

    def _collected(self) -> list[Path]:
        """Of all motions that the policy is trained for: fine-tuning meets the delta model in all of them."""
        config, files = self._config, []
        robot = stand_in(config.stand_in)
        with onnx_of(self._vanilla) as policy:
            for motion in DeployedPolicy(policy).facts.motions:
                self._say(f"collecting {motion}")
                settings = CollectConfig(clips=config.clips, motion=motion, seed=config.seed, threads=config.threads)
                file = config.folder / "rollouts" / f"{motion}.npz"
                write_rollout(collect(DeployedPolicy(policy), robot, DEFAULT_ROBOT, config.stand_in, settings), file)
                files.append(file)
        return files

    def _timed(self, part: str, work: Callable[[], Any]) -> Any:
        started = time.process_time()
        found = work()
        self._took(part, started)
        return found

    def _took(self, part: str, started_s: float) -> None:
        """Kept in a file, as one run may make the model and another the policy."""
        minutes = {**self._cpu_min(), part: (time.process_time() - started_s) / 60}
        with atomic_file(self._config.folder / TIMES) as beside:
            beside.write_text(json.dumps(minutes), encoding="utf-8")

    def _cpu_min(self) -> dict[str, float]:
        file = self._config.folder / TIMES
        return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _numbers(found: Evaluation) -> dict[str, Any]:
    from haloid.bench.delta.closed_loop import TABLE_IV

    numbers: dict[str, Any] = {"runs": len(found.metrics), "success": found.success_rate, "survival": found.survival}
    for name in TABLE_IV:
        error = found.error(name)
        assert error is not None
        numbers |= {name: error.mean, f"{name}_95": 1.96 * error.std / np.sqrt(error.runs)}
    return numbers
