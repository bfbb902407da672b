"""A training in its folder: dataset in, operator out; a run that was killed goes on from its last stored state.

`training.pt` holds the state of the training until it is done, `training.json` its settings and what it was trained on.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch

from haloid.errors import HaloidError, one_line
from haloid.gap.crowd import BaseModels
from haloid.gap.dataset.pairs import Dataset
from haloid.gap.operator.few_logs import fit_sticking
from haloid.gap.operator.frames import Frames, build_frames
from haloid.gap.operator.model import LAST, WEIGHTS, Operator, read_operator, write_operator
from haloid.gap.operator.networks import Network
from haloid.gap.operator.train import TrainConfig, Training
from haloid.gap.ppo.operator import PpoTraining
from haloid.outputs import atomic_file
from haloid.skills.policies.tensor_file import write_tensors

STATE, SETTINGS = "training.pt", "training.json"
STORE_S = 20.0
"""Time between two stores."""
_KINDS = {"supervised": Training, "ppo": PpoTraining}
Say = Callable[[str, float | None], None]


def train_operator(
    dataset: Dataset,
    config: TrainConfig,
    folder: Path | None = None,
    say: Say | None = None,
    simulated: Callable[[], Frames] | None = None,
) -> Operator:
    """Trains on all pairs of `dataset`; with a folder, stores itself there, and goes on with what is there.

    `simulated` gives the frames where another training on the same data and base has them.
    """
    say = say or (lambda words, share: None)
    wanted = {"config": json.loads(json.dumps(asdict(config))), "dataset": fingerprint(dataset)}
    if folder is not None and _open(folder, wanted):
        say("trained already", 1.0)
        return read_operator(folder)
    models = BaseModels(dataset.base)
    if simulated is not None:
        frames = simulated()
    else:
        frames = build_frames(models, dataset.pairs, lambda words, share: say(f"simulating, {words}", share))
    if config.network.kind == "sticking":
        network = fit_sticking(frames, dataset.pairs, models, config.network, say)
    else:
        network = _trained(frames, models, config, folder, say)
    payloads = [pair.payload_kg for pair in dataset.pairs]
    operator = Operator(network.eval(), dataset.base, frames.rate_hz, (min(payloads), max(payloads)), config.duration)
    if folder is not None:
        write_operator(operator, folder)
        (folder / STATE).unlink(missing_ok=True)
    return operator


def _trained(frames: Frames, models: BaseModels, config: TrainConfig, folder: Path | None, say: Say) -> Network:
    training = _KINDS[config.method](frames, models, config)
    if folder is not None and (folder / STATE).is_file():
        _go_on(training, folder / STATE)
        say(f"going on with {training.stage}, {training.done} done", None)
    stored_s = time.monotonic()
    for words, share in training.run():
        say(words, share)
        if folder is not None and time.monotonic() - stored_s > STORE_S:
            store(training, folder)
            stored_s = time.monotonic()
    return training.network


def store(training: Training, folder: Path) -> None:
    write_tensors(training.state_dict(), folder / STATE)


def fingerprint(dataset: Dataset) -> str:
    """Which data it is: a hash of all commands and readings."""
    digest = hashlib.sha256()
    for pair in dataset.pairs:
        digest.update(pair.target_rad.tobytes())
        digest.update(pair.real.q_rad.tobytes())
    digest.update(repr(dataset.base).encode())
    return digest.hexdigest()


def _open(folder: Path, wanted: dict) -> bool:
    """Whether this training was done before."""
    settings = folder / SETTINGS
    if settings.is_file():
        found = json.loads(settings.read_text(encoding="utf-8"))
        if found != wanted:
            both = {**found.get("config", {}), **wanted["config"]}
            other = [name for name in both if found.get("config", {}).get(name) != wanted["config"].get(name)]
            differ = f"other settings ({', '.join(sorted(other))})" if other else "other data"
            raise HaloidError(
                f"{folder} holds a training with {differ}; give the same to go on with it, or another folder"
            )
    elif folder.is_dir() and any(folder.iterdir()) and not (folder / WEIGHTS).is_file():
        raise HaloidError(f"{folder} is not empty and holds no training; give another folder")
    if settings.is_file() and (folder / LAST).is_file() and not (folder / STATE).is_file():
        return True
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_file(settings) as beside:
        beside.write_text(json.dumps(wanted, indent=1), encoding="utf-8")
    return False


def _go_on(training: Training, file: Path) -> None:
    try:
        training.load_state_dict(torch.load(file, weights_only=True, map_location="cpu"))
    except Exception as error:
        raise HaloidError(f"{file} cannot be resumed ({one_line(error)}); delete it to start again") from error
