"""`haloid train`: learn a policy that makes a robot follow a motion."""

import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from haloid.cli import console
from haloid.cli.repeat import parse_with_config
from haloid.errors import HaloidError
from haloid.extras import MissingExtraError, require_extra
from haloid.robots.entries import DEFAULT_ROBOT

if TYPE_CHECKING:
    from haloid.skills.training.learning import Iteration, TrainingConfig


@dataclass(frozen=True)
class Config:
    """Train a motion-tracking policy on a robot model, such as the one that haloid identify found.

    Writes to the folder: policy.onnx (the best policy, ready to run), policy.pt, checkpoint.pt, config.yaml,
    metrics.jsonl and tensorboard/. A training that was stopped goes on with --resume, exactly where its last
    checkpoint was.

    Examples:
        haloid train --motion squat -o out/squat --minutes 10
        haloid train --motion walk --model out/result/calibrated.xml -o out/walk --minutes 60 --until 0.95
        haloid train --motion clip.csv --repair --warm-start out/walk -o out/clip
        haloid train --resume out/walk --iterations 600
        haloid train --config out/walk/config.yaml --seed 2 -o out/walk-2
        haloid train --motion walk --actions controller --model out/result/calibrated.xml -o out/controller
        haloid train --motion walk --actions controller --search 60 -o out/robust-controller
        haloid train --motion excitation --clamp left_ankle_roll_link --randomisation wide --learn-arms -o out/explore
        haloid train --motion walk --backend mjlab --gpu-ids 0 1 -o out/walk-gpu
        haloid train --motion squat --preset asap -o out/squat-asap
    """

    motion: tuple[str, ...] = ()
    """Own motions by name (haloid motions list), or files; several: one policy learns them all."""
    model: str = DEFAULT_ROBOT
    """The robot to train on: g1, a model file such as calibrated.xml, or a patch.json."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Folder to write to."""
    resume: Path | None = None
    """Go on with the training in this folder, with its own settings."""
    minutes: float | None = None
    """Stop after this long, with the best policy so far."""
    iterations: int = 2000
    """Stop after this many rounds of acting and learning."""
    until: float | None = None
    """Stop as soon as this share of 48 robots gets through a trial, held every 100 iterations at full difficulty."""
    preset: Literal["mjlab", "asap"] = "mjlab"
    """asap: ASAP's pre-training, one motion. The policy sees the motion's phase and five readings of its sensors; Table
    I's rewards, failure beyond 1.5, later 0.3 m. Where nothing else is said, --actions mjlab, --randomisation asap
    and --history 5."""
    actions: Literal["feedforward", "controller", "mjlab"] = "feedforward"
    """feedforward: learn corrections to targets computed from the model; controller: no learning, a tracking
    controller computed from the model in about a minute; mjlab: learn offsets from the default pose."""
    randomisation: Literal["none", "nominal", "wide", "mjlab", "asap", "asap-on-time"] = "nominal"
    """How much the robots differ: HALO's Table I, nominal or wide, mjlab's own, or ASAP's Table VI, with or without its
    delay."""
    clamp: str | None = None
    """Hold this foot fixed, as for the exploration policy that haloid record --policy plays."""
    difficulty: float = 1.0
    """How rough the curriculum gets: 1 is all of mjlab's pushes and disturbed starts."""
    noise: float = 1.0
    """Of the observations, as a fraction of mjlab's, which is several times a real robot's."""
    delay: float = 0.0
    """From the policy's targets to the servos, s."""
    state_estimation: bool = False
    """The policy sees its position and linear velocity; a real robot seldom does."""
    history: int = 3
    """Readings of its sensors that a policy on feed-forward targets or of ASAP's preset sees; a few show how fast it
    moves."""
    search: int = 0
    """With --actions controller: try this many more designs on robots that differ by all of the randomisation, some
    seconds each, and keep the best."""
    learn_arms: bool = False
    """Correct the arms too, not only legs and waist."""
    repair: bool = False
    """Put the reference's soles flat and on the ground first; for clips from elsewhere."""
    warm_start: Path | None = None
    """Begin with the networks of another training's folder."""
    robots: int = 192
    """Simulated side by side; on GPUs several thousand are worth it."""
    substeps: int = 3
    """Physics steps in a control step of 20 ms; policies are measured with 4."""
    seed: int = 0
    checkpoint_every: int = 50
    """Iterations between checkpoints: the most that a stopped training loses."""
    backend: Literal["cpu", "mjlab"] = "cpu"
    """mjlab: on GPUs, with the extra mjlab."""
    gpu_ids: tuple[int, ...] = ()
    """GPUs for mjlab; none: its slow CPU mode."""
    config: Path | None = None
    """Repeat the training that wrote this config.yaml, into another folder; options given beside it win."""


