"""Skills, the settings of a training as its folder keeps them: config.yaml, from which it goes on or is repeated.

In: a `TrainingConfig` and how it was started. Out: config.yaml, in which files are named by their whole paths, so that
a training goes on from any directory, and the training model by the hash of its file, so that it goes on with the same
robot. When it is read back, anything that is not a training's settings gets a plain message.
"""

import hashlib
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import yaml

from haloid.config_file import ConfigFileError, read_config_file
from haloid.errors import HaloidError
from haloid.outputs import atomic_file
from haloid.skills.task.task import TaskConfig
from haloid.skills.training.learning import TrainingConfig
from haloid.skills.training.ppo import PpoConfig

FILE = "config.yaml"
COMMAND = "train"


@dataclass(frozen=True)
class Session:
    """How a training was started; what came out does not depend on it, but for the time it had."""

    backend: Literal["cpu", "mjlab"] = "cpu"
    minutes: float | None = None
    warm_start: str | None = None
    gpu_ids: tuple[int, ...] = ()
    model_sha256: str | None = None
    """Of the training model's file; None for a robot of this package."""
    delta_sha256: str | None = None
    """Of the delta model's file that corrects the simulator; None: the simulator is as it is."""


def whole_paths(config: TrainingConfig) -> TrainingConfig:
    """Motions and model that are files by their whole paths."""
    task = config.task
    motions = tuple(_whole(motion) for motion in task.motions)
    return replace(config, task=replace(task, motions=motions, model=_whole(task.model)))


def _whole(name: str) -> str:
    path = Path(name).expanduser()
    return str(path.resolve()) if path.is_file() else name


def write_config(folder: Path, config: TrainingConfig, session: Session) -> None:
    session = replace(session, model_sha256=_sha256(config.task.model))
    values = _plain({"command": COMMAND, **asdict(session), **asdict(config)})
    with atomic_file(folder / FILE) as beside:
        beside.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")


def read_config(folder: Path) -> TrainingConfig:
    """The settings of the training in a folder."""
    return read_run_config(_config_file(folder))[0]


def read_session(folder: Path) -> Session:
    return read_run_config(_config_file(folder))[1]


def _config_file(folder: Path) -> Path:
    file = folder / FILE
    if not file.is_file():
        raise HaloidError(
            f"{folder} holds no training: it has no {file.name}. Expected a folder that haloid train wrote to"
        )
    return file


def read_run_config(file: Path) -> tuple[TrainingConfig, Session]:
    """What a config.yaml says."""
    values = read_config_file(file, COMMAND)
    values.pop("command", None)
    session = {field.name: values.pop(field.name) for field in fields(Session) if field.name in values}
    try:
        task, ppo = values.pop("task"), values.pop("ppo")
        config = TrainingConfig(
            task=TaskConfig(**_tuples(task)), ppo=None if ppo is None else PpoConfig(**_tuples(ppo)), **values
        )
        return config, Session(**_tuples(session))
    except KeyError as error:
        raise ConfigFileError(file, f"it lacks {error}", "every setting of a training") from error
    except (TypeError, AttributeError) as error:
        reason = str(error).rpartition("__init__() ")[2]
        raise ConfigFileError(file, reason, "the settings of a training, each by its name") from error


def check_model(folder: Path, model: str) -> None:
    """A training goes on with the robot that it was started with, wherever its file is now."""
    expected = read_session(folder).model_sha256
    if expected is None:
        return
    if not Path(model).is_file():
        raise HaloidError(
            f"{folder} was trained on {model}, which is no longer there. Say where it is now: "
            f"haloid train --resume {folder} --model FILE"
        )
    if _sha256(model) != expected:
        raise HaloidError(
            f"{model} is not the model that {folder} was trained on: its content has changed. Give that model with "
            f"--model FILE, or train on this one into another folder: --warm-start {folder}"
        )


def check_delta(folder: Path, delta_sha256: str | None) -> None:
    """A training goes on in the simulator that it was started in: with the same delta model, or with none."""
    expected = read_session(folder).delta_sha256
    if expected == delta_sha256:
        return
    if expected is None:
        raise HaloidError(
            f"{folder} holds a training that no delta model corrects. Expected a folder for the fine-tuning alone: "
            "give another one with -o"
        )
    if delta_sha256 is None:
        raise HaloidError(
            f"{folder} holds a fine-tuning in a simulator that a delta model corrects. Go on with it in that: "
            f"haloid delta finetune --policy POLICY --delta DELTA -o {folder}"
        )
    raise HaloidError(
        f"{folder} was begun with another delta model: the content of its file differs. Give that model, or another "
        "folder with -o"
    )


def _sha256(model: str) -> str | None:
    path = Path(model)
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else value
