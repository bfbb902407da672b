"""Files of a dataset: a folder with its data card and parts, each written whole or not at all.

`card.json` (haloid-gap-dataset-1) has robot, gains, joints, settings and what every array is; `README.md` says it to
people. `part-00000.npz` (or `.parquet`) holds the frames of many sequences, one after the other, under GAPONet's names.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from haloid.errors import HaloidError
from haloid.extras import require_extra
from haloid.gap.crowd import Base
from haloid.gap.dataset.pairs import Dataset, Motion, Pair
from haloid.npz import NpzError, read_arrays
from haloid.outputs import atomic_file
from haloid.robots.servos import Gains

FORMAT = "haloid-gap-dataset-1"
CARD = "card.json"
FileKind = Literal["npz", "parquet"]
MOST_BYTES = 2_000_000_000
_LOG = logging.getLogger(__name__)

FRAMES = {
    "real_dof_positions_cmd": "rad, position target from this frame to the next",
    "real_dof_positions": "rad, the encoders",
    "real_dof_velocities": "rad/s",
    "real_dof_accelerations": "rad/s², differences of the velocities",
    "real_dof_torques": "N·m of the motors, before the gears",
    "real_dof_temperatures": "°C of the motors; NaN where not measured",
    "sim_dof_positions": "rad, the nominal simulator given the same commands from the first frame on",
    "sim_dof_velocities": "rad/s",
    "sim_dof_accelerations": "rad/s²",
    "sim_dof_torques": "N·m of the servos",
}
"""Arrays (frames, joints) and what they hold."""
SEQUENCES = {
    "lengths": "frames of each sequence",
    "units": "which robot of its kind",
    "kinds": "0 single joint, 1 pair, 2 whole, 3 a user's log",
    "rates": "Hz",
    "payloads": "kg in each hand",
    "joint_sequence": "(sequences, joints) 1 where the joint moves",
}
_KINDS = ("single", "pair", "whole", "log")
_OPTIONAL = {"real_dof_temperatures", "real_dof_accelerations", "sim_dof_accelerations"}


class DatasetError(HaloidError):
    """A dataset that cannot be read."""


def write_card(folder: Path, base: Base, settings: dict[str, Any], note: str, counts: dict[str, Any]) -> None:
    card = {
        "format": FORMAT,
        "robot": base.robot,
        "clamp": base.clamp,
        "joint_names": list(base.joint_names),
        "kp": base.gains.kp,
        "kd": base.gains.kd,
        "note": note,
        "settings": settings,
        **counts,
        "frame_arrays": FRAMES,
        "sequence_arrays": SEQUENCES,
    }
    with atomic_file(folder / CARD) as beside:
        beside.write_text(json.dumps(card, indent=1), encoding="utf-8")
    with atomic_file(folder / "README.md") as beside:
        beside.write_text(_readme(card), encoding="utf-8")


def read_card(folder: Path) -> dict[str, Any]:
    path = folder / CARD
    if not path.is_file():
        raise DatasetError(
            f"{folder} is not a dataset: it has no {CARD}. Expected a folder that `haloid delta dataset` wrote; "
            "run it, or convert your own logs with it"
        )
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DatasetError(f"{path} is not json ({error}); the dataset is damaged. Generate it again") from error
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        found = card.get("format") if isinstance(card, dict) else None
        raise DatasetError(f"{path} has the format {found!r}; expected {FORMAT!r}. Generate it again")
    return card


def part_file(folder: Path, index: int, kind: FileKind) -> Path:
    return folder / f"part-{index:05d}.{kind}"


def part_files(folder: Path) -> list[Path]:
    """All parts that are there, of both kinds."""
    return sorted([*folder.glob("part-*.npz"), *folder.glob("part-*.parquet")])


def write_part(file: Path, pairs: Sequence[Pair]) -> None:
    arrays = _arrays(pairs)
    if file.suffix == ".parquet":
        _write_parquet(file, arrays)
        return
    with atomic_file(file) as beside, beside.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)


def load_dataset(folder: Path) -> Dataset:
    """All parts of a dataset."""
    card = read_card(folder)
    names = tuple(card["joint_names"])
    base = Base(card["robot"], card["clamp"], names, Gains(card["kp"], card["kd"]))
    files = part_files(folder)
    if not files:
        raise DatasetError(
            f"{folder} has a card and no parts; nothing was generated yet. Run the generation to its end"
        )
    if twice := [file.stem for file, next_file in pairwise(files) if file.stem == next_file.stem]:
        raise DatasetError(
            f"{folder} holds {twice[0]} as npz and as parquet; expected each part once. Delete one of them"
        )
    pairs = [pair for file in files for pair in _read_part(file, len(names))]
    if len(pairs) < card.get("sequences", 0):
        _LOG.warning(
            "%s holds %d of the %d sequences that its card promises; run the generation again to finish it",
            folder,
            len(pairs),
            card["sequences"],
        )
    return Dataset(base, tuple(pairs), card.get("note", ""), card.get("settings", {}))


def _arrays(pairs: Sequence[Pair]) -> dict[str, np.ndarray]:
    def rows(pick) -> np.ndarray:
        return np.concatenate([pick(pair) for pair in pairs]).astype(np.float32)

    arrays = {
        "real_dof_positions_cmd": rows(lambda pair: pair.target_rad),
        "real_dof_temperatures": rows(lambda pair: pair.temperature_c),
    }
    for side in ("real", "sim"):
        for name, attribute in _SIDES.items():
            arrays[f"{side}_{name}"] = rows(lambda pair, s=side, a=attribute: getattr(getattr(pair, s), a))
    return arrays | {
        "lengths": np.array([len(pair) for pair in pairs]),
        "units": np.array([pair.unit for pair in pairs]),
        "kinds": np.array([_KINDS.index(pair.kind) for pair in pairs]),
        "rates": np.array([pair.rate_hz for pair in pairs]),
        "payloads": np.array([pair.payload_kg for pair in pairs]),
        "joint_sequence": np.array([pair.moving for pair in pairs], dtype=np.uint8),
    }


_SIDES = {
    "dof_positions": "q_rad",
    "dof_velocities": "dq_rad_s",
    "dof_accelerations": "ddq_rad_s2",
    "dof_torques": "tau_nm",
}


def _read_part(file: Path, joints: int) -> list[Pair]:
    try:
        arrays = _read_parquet(file) if file.suffix == ".parquet" else read_arrays(file, MOST_BYTES)
    except NpzError as error:
        raise DatasetError(f"{file}: {error} Delete it and run the generation again") from error
    if missing := [name for name in (*FRAMES, *SEQUENCES) if name not in arrays and name not in _OPTIONAL]:
        raise DatasetError(
            f"{file} lacks {', '.join(missing)}; expected the arrays {', '.join((*FRAMES, *SEQUENCES))}. "
            "Generate the part again, or add what is missing"
        )
    frames = int(arrays["lengths"].sum())
    for name in FRAMES:
        if name not in arrays:
            arrays[name] = np.full((frames, joints), np.nan)
        if arrays[name].shape != (frames, joints):
            raise DatasetError(
                f"{file}: {name} has the shape {arrays[name].shape}; expected {(frames, joints)}, a row for each frame "
                "and a column for each joint of the card"
            )
        if name not in _OPTIONAL and not np.isfinite(arrays[name]).all():
            row = int(np.argmax(~np.isfinite(arrays[name]).all(axis=1)))
            raise DatasetError(
                f"{file}: {name} is not a number in frame {row}; expected numbers throughout. Remove that sequence"
            )
    pairs, start = [], 0
    for i, length in enumerate(arrays["lengths"].astype(int)):
        part = {name: arrays[name][start : start + length].astype(np.float64) for name in FRAMES}
        start += length
        sides = [Motion(*(part[f"{side}_{name}"] for name in _SIDES)) for side in ("real", "sim")]
        pairs.append(
            Pair(
                name=f"{file.stem}/{i}",
                unit=int(arrays["units"][i]),
                kind=_KINDS[int(arrays["kinds"][i])],
                rate_hz=float(arrays["rates"][i]),
                payload_kg=float(arrays["payloads"][i]),
                moving=arrays["joint_sequence"][i].astype(bool),
                target_rad=part["real_dof_positions_cmd"],
                real=sides[0],
                sim=sides[1],
                temperature_c=part["real_dof_temperatures"],
            )
        )
    return pairs


def _write_parquet(file: Path, arrays: dict[str, np.ndarray]) -> None:
    """One row for each frame; what belongs to a sequence is repeated on its frames."""
    require_extra("delta dataset --format parquet", "logs", "pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    lengths = arrays["lengths"]
    columns = {"sequence": pa.array(np.repeat(np.arange(len(lengths)), lengths))}
    for name, values in arrays.items():
        whole = values if name in FRAMES else np.repeat(values, lengths, axis=0)
        if whole.ndim == 2:
            flat = pa.array(np.ascontiguousarray(whole).ravel())
            columns[name] = pa.FixedSizeListArray.from_arrays(flat, whole.shape[1])
        else:
            columns[name] = pa.array(whole)
    with atomic_file(file) as beside:
        pq.write_table(pa.table(columns), beside)


def _read_parquet(file: Path) -> dict[str, np.ndarray]:
    require_extra("delta", "logs", "pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(file)
    except (pa.ArrowException, OSError) as error:
        raise DatasetError(
            f"{file} is damaged ({str(error).splitlines()[0]}). Delete it and generate it again"
        ) from error
    arrays = {}
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        if pa.types.is_fixed_size_list(column.type):
            arrays[name] = np.asarray(column.flatten()).reshape(len(column), -1)
        else:
            arrays[name] = np.asarray(column)
    if "sequence" in arrays:
        _, first = np.unique(arrays["sequence"], return_index=True)
        arrays |= {name: arrays[name][first] for name in SEQUENCES if name in arrays}
    return arrays


def _readme(card: dict[str, Any]) -> str:
    lines = [
        f"# Sim-to-real pairs of {card['robot']}",
        "",
        card["note"],
        "",
        f"{card.get('sequences', '?')} sequences, {card.get('frames', '?')} frames; format `{FORMAT}`. "
        "Every sequence has a real side and its simulated replica, frame by frame.",
        "",
        f"Joints, in the order of the columns: {', '.join(card['joint_names'])}.",
        "",
        "| array, by frame | |",
        "| --- | --- |",
        *(f"| `{name}` | {meaning} |" for name, meaning in FRAMES.items()),
        "",
        "| array, by sequence | |",
        "| --- | --- |",
        *(f"| `{name}` | {meaning} |" for name, meaning in SEQUENCES.items()),
        "",
        "Settings:",
        "",
        "```json",
        json.dumps(card["settings"], indent=1),
        "```",
        "",
    ]
    return "\n".join(lines)
