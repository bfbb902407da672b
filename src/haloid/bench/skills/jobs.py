"""The trainings behind the tables of skills: methods × motions, as jobs of one sweep that all tables share.

A job trains a policy, or computes a controller, on its method's robot and leaves policy.onnx in its folder; a sweep
that was stopped goes on where it was. Learned policies begin with a common start, trained on the nominal robot. The
tables then run these files on the true, loaded robot.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from haloid.bench.skills.payload_methods import METHODS, Method, methods
from haloid.errors import HaloidError
from haloid.motions.load import MotionNotFoundError
from haloid.motions.own import OWN_MOTIONS
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.sweeps.job import Job, Task, Unfinished
from haloid.sweeps.run import SweepEvent, run_sweep

NOISE = 0.2
"""Of mjlab's observation noise, when policies are run on the true robot: ±10 mrad of orientation, ±0.04 rad/s of the
gyroscope, ±2 mrad and ±0.1 rad/s of every joint, which is a real robot's order of size. Learning meets all of it."""
DELAY_S = 0.005
"""From targets to servos: one physics step, 5 ms where policies are measured, 6.7 ms where they learn."""
DIFFICULTY = 1.0
"""The curriculum's end: all of Table I, all of mjlab's pushes."""
START = "start"


@dataclass(frozen=True)
class SkillBench:
    """What the benchmarks of skills share: one recipe for three methods, its trainings jobs that all of them use.

    A policy learns all motions of its benchmark. All methods and seeds begin with the same policy of the nominal robot
    and go on for as long on their own robot with their own randomisation.
    """

    iterations: int = 600
    """Of each method's training after the common start: 3.7 million steps, about 6 minutes on two quiet cores."""
    start_iterations: int = 2000
    """Of the common start: 12 million steps."""
    start: Path | None = None
    """A training on the nominal robot to begin with, instead of one of the benchmark's own."""
    state_estimation: bool = True
    """Policies see their place and linear velocity with mjlab's noise, as in mjlab's own task."""
    setting: Literal[1, 2, 3] = 1
    """HALO's Perturbation Setting that the true robot carries."""
    seeds: int = 2
    """Trainings of each method."""
    starts: int = 50
    """Runs of each policy on the true robot."""
    hours: float | None = None
    """Start and continue trainings for this long; the next run goes on."""
    workers: int = 1
    """Trainings at the same time on this machine."""
    ray: str | None = None
    """Address of a Ray cluster to train on."""
    fresh: bool = False
    """Train again what was trained with other settings."""
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
    seeds: int = 1
    start: Path | None = None
    start_iterations: int = 0
    state_estimation: bool = False
    setting: int = 1


def sweep_of(config: SkillBench) -> Sweep:
    return Sweep(
        config.folder,
        config.workers,
        config.ray,
        config.hours,
        config.iterations,
        config.fresh,
        seeds=config.seeds,
        start=config.start,
        start_iterations=config.start_iterations,
        state_estimation=config.state_estimation,
        setting=config.setting,
    )


Policies = dict[str, dict[str, list[Path]]]
"""policy.onnx by the motion's name and method, one for each seed."""


def trained_policies(motions: Sequence[str], sweep: Sweep, say: Callable[[str], None]) -> Policies:
    """Of the methods whose trainings are all finished; the others are left for the next run."""
    sources, began = _sources(motions), time.monotonic()
    learns = sweep.actions == "feedforward"
    start = None
    if learns:
        start = str(sweep.start.resolve()) if sweep.start is not None else _start(sources, sweep, say)
        if start is None:
            return {name: {} for name in sources}
    known = methods(sweep.folder, say, worn=learns, setting=sweep.setting)
    groups = [sources] if learns else [{name: source} for name, source in sources.items()]
    names = {
        (tuple(group), method, seed): _job_name(tuple(group), method, seed, sweep)
        for group in groups
        for seed in range(sweep.seeds)  # a sweep that is stopped has whole seeds: all methods, or none
        for method in METHODS
    }
    jobs = [
        _job(name, [sources[motion] for motion in group], sweep.iterations, seed, sweep, known[method], start)
        for (group, method, seed), name in names.items()
    ]
    finished = _run(jobs, sweep, say, began)
    policies: Policies = {name: {} for name in sources}
    for group in groups:
        for method in METHODS:
            done = [names[tuple(group), method, seed] for seed in range(sweep.seeds)]
            if all(job in finished for job in done):
                files = [sweep.folder / "jobs" / job / "policy.onnx" for job in done]
                for motion in group:
                    policies[motion][method] = files
    return policies


