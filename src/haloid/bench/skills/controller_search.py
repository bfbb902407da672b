"""What a search of its design adds to the model-based controller, on robots that differ by all of Table I.

In: motions. Out: for each the usual controller and the searched one, run on the same fresh robots, which neither
met before: with all of mjlab's noise and gentle starts, which is what the search was on, and under all of mjlab's
disturbed starts and pushes, which it was not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from haloid.bench.outcome import Outcome
from haloid.bench.skills.learning import interval95, own_distribution
from haloid.report import Table
from haloid.skills.evaluation.evaluate import Evaluation, evaluate
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.task.robot import tracked_robot
from haloid.skills.task.task import SEARCHED, TaskConfig
from haloid.skills.training.learning import TrainingConfig
from haloid.skills.training.run_folder import finish, train


@dataclass(frozen=True)
class ControllerSearch:
    """Settings of `haloid bench controller-search`."""

    motions: tuple[str, ...] = ("squat", "wave", "step-in-place", "walk", "swallow", "side-kick")
    """Own motions or files."""
    search: int = 80
    """Designs that are tried for each motion."""
    delay: float = 0.005
    """From targets to servos, s."""
    starts: int = 100
    """Runs of each controller."""
    seed: int = 0
    """Of the searches and of the runs."""
    folder: Path = Path("out/controller-search")
    """Of the controllers; one that is there is used."""
    out: Path = Path("out/bench/controller-search")
    """Directory for result.json."""


@dataclass(frozen=True)
class Searched:
    motion: str
    usual: Evaluation
    best: Evaluation
    usual_pushed: Evaluation
    best_pushed: Evaluation


def run(config: ControllerSearch, say: Callable[[str], None]) -> Outcome:
    return outcome_of([_searched(motion, config, say) for motion in config.motions], config.search)


def _searched(motion: str, config: ControllerSearch, say: Callable[[str], None]) -> Searched:
    name = Path(motion).stem
    task = TaskConfig(motions=(motion,), actions="controller", delay_s=config.delay, seed=config.seed)
    usual = _controller(task, config.folder / f"{name}-usual", name, say)
    best = _controller(replace(task, search=config.search), config.folder / f"{name}-{config.search}", name, say)
    robot = tracked_robot(task.model)
    pushed = replace(own_distribution(task, config.starts, config.seed), motion=name)
    gentle = replace(pushed, disturbance=SEARCHED.reset, push=SEARCHED.push)
    say(f"running {name}")
    found = [evaluate(policy, robot, settings) for settings in (gentle, pushed) for policy in (usual, best)]
    return Searched(name, *found)


def _controller(task: TaskConfig, folder: Path, name: str, say: Callable[[str], None]) -> DeployedPolicy:
    file = folder / "policy.onnx"
    if not file.is_file():
        file = finish(train(TrainingConfig(task), folder, on_search=lambda words: say(f"{name}: {words}")))
    return DeployedPolicy(file)


def outcome_of(found: list[Searched], search: int) -> Outcome:
    columns = {"usual": "usual", "best": "searched", "usual_pushed": "usual, pushed", "best_pushed": "searched, pushed"}
    headline: dict[str, float] = {}
    rows, lines = [], []
    for one in found:
        runs = {key: getattr(one, key) for key in columns}
        name = one.motion.replace("-", "_")
        headline |= {f"{name}_{key}_success": evaluation.success_rate for key, evaluation in runs.items()}
        for key, evaluation in runs.items():
            low, high = interval95(evaluation)
            rows.append(
                {
                    "motion": one.motion,
                    "controller": key,
                    "runs": len(evaluation.metrics),
                    "success": evaluation.success_rate,
                    "success_low": low,
                    "success_high": high,
                    "survival": evaluation.survival,
                    "e_g_mpjpe_mm": _error_mm(evaluation),
                }
            )
        error = f"{_error_mm(one.usual):.0f} → {_error_mm(one.best):.0f}"
        lines.append([one.motion, *(_share(evaluation) for evaluation in runs.values()), error])
    headline["mean_usual_success"] = float(np.mean([one.usual.success_rate for one in found]))
    headline["mean_best_success"] = float(np.mean([one.best.success_rate for one in found]))
    note = (
        "Success of fresh runs with its 95 % interval on robots that differ by all of Table I, all of mjlab's noise. "
        f"{search} designs were searched on others of these robots, without pushes and with a tenth of the disturbed "
        "starts; pushed: all of mjlab's. E_g-mpjpe without pushes."
    )
    return Outcome(headline, rows, [Table(["motion", *columns.values(), "E_g-mpjpe mm"], lines, note)])


def _share(found: Evaluation) -> str:
    low, high = interval95(found)
    return f"{100 * found.success_rate:.0f} ({100 * low:.0f} to {100 * high:.0f}) %"


def _error_mm(found: Evaluation) -> float:
    error = found.error("e_g_mpjpe_mm")
    assert error is not None
    return error.mean
