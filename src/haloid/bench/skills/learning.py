"""What learning adds: a trained policy beside its untrained start, on the distribution that it was trained for.

Both are run as ONNX files on robots of Table I at full width, with all of mjlab's noise, disturbed starts and pushes,
from the beginning of each motion to its end. The untrained start is the feed-forward targets alone. A motion counts as
improved when the 95 % intervals of success lie apart, or, where neither ever succeeds, those of survival do.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from haloid.bench.outcome import Outcome, Target
from haloid.report import Table
from haloid.skills.evaluation.evaluate import Evaluation, evaluate
from haloid.skills.evaluation.runs import EvaluationConfig
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.policies.export import export_onnx
from haloid.skills.policies.policy import TrackingPolicy, load_policy
from haloid.skills.task.robot import tracked_robot
from haloid.skills.task.task import TaskConfig
from haloid.skills.training.learning import Iteration, TrainingConfig
from haloid.skills.training.run_config import read_config
from haloid.skills.training.run_folder import TrainingOutcome, resume, train

TARGETS = {"squat": 0.9, "wave": 0.9, "step-in-place": 0.9, "walk": 0.9, "swallow": 0.8, "side-kick": 0.8}
"""Success on the own distribution."""
PUSHES = (0.0, 0.5, 1.0)
"""Parts of mjlab's pushes that the trained policy meets; the last is the own distribution."""
NORMAL95 = 1.96


@dataclass(frozen=True)
class Learning:
    """Settings of `haloid bench learning`."""

    motions: tuple[str, ...] = ("squat", "wave", "step-in-place", "walk")
    """Own motions or files; one policy learns them all."""
    iterations: int = 2000
    """Of the training: 12 million steps, about half an hour on two cores."""
    delay: float = 0.005
    """From targets to servos, s."""
    state_estimation: bool = True
    """The policy sees its place and linear velocity with mjlab's noise, as in mjlab's own task."""
    starts: int = 100
    """Runs of each motion."""
    seed: int = 0
    """Of the training and of the runs."""
    folder: Path = Path("out/learning")
    """Of the training; one that was stopped goes on, one that is there is used."""
    out: Path = Path("out/bench/learning")
    """Directory for result.json."""


@dataclass(frozen=True)
class Compared:
    motion: str
    untrained: Evaluation
    trained: dict[float, Evaluation]
    """By the part of mjlab's pushes."""

    @property
    def improved(self) -> bool:
        own = self.trained[PUSHES[-1]]
        if own.successes or self.untrained.successes:
            return interval95(own)[0] > interval95(self.untrained)[1]
        return _survival95(own)[0] > _survival95(self.untrained)[1]


def run(config: Learning, say: Callable[[str], None]) -> Outcome:
    folder, task = (
        config.folder,
        TaskConfig(
            motions=config.motions, delay_s=config.delay, state_estimation=config.state_estimation, seed=config.seed
        ),
    )
    train_or_resume(TrainingConfig(task, iterations=config.iterations), folder, None, say)
    task = read_config(folder).task
    policy, robot = load_policy(folder), tracked_robot(task.model)
    own = own_distribution(task, config.starts, config.seed)
    with tempfile.TemporaryDirectory() as scratch:
        files = {name: Path(scratch) / f"{name}.onnx" for name in ("trained", "untrained")}
        export_onnx(policy, files["trained"])
        export_onnx(silenced(policy), files["untrained"])
        deployed = {name: DeployedPolicy(file) for name, file in files.items()}
        found = []
        for motion in policy.facts.motions:
            say(f"running {motion}")
            untrained = evaluate(deployed["untrained"], robot, replace(own, motion=motion))
            trained = {
                push: evaluate(deployed["trained"], robot, replace(own, motion=motion, push=push)) for push in PUSHES
            }
            found.append(Compared(motion, untrained, trained))
    return outcome_of(found, read_steps(folder))


def own_distribution(task: TaskConfig, starts: int, seed: int) -> EvaluationConfig:
    """What a policy was trained for at full width: all of its noise, randomisation, disturbed starts and pushes."""
    return EvaluationConfig(
        starts=starts,
        seed=seed,
        disturbance=1.0,
        noise=task.noise,
        push=PUSHES[-1],
        delay_s=task.delay_s,
        randomisation=task.randomisation,
    )


def silenced(policy: TrackingPolicy) -> TrackingPolicy:
    """The same policy before it learned anything: its network outputs zero."""
    network = type(policy.network)(**policy.network.configuration)
    for parameter in network.parameters():
        parameter.data.zero_()
    return TrackingPolicy(policy.facts, network.eval(), policy.actions, policy.reference).eval()


