"""The file of a rollout: NAME.npz, format haloid-rollout-1, arrays and one json text, nothing executable.

docs/rollouts.md explains every array and every key. Reading refuses what does not conform to it.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from haloid.errors import HaloidError
from haloid.npz import NpzError, read_arrays
from haloid.outputs import atomic_file
from haloid.trajectories.rollout import ROOT, Episode, Rollout, RolloutError
from haloid.trajectories.trajectory import Trajectory

FORMAT = "haloid-rollout-1"
MOST_BYTES = 2_000_000_000
"""A hundred runs of three minutes on a 29-joint robot."""
CONVENTIONS = (
    "SI units; quaternions wxyz; root position and linear velocity of the root link's origin in world axes (z up), "
    "root angular velocity in the root's own axes; target and action of a row act from that row until the next"
)
_OPTIONAL = ("observation", "torque_nm", "foot_force_n", "payload")
_KEYS = ("format", "robot", "model_sha256", "rate_hz", "joint_names", "conventions", "simulator", "policy_sha256")
_KEYS += ("action_meaning", "clamp", "delay_s", "episodes", "foot_names", "payload_names", "note")


def write_rollout(rollout: Rollout, path: Path) -> Path:
    """Write NAME.npz whole or not at all; returns the file."""
    file = path if path.suffix == ".npz" else path.with_name(f"{path.name}.npz")
    arrays = _arrays(rollout)
    size = sum(values.nbytes for values in arrays.values())
    if size > MOST_BYTES:
        raise HaloidError(
            f"{file}: the rollout takes {size:,} bytes; expected at most {MOST_BYTES:,}. Save fewer or shorter runs"
        )
    contents: dict[str, Any] = {"meta": np.array(json.dumps(_meta(rollout), indent=1)), **arrays}
    with atomic_file(file) as beside, beside.open("wb") as stream:
        np.savez(stream, **contents)
    return file


def read_rollout(path: Path) -> Rollout:
    """Read and check NAME.npz."""
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise RolloutError(str(path), found=f"{size:,} bytes", expected=f"at most {MOST_BYTES:,} bytes")
        if not path.is_file():
            raise RolloutError(str(path), found="not a file", expected=f"a {FORMAT} npz")
        arrays = read_arrays(path, MOST_BYTES)
        return _rollout(_read_meta(arrays.pop("meta", None)), arrays)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise HaloidError(f"{path} cannot be read: the system says «{reason}». Give a rollout's npz file") from error
    except (NpzError, RolloutError) as error:
        if str(error).startswith(str(path)):
            raise
        found = str(error).removesuffix(".")
        raise HaloidError(f"{path}: {found}. docs/rollouts.md describes the format {FORMAT}") from error


def _arrays(rollout: Rollout) -> dict[str, np.ndarray]:
    trajectory = rollout.trajectory
    names = ("joint_pos_rad", "joint_vel_rad_s", "target_rad", *ROOT)
    arrays = {name: getattr(trajectory, name) for name in names if getattr(trajectory, name) is not None}
    arrays |= {name: getattr(rollout, name) for name in _OPTIONAL if getattr(rollout, name) is not None}
    lengths = [len(episode) for episode in rollout.episodes]
    return {
        "time": rollout.time_s,
        "action": rollout.action,
        "episode": np.repeat(np.arange(len(lengths)), lengths),
        **arrays,
    }


def _meta(rollout: Rollout) -> dict[str, Any]:
    return {
        **rollout.facts,
        "format": FORMAT,
        "robot": rollout.robot,
        "model_sha256": rollout.model_sha256,
        "rate_hz": rollout.trajectory.rate_hz,
        "joint_names": rollout.trajectory.joint_names,
        "conventions": CONVENTIONS,
        "simulator": rollout.simulator,
        "policy_sha256": rollout.policy_sha256,
        "action_meaning": rollout.action_meaning,
        "clamp": rollout.clamp,
        "delay_s": rollout.delay_s,
        "episodes": [{**asdict(episode), "fell": episode.fell} for episode in rollout.episodes],
        "foot_names": rollout.foot_names,
        "payload_names": rollout.payload_names,
        "note": rollout.note,
    }


def _read_meta(values: np.ndarray | None) -> dict[str, Any]:
    expected = f'the json text of a rollout, with "format": "{FORMAT}"'
    if values is None or values.size != 1 or values.dtype.kind != "U":
        raise RolloutError("meta", found="missing" if values is None else "not one text", expected=expected)
    try:
        meta = json.loads(values.item())
    except (ValueError, RecursionError) as error:
        raise RolloutError("meta", found="not json", expected=expected) from error
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        found = repr(meta.get("format"))[:60] if isinstance(meta, dict) else "not an object"
        raise RolloutError("meta: format", found=found, expected=f'"{FORMAT}"')
    return meta


def _rollout(meta: dict[str, Any], arrays: dict[str, np.ndarray]) -> Rollout:
    for name in ("time", "action", "joint_pos_rad"):
        if name not in arrays or arrays[name].ndim < 1:
            raise RolloutError(name, found="missing", expected=f"an array of that name beside {', '.join(arrays)}")
    episodes = _episodes(meta, len(arrays["time"]))
    numbers = np.repeat(np.arange(len(episodes)), [len(episode) for episode in episodes])
    if "episode" in arrays and not np.array_equal(arrays["episode"], numbers):
        raise RolloutError("episode", found="other rows", expected="the number of each row's episode in meta")
    states = ("joint_pos_rad", "joint_vel_rad_s", "target_rad", *ROOT)
    return Rollout(
        trajectory=Trajectory(
            rate_hz=_number(meta, "rate_hz"),
            joint_names=_names(meta, "joint_names"),
            **{name: arrays[name] for name in states if name in arrays},
        ),
        time_s=arrays["time"],
        action=arrays["action"],
        episodes=episodes,
        delay_s=_number(meta, "delay_s", 0.0),
        foot_names=_names(meta, "foot_names", ()),
        payload_names=_names(meta, "payload_names", ()),
        note=str(meta.get("note", "")),
        facts={name: value for name, value in meta.items() if name not in _KEYS},
        robot=_text(meta, "robot"),
        action_meaning=_text(meta, "action_meaning"),
        simulator=_text(meta, "simulator"),
        model_sha256=_optional_text(meta, "model_sha256"),
        policy_sha256=_optional_text(meta, "policy_sha256"),
        clamp=_optional_text(meta, "clamp"),
        observation=arrays.get("observation"),
        torque_nm=arrays.get("torque_nm"),
        foot_force_n=arrays.get("foot_force_n"),
        payload=arrays.get("payload"),
    )


def _text(meta: dict[str, Any], key: str) -> str:
    if not isinstance(meta.get(key), str):
        raise RolloutError(f"meta: {key}", found=repr(meta.get(key))[:60], expected="a text")
    return meta[key]


def _optional_text(meta: dict[str, Any], key: str) -> str | None:
    return None if meta.get(key) is None else _text(meta, key)


def _number(meta: dict[str, Any], key: str, default: float | None = None) -> float:
    value = meta.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise RolloutError(f"meta: {key}", found=repr(value)[:60], expected="a number")
    return float(value)


def _names(meta: dict[str, Any], key: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
    value = meta.get(key, default)
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise RolloutError(f"meta: {key}", found=repr(value)[:60], expected="a list of names")
    return tuple(value)


def _episodes(meta: dict[str, Any], rows: int) -> tuple[Episode, ...]:
    """Without any in meta, the file is one episode."""
    value = meta.get("episodes", [{"start": 0, "end": rows, "fell": False, "fell_row": None}])
    try:
        return tuple(Episode(int(entry["start"]), int(entry["end"]), _fell_row(entry)) for entry in value)
    except (TypeError, KeyError, ValueError, OverflowError) as error:
        raise RolloutError(
            "meta: episodes", found=repr(value)[:60], expected='a list of {"start": row, "end": row, "fell": bool}'
        ) from error


def _fell_row(entry: dict[str, Any]) -> int | None:
    """Of an episode; a file that only says that the robot fell does not say when: the last row is taken."""
    row = entry.get("fell_row")
    return int(row) if row is not None else int(entry["end"]) - 1 if entry["fell"] else None
