"""Skills, a training's folder: from a configuration to policy.pt, with progress, books and checkpoints on the way.

In: a `TrainingConfig` and a folder. Out, in the folder: config.yaml, checkpoint.pt, metrics.jsonl (a line an
iteration), tensorboard/, policy.pt (the best policy so far) and, if a simulation ever left the finite numbers,
diverged/. A training that was stopped, by whatever, goes on from its last checkpoint as if nothing had happened.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from haloid.errors import HaloidError
from haloid.outputs import atomic_file
from haloid.skills.checkpoint import FILE, load_checkpoint, save_checkpoint
from haloid.skills.policy import save_policy
from haloid.skills.ppo import PpoConfig
from haloid.skills.task import TaskConfig
from haloid.skills.training import Iteration, Training, TrainingConfig

KEPT_DIVERGENCES = 10


@dataclass(frozen=True)
class TrainingOutcome:
    folder: Path
    iterations: int
    steps: int
    """Control steps of all robots in this session."""
    seconds: float
    """Of this session."""
    finished: bool
    """False: the time was up before the iterations were."""


def train(
    config: TrainingConfig,
    folder: Path,
    *,
    minutes: float | None = None,
    warm_start: Path | None = None,
    on_iteration: Callable[[Iteration], None] = lambda _: None,
) -> TrainingOutcome:
    """Train from the beginning into a folder that holds no training yet."""
    if (folder / FILE).exists():
        raise HaloidError(f"{folder} holds a training already. Go on with it: haloid train --resume {folder}")
    training = Training(config)
    if warm_start is not None:
        networks = load_checkpoint(warm_start)
        training.warm_start(*best_networks(networks))
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_file(folder / "config.yaml") as beside:
        beside.write_text(yaml.safe_dump(_plain(asdict(config)), sort_keys=False), encoding="utf-8")
    return _run(training, folder, [], minutes, on_iteration)


def resume(
    folder: Path,
    *,
    minutes: float | None = None,
    iterations: int | None = None,
    model: str | None = None,
    threads: int | None = None,
    on_iteration: Callable[[Iteration], None] = lambda _: None,
) -> TrainingOutcome:
    """Go on with a training from its last checkpoint, to `iterations` in all (default: those it was begun with).

    `model` and `threads` are for another machine: where the robot's file lies there, and how many cores there are.
    """
    state = load_checkpoint(folder)
    config = read_config(folder)
    if iterations is not None:
        config = replace(config, iterations=iterations)
    if model is not None:
        config = replace(config, task=replace(config.task, model=model))
    if threads is not None:
        config = replace(config, threads=threads, task=replace(config.task, threads=threads))
    training = Training(config)
    training.load_state(state)
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    records = [record for record in map(json.loads, lines) if record["iteration"] <= training.iteration]
    return _run(training, folder, records, minutes, on_iteration)


def read_config(folder: Path) -> TrainingConfig:
    file = folder / "config.yaml"
    if not file.is_file():
        raise HaloidError(
            f"{folder} holds no training: it has no {file.name}. Expected a folder that haloid train wrote to"
        )
    values = yaml.safe_load(file.read_text(encoding="utf-8"))
    task, ppo = values.pop("task"), values.pop("ppo")
    task["motions"] = tuple(task["motions"])
    if ppo is not None:
        ppo["hidden"] = tuple(ppo["hidden"])
    return TrainingConfig(task=TaskConfig(**task), ppo=None if ppo is None else PpoConfig(**ppo), **values)


def best_networks(state: dict[str, Any]) -> tuple[dict, dict]:
    """The best actor and the last critic of a checkpoint."""
    actor = state["best"]["actor"] or state["ppo"]["actor_state_dict"]
    return actor, state["ppo"]["critic_state_dict"]


def _run(
    training: Training,
    folder: Path,
    records: list[dict[str, Any]],
    minutes: float | None,
    on_iteration: Callable[[Iteration], None],
) -> TrainingOutcome:
    from torch.utils.tensorboard import SummaryWriter

    started, steps = time.monotonic(), 0
    training.task.environment.on_diverged = _divergence_writer(folder / "diverged")
    board = SummaryWriter(str(folder / "tensorboard"), purge_step=training.iteration + 1)
    if not training.iteration:
        _store(training, folder, records)
    while training.iteration < training.config.iterations:
        if minutes is not None and time.monotonic() - started > minutes * 60:
            break
        iteration = training.step()
        steps += iteration.steps
        records.append({"iteration": iteration.number, **iteration.metrics})
        for name, value in iteration.metrics.items():
            board.add_scalar(name if "/" in name else f"training/{name}", value, iteration.number)
        board.add_scalar("speed/steps_a_s", iteration.steps / iteration.seconds["all"], iteration.number)
        if iteration.number % training.config.checkpoint_every == 0:
            _store(training, folder, records)
        on_iteration(iteration)
    board.close()
    _store(training, folder, records)
    return TrainingOutcome(
        folder=folder,
        iterations=training.iteration,
        steps=steps,
        seconds=time.monotonic() - started,
        finished=training.iteration >= training.config.iterations,
    )


def _store(training: Training, folder: Path, records: list[dict[str, Any]]) -> None:
    """Books first: a checkpoint without its books could not go on, books ahead of their checkpoint are cut."""
    with atomic_file(folder / "metrics.jsonl") as beside:
        beside.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    save_policy(training.policy(str(folder)), folder / "policy.pt")
    save_checkpoint(training.state(), folder)


def _divergence_writer(folder: Path) -> Callable[[dict[str, np.ndarray]], None]:
    """Keeps the first few states from which MuJoCo diverged, for whoever wants to look into them."""

    def write(state: dict[str, np.ndarray]) -> None:
        number = len(list(folder.glob("*.npz"))) if folder.is_dir() else 0
        if number < KEPT_DIVERGENCES:
            with atomic_file(folder / f"{number + 1}.npz") as beside, beside.open("wb") as stream:
                np.savez(stream, **{name: np.asarray(value) for name, value in state.items()})  # pyright: ignore[reportArgumentType]

    return write


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else value
