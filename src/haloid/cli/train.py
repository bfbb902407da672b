"""`haloid train`: learn a policy that makes a robot follow a motion."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from haloid.cli import console
from haloid.cli.extras import require_extra
from haloid.errors import HaloidError

if TYPE_CHECKING:
    from haloid.skills.train import TrainingOutcome
    from haloid.skills.training import Iteration, TrainingConfig


@dataclass(frozen=True)
class Config:
    """Train a motion-tracking policy on a robot model, such as the one that haloid identify found.

    Writes to the folder: policy.onnx (the best policy, ready to run), policy.pt, checkpoint.pt, config.yaml,
    metrics.jsonl and tensorboard/. A training that was stopped goes on with --resume, exactly where its last
    checkpoint was.

    Examples:
        haloid train --motion squat -o out/squat --minutes 10
        haloid train --motion walk --model out/result/calibrated.xml -o out/walk --minutes 60
        haloid train --motion clip.csv --repair --warm-start out/walk -o out/clip
        haloid train --resume out/walk
        haloid train --motion excitation --clamp left_ankle_roll_link --randomisation wide -o out/explore
        haloid train --motion walk --backend mjlab --gpu-ids 0 1 -o out/walk-gpu
    """

    motion: tuple[str, ...] = ()
    """Own motions by name (haloid motions list), or files; several: one policy learns them all."""
    model: str = "g1"
    """The robot to train on: g1, a model file such as calibrated.xml, or a patch.json."""
    out: Annotated[Path | None, tyro.conf.arg(aliases=["-o"])] = None
    """Folder to write to."""
    resume: Path | None = None
    """Go on with the training in this folder; its own settings count."""
    minutes: float | None = None
    """Stop after this long, with the best policy so far."""
    iterations: int = 300
    """Stop after this many rounds of acting and learning."""
    actions: Literal["feedforward", "mjlab"] = "feedforward"
    """feedforward: correct a controller made from the model; mjlab: offsets from the default pose."""
    randomisation: Literal["none", "nominal", "wide", "mjlab"] = "nominal"
    """How much the robots differ: HALO's Table I, nominal or wide, or mjlab's own."""
    clamp: str | None = None
    """Hold this foot fixed, as for the exploration policy that haloid record --policy plays."""
    difficulty: float = 1.0
    """How rough the curriculum gets: 1 is all of mjlab's pushes and disturbed starts."""
    noise: float = 1.0
    """Of the observations, as a part of mjlab's, which is several times a real robot's."""
    delay: float = 0.0
    """From the policy's targets to the servos, s."""
    state_estimation: bool = False
    """The policy sees its place and its linear velocity; a real robot seldom does."""
    learn_arms: bool = False
    """Correct the arms too, not only legs and waist."""
    repair: bool = False
    """Put the reference's soles flat and on the ground first; for clips of other people."""
    warm_start: Path | None = None
    """Begin with the networks of another training's folder."""
    robots: int = 512
    """Simulated side by side."""
    substeps: int = 3
    """Physics steps in a control step of 20 ms; policies are measured with 4."""
    seed: int = 0
    checkpoint_every: int = 20
    """Iterations from one checkpoint to the next, and so the most that a stopped training loses."""
    backend: Literal["cpu", "mjlab"] = "cpu"
    """mjlab: on GPUs, with the extra mjlab."""
    gpu_ids: tuple[int, ...] = ()
    """GPUs for mjlab; none: its slow CPU mode."""


def run(config: Config) -> None:
    _check(config)
    if config.backend == "mjlab":
        _train_with_mjlab(config)
        return
    require_extra("train", "learn", "torch", "rsl_rl", "mjbatch", "tensorboard", "onnx", "onnxruntime")
    from haloid.skills.train import read_config, resume, train

    training_config = read_config(config.resume) if config.resume else _training_config(config)
    with console.progress("Training") as say:
        tell = _teller(say, config.minutes, training_config.iterations)
        if config.resume is not None:
            outcome = resume(config.resume, minutes=config.minutes, on_iteration=tell)
        else:
            assert config.out is not None
            outcome = train(
                training_config, config.out, minutes=config.minutes, warm_start=config.warm_start, on_iteration=tell
            )
    _finish(outcome)


def _check(config: Config) -> None:
    if config.resume is None and (not config.motion or config.out is None):
        raise HaloidError("give a motion and a folder: haloid train --motion squat -o out/squat; or --resume FOLDER")
    if config.clamp is not None and config.backend == "mjlab":
        raise HaloidError("a clamped robot is trained on the CPU; leave out --backend mjlab, or --clamp")
    if config.resume is not None and (config.motion or config.out is not None):
        raise HaloidError("--resume goes on with a training and its own settings; leave out --motion and -o")


def _train_with_mjlab(config: Config) -> None:
    """mjlab shows its own progress."""
    if config.minutes is not None or config.warm_start is not None:
        raise HaloidError("--minutes and --warm-start are of the CPU backend; with mjlab give --iterations")
    try:
        from haloid.skills.mjlab_backend.train import resume_with_mjlab, train_with_mjlab
    except ModuleNotFoundError as error:
        raise HaloidError(f"the backend mjlab needs {error.name}: pip install 'haloid[mjlab]'") from error
    if config.resume is not None:
        outcome = resume_with_mjlab(config.resume, gpu_ids=config.gpu_ids)
    else:
        assert config.out is not None
        outcome = train_with_mjlab(_training_config(config), config.out, gpu_ids=config.gpu_ids)
    console.wrote(outcome.policy)


def _training_config(config: Config) -> "TrainingConfig":
    from haloid.skills.task import TaskConfig
    from haloid.skills.training import TrainingConfig

    return TrainingConfig(
        task=TaskConfig(
            motions=config.motion,
            model=config.model,
            actions=config.actions,
            randomisation=config.randomisation,
            clamp=config.clamp,
            noise=config.noise,
            delay_s=config.delay,
            state_estimation=config.state_estimation,
            learn_arms=config.learn_arms,
            robots=config.robots,
            substeps=config.substeps,
            repair=config.repair,
            seed=config.seed,
        ),
        iterations=config.iterations,
        difficulty=config.difficulty,
        checkpoint_every=config.checkpoint_every,
    )


def _teller(say: Callable[[str], None], minutes: float | None, iterations: int) -> "Callable[[Iteration], None]":
    """Tells after every iteration how it goes and how long it will take."""
    started = time.monotonic()
    told: list[int] = []

    def tell(iteration: "Iteration") -> None:
        told.append(iteration.number)
        seconds = time.monotonic() - started
        left = (iterations - iteration.number) * seconds / len(told)
        if minutes is not None:
            left = min(minutes * 60 - seconds, left)
        metrics = iteration.metrics
        say(
            f"iteration {iteration.number}: reward {metrics['reward']:.2f}, error {metrics['body_error_mm']:.0f} mm, "
            f"failures {metrics['failures_a_s']:.2f}/s, level {metrics['level']:.2f}, "
            f"{iteration.steps / iteration.seconds['all']:,.0f} steps/s, {max(left, 0) / 60:.1f} min left"
        )

    return tell


def _finish(outcome: "TrainingOutcome") -> None:
    from haloid.skills.export import export_onnx
    from haloid.skills.policy import load_policy

    export_onnx(load_policy(outcome.folder), outcome.folder / "policy.onnx")
    console.results.print(
        f"{outcome.iterations} iterations, {outcome.steps:,} steps in {outcome.seconds / 60:.1f} minutes "
        f"({outcome.steps / max(outcome.seconds, 1e-9):,.0f} a second)"
    )
    console.wrote(outcome.folder / "policy.onnx")
