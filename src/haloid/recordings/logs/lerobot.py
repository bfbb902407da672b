"""LeRobot v3 datasets: one episode's `observation.state` and `action` become a `Log`.

The joint names are those of meta/info.json, with or without LeRobot's suffix `.pos`.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from haloid.recordings.errors import RecordingError, did_you_mean, listed, shown
from haloid.recordings.files.csv_table import decoded, read_bytes
from haloid.recordings.logs.log import Commands, Log, States, optional_package

_INFO = Path("meta") / "info.json"
_STATE, _ACTION, _TIME, _EPISODE = "observation.state", "action", "timestamp", "episode_index"


def is_lerobot(path: Path) -> bool:
    return (path / _INFO).is_file()


def read_lerobot(path: Path, joint_names: Sequence[str], episode: int, angles: Literal["rad", "deg"]) -> Log:
    info = _info(path / _INFO)
    order = {name: _columns(path, info, name, joint_names) for name in (_STATE, _ACTION)}
    table = _episode(path, episode)
    unit = np.deg2rad(1.0) if angles == "deg" else 1.0
    time_s = np.asarray(table[_TIME], float).reshape(-1)
    values = {name: _matrix(path, name, table[name]) for name in order}
    for name, columns in order.items():
        if max(columns) >= values[name].shape[1]:
            raise RecordingError(
                str(path),
                f"feature {shown(name)}",
                found=f"rows of {values[name].shape[1]} numbers for {max(columns) + 1} names",
                expected="a number for every name of meta/info.json",
                next_step="The dataset is damaged: download it again.",
            )
    return Log(
        source=path,
        joint_names=tuple(joint_names),
        states=States(time_s, unit * values[_STATE][:, order[_STATE]]),
        commands=Commands(time_s, unit * values[_ACTION][:, order[_ACTION]]),
        notes=[f"episode {episode}, angles in {angles}"],
    )


def _info(file: Path) -> dict:
    try:
        info = json.loads(decoded(read_bytes(file), str(file)))
        features = info["features"]
        return {name: features[name].get("names") for name in (_STATE, _ACTION)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RecordingError(
            str(file),
            found=f"the dataset's description cannot be used ({shown(str(error))})",
            expected=f"json with the features {_STATE} and {_ACTION}",
            next_step="Give a LeRobot v3 dataset with joint states and actions.",
        ) from error


def _columns(path: Path, info: dict, feature: str, joint_names: Sequence[str]) -> list[int]:
    """Where each joint is in the feature."""
    names = info[feature]
    if isinstance(names, dict) and len(names) == 1:
        names = next(iter(names.values()))
    if not isinstance(names, list) or not names:
        raise RecordingError(
            str(path / _INFO),
            f"feature {shown(feature)}",
            found=f"names are {shown(names)}",
            expected="the name of every column",
            next_step="Add the names to the description: haloid maps joints by name only.",
        )
    plain = [str(name).removesuffix(".pos").removesuffix(".q") for name in names]
    for joint in joint_names:
        if joint not in plain:
            raise RecordingError(
                str(path / _INFO),
                f"feature {shown(feature)}",
                found=f"there is no joint {shown(joint)} among {listed(plain)}",
                expected=f"the robot's {len(joint_names)} actuated joints",
                next_step=f"{did_you_mean(joint, plain)}Give the robot of the dataset, or rename its columns.",
            )
    return [plain.index(joint) for joint in joint_names]


def _episode(path: Path, episode: int) -> dict[str, list]:
    """The rows of one episode, from whichever files hold it."""
    parquet = optional_package("pyarrow.parquet", "pyarrow", "LeRobot datasets")
    arrow = optional_package("pyarrow", "pyarrow", "LeRobot datasets")
    files = sorted((path / "data").glob("chunk-*/*.parquet"))
    found: set[int] = set()
    pieces = []
    for file in files:
        try:
            table = parquet.read_table(file, columns=[_TIME, _EPISODE, _STATE, _ACTION])
            of_row = np.asarray(table[_EPISODE].to_pylist()).reshape(-1)
        except (arrow.ArrowException, OSError, KeyError, ValueError) as error:
            raise RecordingError(
                str(file),
                found=f"the file cannot be read ({shown(str(error))})",
                expected=f"parquet with the columns {_TIME}, {_EPISODE}, {_STATE}, {_ACTION}",
                next_step="The dataset is damaged or not of version 3: download it again.",
            ) from error
        found |= set(of_row.tolist())
        if episode in found:
            pieces.append(table.filter(of_row == episode))
    rows = arrow.concat_tables(pieces).to_pydict() if pieces else {}
    if not rows.get(_TIME):
        some = f"{min(found)} to {max(found)}" if found else "none"
        raise RecordingError(
            str(path),
            found=f"there is no episode {episode}; the dataset has {some}",
            expected="the number of one of its episodes",
            next_step="Give --episode.",
        )
    return rows


def _matrix(path: Path, name: str, rows: list) -> np.ndarray:
    try:
        values = np.array(rows, float)
    except (ValueError, TypeError):
        values = np.zeros(0)
    if values.ndim != 2:
        raise RecordingError(
            str(path),
            f"feature {shown(name)}",
            found="rows of unequal length, or no lists of numbers",
            expected="one list of numbers per row",
            next_step="The dataset is damaged: download it again.",
        )
    return values
