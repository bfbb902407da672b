"""How long a motion takes to learn from nothing, on the policy's own full distribution.

Every motion has a policy of its own, trained until a trial (48 robots, all of Table I, mjlab's noise, disturbed starts
and pushes) succeeds often enough. The policy is then run from fresh starts under the same conditions, since the trial
that ended the training chose it. Time counts all sessions of a training, on the wall and on the processor.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from haloid.bench.outcome import Outcome, Target
from haloid.bench.skills.learning import interval95, own_distribution, read_steps, train_or_resume
from haloid.outputs import atomic_file
from haloid.report import Table
from haloid.skills.evaluation.evaluate import Evaluation, evaluate
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.task.robot import tracked_robot
from haloid.skills.task.task import TaskConfig
from haloid.skills.training.learning import Iteration, TrainingConfig
from haloid.skills.training.run_folder import finish

SUCCESS = 0.9
MINUTES = {"squat": 15.0, "wave": 15.0, "walk": 60.0}
FILE = "seconds.json"


@dataclass(frozen=True)
class LearningTime:
    """Settings of `haloid bench learning-time`."""

    motions: tuple[str, ...] = ("squat", "wave", "walk")
    """Own motions or files, each with a policy of its own."""
    until: float = 0.95
    """Share of a trial's robots that ends a training."""
    iterations: int = 3000
    """At most, of each training: 18 million steps."""
    delay: float = 0.005
    """From targets to servos, s."""
    state_estimation: bool = True
    """The policy sees its place and linear velocity with mjlab's noise, as in mjlab's own task."""
    starts: int = 100
    """Runs of each motion."""
    seed: int = 0
    """Of the trainings and of the runs."""
    folder: Path = Path("out/learning-time")
    """Of the trainings; one that was stopped goes on, one that is there is used."""
    out: Path = Path("out/bench/learning-time")
    """Directory for result.json."""


@dataclass(frozen=True)
class Timed:
    motion: str
    steps: int
    wall_s: float
    processor_s: float
    found: Evaluation


def run(config: LearningTime, say: Callable[[str], None]) -> Outcome:
    return outcome_of([_timed(motion, config, say) for motion in config.motions])


def _timed(motion: str, config: LearningTime, say: Callable[[str], None]) -> Timed:
    name = Path(motion).stem
    folder = config.folder / name
    task = TaskConfig(
        motions=(motion,), delay_s=config.delay, state_estimation=config.state_estimation, seed=config.seed
    )
    training = TrainingConfig(task, iterations=config.iterations, until=config.until)
    clock = _Clock(folder / FILE)
    outcome = train_or_resume(training, folder, None, lambda words: say(f"{name}: {words}"), clock.tick)
    say(f"running {name}")
    own = replace(own_distribution(task, config.starts, config.seed), motion=name)
    found = evaluate(DeployedPolicy(finish(outcome)), tracked_robot(task.model), own)
    return Timed(name, read_steps(folder), clock.wall_s, clock.processor_s, found)


class _Clock:
    """Adds up the time between iterations in a file, so that sessions of a training that was stopped count too."""

    def __init__(self, file: Path) -> None:
        self._file = file
        before = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        self.wall_s, self.processor_s = float(before.get("wall_s", 0)), float(before.get("processor_s", 0))
        self._last = time.monotonic(), time.process_time()

    def tick(self, _: Iteration) -> None:
        now = time.monotonic(), time.process_time()
        self.wall_s += now[0] - self._last[0]
        self.processor_s += now[1] - self._last[1]
        self._last = now
        with atomic_file(self._file) as beside:
            beside.write_text(json.dumps({"wall_s": self.wall_s, "processor_s": self.processor_s}), encoding="utf-8")


def outcome_of(found: list[Timed]) -> Outcome:
    headline: dict[str, float] = {}
    targets, rows, lines = [], [], []
    for one in found:
        key, low_high = one.motion.replace("-", "_"), interval95(one.found)
        minutes, processor = one.wall_s / 60, one.processor_s / 60
        headline |= {
            f"{key}_minutes": minutes,
            f"{key}_processor_minutes": processor,
            f"{key}_success": one.found.success_rate,
        }
        if one.motion in MINUTES:
            targets += [
                Target(f"success of {one.motion} on its own distribution", one.found.success_rate, SUCCESS, True),
                Target(f"minutes in which {one.motion} was learned", minutes, MINUTES[one.motion]),
            ]
        rows.append(
            {
                "motion": one.motion,
                "million_steps": one.steps / 1e6,
                "minutes": minutes,
                "processor_minutes": processor,
                "runs": len(one.found.metrics),
                "success": one.found.success_rate,
                "success_low": low_high[0],
                "success_high": low_high[1],
                "survival": one.found.survival,
            }
        )
        share = f"{100 * one.found.success_rate:.0f} ({100 * low_high[0]:.0f} to {100 * low_high[1]:.0f}) %"
        lines.append([one.motion, f"{one.steps / 1e6:.1f}", f"{minutes:.1f}", f"{processor:.1f}", share])
    note = (
        "Success of fresh runs with its 95 % interval, under all of Table I, mjlab's noise, disturbed starts and "
        "pushes. Minutes of the training on the machine named, and of its processor, all cores together."
    )
    columns = ["motion", "million steps", "minutes", "processor minutes", "success"]
    return Outcome(headline, rows, [Table(columns, lines, note)], targets)