MAY_CHANGE = ("minutes", "iterations", "until", "model", "backend", "gpu_ids")
"""Options that may change when a training goes on; the model may only have moved."""


ASAP = Config(preset="asap", actions="mjlab", randomisation="asap", history=5)
"""The options of the preset, where nothing else is said."""


def parse(words: list[str]) -> Config | int:
    config = parse_with_config(Config, "train", words, _config_of)
    if config.preset == "asap" and config.config is None and config.resume is None:
        config = parse_with_config(Config, "train", words, _config_of, default=ASAP)
    if mistake := _mistake(config):
        console.error(mistake)
        return 2
    return config if config.resume is None else _resumed(config.resume, words)


def _mistake(config: Config) -> str | None:
    """What is wrong with the options, if anything is."""
    if config.resume is None and (not config.motion or config.out is None):
        return "give a motion and a folder: haloid train --motion squat -o out/squat; or --resume FOLDER"
    if config.clamp is not None and config.backend == "mjlab":
        return "a clamped robot is trained on the CPU; leave out --backend mjlab, or --clamp"
    if "asap" in (config.preset, config.randomisation) and config.backend == "mjlab":
        return "ASAP's pre-training and its randomisation are on the CPU; leave out --backend mjlab, or them"
    if config.actions == "controller" and config.backend == "mjlab":
        return "the controller is computed on the CPU and learns nothing; leave out --backend mjlab"
    if config.resume is not None and (config.motion or config.out is not None or config.config is not None):
        return "--resume goes on with a training and its own settings; leave out --motion, -o and --config"
    return None


def _resumed(folder: Path, words: list[str]) -> Config | int:
    """The options of a training that goes on: its own, and those beside that may change."""
    _require_learning()
    from haloid.skills.training.run_config import read_config

    read_config(folder)
    begun = replace(_config_of(folder / "config.yaml"), resume=folder, minutes=None)
    asked = parse_with_config(Config, "train", words, lambda _: begun, file=folder)
    changed = [field.name for field in fields(Config) if getattr(asked, field.name) != getattr(begun, field.name)]
    refused = [f"--{name.replace('_', '-')}" for name in changed if name not in MAY_CHANGE]
    if refused:
        may = ", ".join(f"--{name.replace('_', '-')}" for name in MAY_CHANGE)
        console.error(
            f"{', '.join(refused)}: --resume goes on with a training and its own settings, which differ. "
            f"Leave out what is named here, or start a new training. What may change: {may}"
        )
        return 2
    return asked


def run(config: Config) -> None:
    if config.backend == "mjlab":
        _train_with_mjlab(config)
        return
    _require_learning()
    with console.progress("Training", _plan(config)) as say:
        from haloid.skills.training.run_folder import finish, resume, train

        tell = _teller(say, config.minutes, config.iterations)
        if config.resume is not None:
            outcome = resume(
                config.resume,
                minutes=config.minutes,
                iterations=config.iterations,
                until=config.until,
                model=config.model,
                on_iteration=tell,
            )
        else:
            assert config.out is not None
            outcome = train(
                _training_config(config),
                config.out,
                minutes=config.minutes,
                warm_start=config.warm_start,
                on_iteration=tell,
                on_search=say,
            )
    policy = finish(outcome)
    console.results.print(
        f"{outcome.iterations} iteration{'s' * (outcome.iterations != 1)}, {outcome.steps:,} steps in "
        f"{outcome.seconds / 60:.1f} minutes ({outcome.steps / max(outcome.seconds, 1e-9):,.0f} per second)"
    )
    if outcome.iterations:
        console.results.print(f"the best policy got through {outcome.success:.0%} of its trial, at full difficulty")
    console.wrote(policy)
    console.next_command("evaluate", outcome.folder)


def _require_learning() -> None:
    require_extra("train", "learn", "torch", "rsl_rl", "mjbatch", "tensorboard", "onnx", "onnxruntime")