def outcome_of(found: Sequence[Compared], steps: int) -> Outcome:
    improved = float(np.mean([one.improved for one in found]))
    headline = {"improved_share": improved, "million_steps": steps / 1e6}
    for one in found:
        name, own = one.motion.replace("-", "_"), one.trained[PUSHES[-1]]
        headline |= {f"{name}_success_before": one.untrained.success_rate, f"{name}_success_after": own.success_rate}
        headline |= {f"{name}_mm_before": _error_mm(one.untrained), f"{name}_mm_after": _error_mm(own)}
    targets = [
        Target(f"success of {one.motion} on its own distribution", one.trained[PUSHES[-1]].success_rate, least, True)
        for one in found
        if (least := TARGETS.get(one.motion)) is not None
    ]
    targets.append(Target("motions that learning improved, of all", improved, 0.8, at_least=True))
    rows = [_row(one.motion, "untrained", PUSHES[-1], one.untrained) for one in found]
    rows += [_row(one.motion, "trained", push, run) for one in found for push, run in one.trained.items()]
    note = (
        f"Success of {len(found[0].untrained.metrics)} runs with its 95 % interval, at parts of mjlab's pushes; "
        f"E_g-mpjpe and survival at all of them. One policy, {steps / 1e6:.1f} million steps."
    )
    return Outcome(headline, rows, [_table(found, note)], targets)


def interval95(evaluation: Evaluation) -> tuple[float, float]:
    """Wilson's, of the success."""
    runs, share = len(evaluation.metrics), evaluation.success_rate
    squared = NORMAL95**2 / runs
    middle = (share + squared / 2) / (1 + squared)
    half = NORMAL95 * np.sqrt(share * (1 - share) / runs + squared / runs / 4) / (1 + squared)
    return float(max(middle - half, 0.0)), float(min(middle + half, 1.0))


def _survival95(evaluation: Evaluation) -> tuple[float, float]:
    values = [metrics.survival for metrics in evaluation.metrics]
    half = NORMAL95 * float(np.std(values)) / np.sqrt(len(values))
    return evaluation.survival - half, evaluation.survival + half


def train_or_resume(
    config: TrainingConfig,
    folder: Path,
    start: Path | None,
    say: Callable[[str], None],
    on_iteration: Callable[[Iteration], None] = lambda _: None,
) -> TrainingOutcome:
    """A training that is in the folder goes on with its own settings to as many iterations."""

    def tell(iteration: Iteration) -> None:
        on_iteration(iteration)
        say(f"training, iteration {iteration.number} of {config.iterations}")

    if (folder / "checkpoint.pt").is_file():
        return resume(folder, iterations=config.iterations, until=config.until, on_iteration=tell)
    return train(config, folder, warm_start=start, on_iteration=tell)


def read_steps(folder: Path) -> int:
    """Control steps of all robots that the training made in all its sessions."""
    config = read_config(folder)
    iterations = len((folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    return iterations * config.learner.steps * config.task.robots


def _error_mm(evaluation: Evaluation) -> float:
    error = evaluation.error("e_g_mpjpe_mm")
    assert error is not None
    return error.mean


def _row(motion: str, policy: str, push: float, found: Evaluation) -> dict[str, Any]:
    low, high = interval95(found)
    return {
        "motion": motion,
        "policy": policy,
        "push": push,
        "runs": len(found.metrics),
        "success": found.success_rate,
        "success_low": low,
        "success_high": high,
        "survival": found.survival,
        "e_g_mpjpe_mm": _error_mm(found),
    }


def _table(found: Sequence[Compared], note: str) -> Table:
    rows = []
    for one in found:
        own = one.trained[PUSHES[-1]]
        rows.append(
            [
                one.motion,
                _success(one.untrained),
                *(_success(one.trained[push]) for push in PUSHES[::-1]),
                f"{_error_mm(one.untrained):.0f} → {_error_mm(own):.0f}",
                f"{100 * one.untrained.survival:.0f} → {100 * own.survival:.0f} %",
            ]
        )
    columns = ["motion", "untrained", "trained", "half the pushes", "no pushes", "E_g-mpjpe mm", "survival"]
    return Table(columns, rows, note)


def _success(found: Evaluation) -> str:
    low, high = interval95(found)
    return f"{100 * found.success_rate:.0f} % ({100 * low:.0f}–{100 * high:.0f})"
