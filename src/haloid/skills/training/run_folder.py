"""Skills, a training's folder: from a configuration to policy.pt, with progress, metrics and checkpoints on the way.

In: a `TrainingConfig` and a folder. Out, in the folder: config.yaml, checkpoint.pt, metrics.jsonl (one line per
iteration), tensorboard/, policy.pt (the best policy so far) and, if a simulation ever became NaN,
diverged/. A training that was stopped for any reason goes on exactly from its last checkpoint.
"""

import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from haloid.errors import HaloidError
from haloid.outputs import atomic_file
from haloid.skills.policies.networks import network_of
from haloid.skills.policies.policy import TrackingPolicy, load_policy, save_policy
from haloid.skills.task.simulation import Simulate, Simulation
from haloid.skills.task.transforms import Transform
from haloid.skills.training.checkpoint import FILE, load_checkpoint, save_checkpoint
from haloid.skills.training.learning import Iteration, Training, TrainingConfig
from haloid.skills.training.run_config import (
    Session,
    check_delta,
    check_model,
    read_config,
    read_session,
    whole_paths,
    write_config,
)

KEPT_DIVERGENCES = 10
_LOG = logging.getLogger(__name__)


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
    success: float
    """Of the best policy in its trial, at the hardest level; 0 if nothing was tried."""


def train(
    config: TrainingConfig,
    folder: Path,
    *,
    minutes: float | None = None,
    warm_start: Path | None = None,
    on_iteration: Callable[[Iteration], None] = lambda _: None,
    on_search: Callable[[str], None] = lambda _: None,
    transforms: tuple[Transform, ...] = (),
    simulate: Simulate = Simulation,
    delta_sha256: str | None = None,
) -> TrainingOutcome:
    """Train from the beginning into a folder that holds no training yet; `transforms` and `simulate` are not
    kept in it, but for the hash of the delta model that is among them."""
    refuse_training(folder)
    config = whole_paths(config)
    training = Training(config, transforms, simulate, on_search)
    if warm_start is not None:
        begun = load_checkpoint(warm_start)
        training.warm_start(*best_networks(begun), float(begun["level"]))
    folder.mkdir(parents=True, exist_ok=True)
    begun_with = None if warm_start is None else str(warm_start.resolve())
    write_config(folder, config, Session("cpu", minutes, begun_with, delta_sha256=delta_sha256))
    return _run(training, folder, [], minutes, on_iteration)


def refuse_training(folder: Path) -> None:
    """Raise if the folder holds a training, which a new one would overwrite."""
    if (folder / FILE).exists():
        raise HaloidError(f"{folder} holds a training already. Go on with it: haloid train --resume {folder}")


def resume(
    folder: Path,
    *,
    minutes: float | None = None,
    iterations: int | None = None,
    until: float | None = None,
    model: str | None = None,
    threads: int | None = None,
    on_iteration: Callable[[Iteration], None] = lambda _: None,
    transforms: tuple[Transform, ...] = (),
    simulate: Simulate = Simulation,
    delta_sha256: str | None = None,
) -> TrainingOutcome:
    """Go on with a training from its last checkpoint, up to `iterations` in total or a trial's success of `until`
    (default: what it was started with).

    `model` and `threads` are for another machine: where the robot's file lies there, and how many cores there are.
    """
    state = load_checkpoint(folder)
    config = begun = read_config(folder)
    check_delta(folder, delta_sha256)
    if iterations is not None:
        config = replace(config, iterations=iterations)
    if until is not None:
        config = replace(config, until=until)
    if model is not None:
        config = whole_paths(replace(config, task=replace(config.task, model=model)))
    check_model(folder, config.task.model)
    if config != begun:
        write_config(folder, config, read_session(folder))
    if threads is not None:
        config = replace(config, threads=threads, task=replace(config.task, threads=threads))
    training = Training(config, transforms, simulate)
    training.load_state(state)
    records = [record for record in _records(folder / "metrics.jsonl") if record["iteration"] <= training.iteration]
    return _run(training, folder, records, minutes, on_iteration)


def _records(file: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl up to one that is torn: whatever follows is written again."""
    records = []
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.is_file() else []
    for line in lines:
        try:
            record = json.loads(line)
            int(record["iteration"])
        except (ValueError, KeyError, TypeError):
            _LOG.warning("%s: a line is torn and what follows it is left out: %.40s", file, line)
            break
        records.append(record)
    return records


def finish(outcome: TrainingOutcome) -> Path:
    """Writes policy.onnx of the best policy beside the other files; returns its path."""
    from haloid.skills.policies.export import export_onnx

    file = outcome.folder / "policy.onnx"
    export_onnx(load_policy(outcome.folder), file)
    return file


def last_policy(folder: Path) -> TrackingPolicy:
    """The policy after the last iteration, which no trial chose."""
    best, state = load_policy(folder), load_checkpoint(folder)
    network = network_of(state["ppo"]["actor_state_dict"])
    return TrackingPolicy(best.facts, network, best.actions, best.reference).eval()


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
    while not training.done:
        if minutes is not None and time.monotonic() - started > minutes * 60:
            break
        iteration = training.step()
        steps += iteration.steps
        records.append({"iteration": iteration.number, **iteration.metrics})
        for name, value in iteration.metrics.items():
            board.add_scalar(name if "/" in name else f"training/{name}", value, iteration.number)
        board.add_scalar("speed/steps_per_s", iteration.steps / iteration.seconds["all"], iteration.number)
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
        finished=training.done,
        success=training.best.success,
    )


def _store(training: Training, folder: Path, records: list[dict[str, Any]]) -> None:
    """Metrics first: a checkpoint without its metrics could not go on, metrics ahead of their checkpoint are cut."""
    with atomic_file(folder / "metrics.jsonl") as beside:
        beside.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    save_policy(training.policy(str(folder)), folder / "policy.pt")
    save_checkpoint(training.state(), folder)


def _divergence_writer(folder: Path) -> Callable[[dict[str, np.ndarray]], None]:
    """Keeps the first few states from which MuJoCo diverged, for debugging."""

    def write(state: dict[str, np.ndarray]) -> None:
        number = len(list(folder.glob("*.npz"))) if folder.is_dir() else 0
        if number < KEPT_DIVERGENCES:
            with atomic_file(folder / f"{number + 1}.npz") as beside, beside.open("wb") as stream:
                np.savez(stream, **{name: np.asarray(value) for name, value in state.items()})  # pyright: ignore[reportArgumentType]

    return write
