"""The uses of what rollouts tell, in the closed loop (closed_loop.py): each makes a policy, and runs it on a stand-in.

In: the benchmark's settings. Out: a row for every use and motion. Trainings are kept.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from haloid.bench.delta.learned import Learned
from haloid.errors import HaloidError
from haloid.gap.delta.action import DeltaAction
from haloid.gap.delta.files import load_delta
from haloid.gap.delta.finetune import finetune, train_on, tuning_config
from haloid.gap.delta.inverse import Compensation, Solve, fixed_point, gradient_search
from haloid.gap.standins.named import stand_in, what_moves
from haloid.skills.evaluation.evaluate import Evaluation, EvaluationConfig, evaluate
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.policies.export import export_onnx
from haloid.skills.policies.open_policy import open_policy
from haloid.skills.task.robot import TrackedRobot, tracked_robot
from haloid.skills.task.task import TaskConfig
from haloid.skills.task.transforms import Command, Now, Transform
from haloid.skills.training.checkpoint import FILE
from haloid.skills.training.learning import Iteration, TrainingConfig
from haloid.skills.training.run_config import read_config
from haloid.skills.training.run_folder import last_policy, resume, train

if TYPE_CHECKING:
    from haloid.bench.delta.closed_loop import AsapClosedLoop

SOLVERS: dict[str, Solve] = {"fixed-point": fixed_point, "gradient-search": gradient_search}
SIMULATORS = ("SysID", "identification", "DeltaDynamics")
"""Uses that train on in a simulator which the method made."""
ACTION_NOISE = "action-noise"
DISTURBANCE, NOISE = 0.3, 0.2
"""Of the runs' starts and observations, as parts of mjlab's: as when the rollouts are collected."""
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
        """A row for every motion; `use` is one of USES, that of action noise followed by its β."""
        folder, transforms = self._made(use)
        policy = open_policy(folder) if folder == self._vanilla else _after_its_last_iteration(folder)
        if use != "ASAP":
            return self._run(use, policy, transforms)
        rows = self._learned.clock.timed("evaluate", lambda: self._run(use, policy, transforms))
        return [{**row, "loop_cpu_min": self._learned.clock.minutes()} for row in rows]

    def _run(self, use: str, deployed: DeployedPolicy, transforms: tuple[Transform, ...]) -> list[dict[str, Any]]:
        config, rows, robot = self._config, [], stand_in(self._config.stand_in)
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
            with what_moves(config.stand_in) as simulate:
                found = evaluate(deployed, robot, settings, simulate=simulate, transforms=transforms)
            rows.append({"use": use, "motion": motion, **_numbers(found)})
        return rows

    def _made(self, use: str) -> tuple[Path, tuple[Transform, ...]]:
        """The folder of a policy, and what stands between it and the robot."""
        config, policy = self._config, self._vanilla
        if use == "vanilla":
            return policy, ()
        if use in SOLVERS:
            model = load_delta(self._learned.action_file)
            action = DeltaAction(model.network, np.array(model.facts.default_joint_pos_rad))
            return policy, (Compensation(action, SOLVERS[use]),)
        folder = config.folder / use.replace(" ", "-")

        def tell(iteration: Iteration) -> None:
            self._say(f"{use}: iteration {iteration.number} of {config.iterations}")

        if use == "ASAP":
            delta, settings = self._learned.action_file, {"iterations": config.iterations, "threads": config.threads}
            self._learned.clock.timed(
                "finetune", lambda: finetune(policy, delta, folder, **settings, on_iteration=tell)
            )
            return folder, ()
        training = tuning_config(policy, config.iterations, config.threads)
        if use in SIMULATORS:
            train_on(policy, training, folder, on_iteration=tell, simulate=self._learned.simulate(use))
            return folder, ()
        own = read_config(policy).task  # as late as it was trained with
        task = replace(training.task, delay_s=own.delay_s, randomisation=own.randomisation)
        training = replace(training, task=task)
        noisy = ()
        if use.startswith(ACTION_NOISE):
            noisy = (ActionNoise(float(use.removeprefix(ACTION_NOISE)), self._robot.action_scale_rad),)
        train_on(policy, training, folder, noisy, on_iteration=tell)
        return folder, ()

    @cached_property
    def _learned(self) -> Learned:
        return Learned(self._config, self._vanilla, self._robot, self._say)

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


def _after_its_last_iteration(folder: Path) -> DeployedPolicy:
    """Trials choose by the simulator that a use trained in, which is another one for each; so none of them chooses."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "policy.onnx"
        export_onnx(last_policy(folder), file)
        return DeployedPolicy(file)


def _numbers(found: Evaluation) -> dict[str, Any]:
    from haloid.bench.delta.closed_loop import TABLE_IV

    numbers: dict[str, Any] = {"runs": len(found.metrics), "success": found.success_rate, "survival": found.survival}
    for name in TABLE_IV:
        error = found.error(name)
        assert error is not None
        numbers |= {name: error.mean, f"{name}_95": 1.96 * error.std / np.sqrt(error.runs)}
    return numbers
