"""`haloid replay`: how far a model strays from a robot when it is given the same commands."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tyro

from haloid.cli import console
from haloid.errors import HaloidError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from haloid.identify.replay import Replay
    from haloid.recordings.recording import Recording


@dataclass(frozen=True)
class Config:
    """Play the commands of whole recordings on a model: error by joint and run.

    Every run starts from its first state; from there the model runs alone, with its own servos, delays and step. The
    robot that the recording names, with the gains it was recorded with, is played beside it as nominal.

    Examples:
        haloid replay out/calibrated so101/chirp.csv so101/wave.csv
        haloid replay so101 logs/chirp_sweep --robot so101 --json
        haloid replay so101 logs/chirp_sweep --delta out/operator
    """

    model: tyro.conf.Positional[Path]
    """A robot's name, an MJCF or URDF file, a patch.json, or the directory of a result."""
    logs: tyro.conf.Positional[tuple[Path, ...]]
    """Recordings, or logs with a description beside them."""
    robot: str | None = None
    """For logs without a description: the robot that was logged, driven by its file's servos."""
    servos: Literal["model", "recording"] = "model"
    """Whose gains drive the model; those of the recording where it has no servos."""
    delta: Path | None = None
    """An operator (haloid delta operator) that corrects the commands on their way to the model."""
    payload_kg: float | None = None
    """With --delta: what each hand carries; default: as the logs' descriptions say."""
    json: bool = False
    """Print one json document instead of tables."""


def run(config: Config) -> None:
    from haloid.identify.replay import replay, replay_nominal
    from haloid.report.replay import by_joint, by_run
    from haloid.robots.open_model import base_robot, open_model

    with console.progress("Replaying"):
        spec = open_model(config.model)
        recordings = open_logs(config.logs, config.robot or base_robot(config.model))
        played = replay(spec, recordings, config.servos) if config.delta is None else _corrected(config, recordings)
        nominal = replay_nominal(recordings)
    if config.json:
        console.results.print(json.dumps(document(config, played, nominal), indent=2), soft_wrap=True)
        return
    for table in (by_run(played, nominal), by_joint(played, nominal)):
        console.print_table(table)
    console.next_command("view", config.logs[0])


def _corrected(config: Config, recordings: list[Recording]) -> list[Replay]:
    """A model that is a robot's name means the robot itself, driven by the recordings' gains."""
    from haloid.extras import require_extra
    from haloid.robots.entries import KNOWN_ROBOTS

    require_extra("replay --delta", "learn", "torch")
    from haloid.gap.operator.model import read_operator
    from haloid.gap.operator.replay import replay_corrected

    assert config.delta is not None
    operator, model = read_operator(config.delta), str(config.model)
    if model in KNOWN_ROBOTS and model != operator.base.robot:
        raise HaloidError(
            f"{config.delta} corrects {operator.base.robot}; it cannot be played on {model}. Name the robot that it "
            "corrects, or train an operator for this one: haloid delta operator"
        )
    return replay_corrected(operator, recordings, None if model in KNOWN_ROBOTS else model, config.payload_kg)


def open_logs(paths: Sequence[Path], robot: str | None, *, allow_gaps: bool = True) -> list[Recording]:
    """Recordings, and logs: those that no json describes are taken to be of `robot`, with the gains of its file."""
    from haloid.errors import HaloidError
    from haloid.recordings.logs.convert import LogOptions, read_log
    from haloid.recordings.open_log import description_file, open_log

    if not paths:
        raise HaloidError("no log was named; expected at least one recording or log")
    recordings = []
    for path in paths:
        if robot is None or description_file(path).is_file():
            recordings.append(open_log(path, allow_gaps=allow_gaps))
        else:
            options = LogOptions(robot=robot, payload="none", gains="model")
            recordings.append(read_log(path, options, allow_gaps=allow_gaps))
    return recordings


def document(config: Config, played: Sequence[Replay], nominal: Sequence[Replay]) -> dict[str, Any]:
    """haloid-replay-1; a number that does not exist because the simulation broke down is null."""
    from haloid.identify.replay import mean_rms, rms

    runs = []
    for path, one, other in zip(config.logs, played, nominal, strict=True):
        joints = {
            joint: {
                "rms_rad": _finite(one.rms_rad[i]),
                "max_rad": _finite(one.max_rad[i]),
                "nominal_rms_rad": _finite(other.rms_rad[i]),
                "nominal_max_rad": _finite(other.max_rad[i]),
            }
            for i, joint in enumerate(one.joint_names)
        }
        runs.append(
            {
                "file": str(path),
                "rms_rad": _finite(float(rms(one.error_rad))),
                "max_rad": _finite(one.max_rad.max()),
                "nominal_rms_rad": _finite(float(rms(other.error_rad))),
                "joints": joints,
            }
        )
    return {
        "format": "haloid-replay-1",
        "model": str(config.model),
        "rms_rad": _finite(mean_rms(played)),
        "nominal_rms_rad": _finite(mean_rms(nominal)),
        "runs": runs,
    }


def _finite(value: float) -> float | None:
    import math

    return float(value) if math.isfinite(value) else None