def _start(sources: dict[str, str], sweep: Sweep, say: Callable[[str], None]) -> str | None:
    """The folder of the common start's training; None: it is not finished yet."""
    name = f"{_group(tuple(sources))}-{START}"
    nominal = Method(START, "nominal", None)
    job = _job(name, list(sources.values()), sweep.start_iterations, 0, sweep, nominal, None)
    done = _run([job], sweep, say, time.monotonic())
    return str((sweep.folder / "jobs" / name / "training").resolve()) if name in done else None


def _job(
    name: str, motions: list[str], iterations: int, seed: int, sweep: Sweep, method: Method, start: str | None
) -> Job:
    return Job(
        name,
        "haloid.bench.skills.jobs:train_job",
        {
            "motions": motions,
            "actions": sweep.actions,
            "randomisation": method.randomisation,
            "patch": method.patch,
            "iterations": iterations,
            "difficulty": DIFFICULTY,
            "noise": 1.0 if sweep.actions == "feedforward" else NOISE,
            "delay_s": DELAY_S,
            "state_estimation": sweep.state_estimation,
            "seed": seed,
            "start": start,
        },
    )


def _run(jobs: list[Job], sweep: Sweep, say: Callable[[str], None], began: float) -> dict[str, Any]:
    """What the finished ones of these jobs returned."""
    left_s = None if sweep.hours is None else max(sweep.hours * 3600 - (time.monotonic() - began), 0.0)
    outcome = run_sweep(
        jobs,
        sweep.folder,
        workers=sweep.workers,
        ray_address=sweep.ray_address,
        deadline_s=left_s,
        fresh=sweep.fresh,
        watch=lambda event: say(_words(event)),
    )
    if outcome.failures:
        name, failure = next(iter(outcome.failures.items()))
        raise HaloidError(f"{len(outcome.failures)} trainings failed; {name}: {failure.message}. See its log.txt")
    return outcome.results


def _group(motions: tuple[str, ...]) -> str:
    """A short name of motions that one policy learns."""
    return motions[0] if len(motions) == 1 else f"{motions[0]}-and-{len(motions) - 1}-more"


def _job_name(motions: tuple[str, ...], method: str, seed: int, sweep: Sweep) -> str:
    load = f"-setting-{sweep.setting}" if sweep.setting > 1 else ""
    return f"{_group(motions)}-{method}{load}-" + ("controller" if sweep.actions == "controller" else str(seed))


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
            f"failures {metrics['failures_per_s']:.2f}/s, {iteration.steps / iteration.seconds['all']:,.0f} steps/s"
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
                motions=tuple(arguments["motions"]),
                model=model,
                actions=arguments["actions"],
                randomisation=arguments["randomisation"],
                noise=arguments["noise"],
                delay_s=arguments["delay_s"],
                state_estimation=arguments["state_estimation"],
                seed=arguments["seed"],
                threads=task.threads,
            ),
            iterations=arguments["iterations"],
            difficulty=arguments["difficulty"],
            threads=task.threads,
        )
        start = None if arguments["start"] is None else Path(arguments["start"])
        outcome = train(config, folder, minutes=minutes, warm_start=start, on_iteration=tell)
    if not outcome.finished:
        raise Unfinished(f"at iteration {outcome.iterations} of {arguments['iterations']}")
    export_onnx(load_policy(folder), task.folder / "policy.onnx")
    return {"iterations": outcome.iterations, "steps": outcome.steps, "minutes": round(outcome.seconds / 60, 2)}


def _sources(motions: Sequence[str]) -> dict[str, str]:
    """Own motions and whole paths of files, by name; what cannot be trained is reported before anything is trained."""
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