def _train_with_mjlab(config: Config) -> None:
    """mjlab shows its own progress."""
    if config.minutes is not None or config.warm_start is not None or config.until is not None:
        raise HaloidError(
            "--minutes, --until and --warm-start work with --backend cpu only; with mjlab give --iterations"
        )
    try:
        from haloid.skills.mjlab_backend.train import resume_with_mjlab, train_with_mjlab
    except ModuleNotFoundError as error:
        raise MissingExtraError("train --backend mjlab", [str(error.name)], "mjlab") from error
    if config.resume is not None:
        outcome = resume_with_mjlab(
            config.resume, iterations=config.iterations, model=config.model, gpu_ids=config.gpu_ids
        )
    else:
        assert config.out is not None
        outcome = train_with_mjlab(_training_config(config), config.out, gpu_ids=config.gpu_ids)
    console.wrote(outcome.policy)
    console.next_command("evaluate", outcome.policy)


def _config_of(file: Path) -> Config:
    """The options of the run that wrote this config.yaml, into the same folder."""
    _require_learning()
    from haloid.skills.training.run_config import read_run_config

    training, session = read_run_config(file)
    task = training.task
    return Config(
        motion=task.motions,
        model=task.model,
        out=file.parent,
        minutes=session.minutes,
        iterations=training.iterations,
        until=training.until,
        preset=task.preset,
        actions=task.actions,
        randomisation=task.randomisation,
        clamp=task.clamp,
        difficulty=training.difficulty,
        noise=task.noise,
        delay=task.delay_s,
        state_estimation=task.state_estimation,
        history=task.history,
        search=task.search,
        learn_arms=task.learn_arms,
        repair=task.repair,
        warm_start=None if session.warm_start is None else Path(session.warm_start),
        robots=task.robots,
        substeps=task.substeps,
        seed=task.seed,
        checkpoint_every=training.checkpoint_every,
        backend=session.backend,
        gpu_ids=session.gpu_ids,
    )


def _training_config(config: Config) -> "TrainingConfig":
    from haloid.skills.task.task import TaskConfig
    from haloid.skills.training.learning import TrainingConfig
    from haloid.skills.training.run_config import read_run_config

    begun = TrainingConfig(TaskConfig(config.motion))
    if config.config is not None:
        begun, _ = read_run_config(config.config)  # for the learner's settings, which are not options
    return replace(
        begun,
        task=replace(
            begun.task,
            motions=config.motion,
            model=config.model,
            preset=config.preset,
            actions=config.actions,
            randomisation=config.randomisation,
            clamp=config.clamp,
            noise=config.noise,
            delay_s=config.delay,
            state_estimation=config.state_estimation,
            history=config.history,
            search=config.search,
            learn_arms=config.learn_arms,
            robots=config.robots,
            substeps=config.substeps,
            repair=config.repair,
            seed=config.seed,
        ),
        iterations=config.iterations,
        until=config.until,
        difficulty=config.difficulty,
        checkpoint_every=config.checkpoint_every,
    )


def _plan(config: Config) -> str:
    """What to expect, said before anything is loaded: PyTorch alone takes many seconds."""
    begins = "loads PyTorch and prepares the motion, up to a minute"
    if config.minutes is None:
        return f"{begins}; the time left is shown after the first iteration"
    end = datetime.now() + timedelta(minutes=config.minutes)
    return f"{begins}, then learns for {config.minutes:g} min at most, until about {end:%H:%M}"


def _teller(say: console.Progress, minutes: float | None, iterations: int) -> "Callable[[Iteration], None]":
    """Reports after every iteration how it goes and how long it will take."""
    started: list[float] = []
    told: list[int] = []

    def tell(iteration: "Iteration") -> None:
        if not started:  # the time before learning says nothing about its speed
            started.append(time.monotonic() - iteration.seconds["all"])
        told.append(iteration.number)
        seconds = time.monotonic() - started[0]
        left = (iterations - iteration.number) * seconds / len(told)
        if minutes is not None:
            left = min(minutes * 60 - seconds, left)
        metrics = iteration.metrics
        say(
            f"iteration {iteration.number}: reward {metrics['reward']:.2f}, error {metrics['body_error_mm']:.0f} mm, "
            f"failures {metrics['failures_per_s']:.2f}/s, level {metrics['level']:.2f}, "
            f"{iteration.steps / iteration.seconds['all']:,.0f} steps/s, {max(left, 0) / 60:.1f} min left",
            done=seconds / max(seconds + left, 1e-9),
            value=metrics["reward"],
        )

    return tell
