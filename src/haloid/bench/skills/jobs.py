"""The trainings behind the tables of skills: methods × motions, as jobs of one sweep that all tables share.

A job trains a policy, or computes a controller, on its method's robot and leaves policy.onnx in its folder; a sweep
that was stopped goes on where it was. The tables then run these files on the true, loaded robot.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from haloid.bench.skills.payload_methods import METHODS, methods
from haloid.errors import HaloidError
from haloid.motions.load import MotionNotFoundError
from haloid.motions.own import OWN_MOTIONS
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.sweeps.job import Job, Task, Unfinished
from haloid.sweeps.run import SweepEvent, run_sweep

NOISE = 0.2
"""Of mjlab's observation noise, in training and when policies are run: ±10 mrad of orientation, ±0.04 rad/s of the
gyroscope, ±2 mrad and ±0.1 rad/s of every joint, which is a real robot's order of size."""
DELAY_S = 0.005
"""From targets to servos: one physics step, 5 ms where policies are measured, 6.7 ms where they learn."""
DIFFICULTY = 1.0
"""The curriculum's end: all of Table I, all of mjlab's pushes."""


@dataclass(frozen=True)
class SkillBench:
    """What the benchmarks of skills share: trainings of three methods, run as jobs that all of them use."""

    iterations: int = 1000
    """Of each training: 12 million steps, about half an hour on two cores."""
    starts: int = 50
    """Runs of each policy on the true robot."""
    hours: float | None = None
    """Start and continue trainings for this long; the next run goes on."""
    workers: int = 1
    """Trainings at the same time on this machine."""
    ray: str | None = None
    """Address of a Ray cluster to train on."""
    fresh: bool = False
    """Train anew what was trained with other settings."""
    seed: int = 0
    """Of the runs."""
    folder: Path = Path("out/skills")
    """Where trainings are kept and shared."""


@dataclass(frozen=True)
class Sweep:
    """How the trainings are run."""

    folder: Path
    workers: int
    ray_address: str | None
    hours: float | None
    iterations: int
    fresh: bool
    actions: Literal["feedforward", "controller"] = "feedforward"
    """Learned policies, or controllers."""


def sweep_of(config: SkillBench) -> Sweep:
    return Sweep(config.folder, config.workers, config.ray, config.hours, config.iterations, config.fresh)


def trained_policies(motions: Sequence[str], sweep: Sweep, say: Callable[[str], None]) -> dict[str, dict[str, Path]]:
    """policy.onnx by the motion's name and method, of all finished trainings; the others are left for the next run."""
    sources = _sources(motions)
    known = methods(sweep.folder, say)
    jobs = [
        Job(
            _job_name(name, method, sweep),
            "haloid.bench.skills.jobs:train_job",
            {
                "motion": source,
                "actions": sweep.actions,
                "randomisation": known[method].randomisation,
                "patch": known[method].patch,
                "iterations": sweep.iterations,
                "difficulty": DIFFICULTY,
                "noise": NOISE,
                "delay_s": DELAY_S,
                "seed": 0,
            },
        )
        for name, source in sources.items()
        for method in METHODS
    ]
    outcome = run_sweep(
        jobs,
        sweep.folder,
        workers=sweep.workers,
        ray_address=sweep.ray_address,
        deadline_s=None if sweep.hours is None else sweep.hours * 3600,
        fresh=sweep.fresh,
        watch=lambda event: say(_words(event)),
    )
    if outcome.failures:
        name, failure = next(iter(outcome.failures.items()))
        raise HaloidError(f"{len(outcome.failures)} trainings failed; {name}: {failure.message}. See its log.txt")
    return {
        name: {
            method: sweep.folder / "jobs" / job / "policy.onnx"
            for method in METHODS
            if (job := _job_name(name, method, sweep)) in outcome.results
        }
        for name in sources
    }


def _job_name(motion: str, method: str, sweep: Sweep) -> str:
    return f"{motion}-{method}" + ("-controller" if sweep.actions == "controller" else "")


def name_of(motion: str) -> str:
    """An own motion's name, or that of a file without folder and ending."""
    return motion if motion in OWN_MOTIONS else Path(motion).stem


def train_job(task: Task) -> dict[str, Any]:
    """Train one policy, or go on with its training, and export it."""
    from haloid.skills.policies.export import export_onnx
    from haloid.skills.policies.policy import load_policy
    from haloid.skills.task.task import TaskConfig
    from haloid.skills.training.learning import Iteration, TrainingConfig
    from haloid.skills.training.run_folder import resume, train

    arguments, folder = task.arguments, task.folder / "training"
    seconds_left = task.seconds_left()
    minutes = None if seconds_left == float("inf") else max(seconds_left, 1.0) / 60

    def tell(iteration: Iteration) -> None:
        metrics = iteration.metrics
        task.report(
            f"iteration {iteration.number} of {arguments['iterations']}: error {metrics['body_error_mm']:.0f} mm, "
            f"failures {metrics['failures_a_s']:.2f}/s, {iteration.steps / iteration.seconds['all']:,.0f} steps/s"
        )

    model = DEFAULT_ROBOT
    if arguments["patch"] is not None:
        model = str(task.folder / "patch.json")
        Path(model).write_text(json.dumps(arguments["patch"]), encoding="utf-8")
    if (folder / "checkpoint.pt").is_file():
        outcome = resume(folder, minutes=minutes, model=model, threads=task.threads, on_iteration=tell)
    else:
        config = TrainingConfig(
            task=TaskConfig(
                motions=(arguments["motion"],),
                model=model,
                actions=arguments["actions"],
                randomisation=arguments["randomisation"],
                noise=arguments["noise"],
                delay_s=arguments["delay_s"],
                seed=arguments["seed"],
                threads=task.threads,
            ),
            iterations=arguments["iterations"],
            difficulty=arguments["difficulty"],
            threads=task.threads,
        )
        outcome = train(config, folder, minutes=minutes, on_iteration=tell)
    if not outcome.finished:
        raise Unfinished(f"at iteration {outcome.iterations} of {arguments['iterations']}")
    export_onnx(load_policy(folder), task.folder / "policy.onnx")
    return {"iterations": outcome.iterations, "steps": outcome.steps, "minutes": round(outcome.seconds / 60, 2)}


def _sources(motions: Sequence[str]) -> dict[str, str]:
    """Own motions and whole paths of files, by name; what cannot be trained is told before anything is."""
    sources: dict[str, str] = {}
    for motion in motions:
        file = Path(motion).expanduser()
        if motion not in OWN_MOTIONS and not file.is_file():
            raise MotionNotFoundError(motion, list(OWN_MOTIONS))
        name, source = name_of(motion), motion if motion in OWN_MOTIONS else str(file.resolve())
        if sources.setdefault(name, source) != source:
            raise HaloidError(
                f"two motions are called {name}: {sources[name]} and {source}. Expected a name of its own for each, "
                "as trainings are kept by it: rename a file"
            )
    return sources


def _words(event: SweepEvent) -> str:
    detail = f" ({event.text})" if event.text else ""
    return f"{event.finished} of {event.total} trainings done; {event.job} {event.kind}{detail}"
