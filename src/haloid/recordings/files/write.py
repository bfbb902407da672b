"""Writing: a valid `Recording` becomes NAME.csv with NAME.json, or NAME.npz; whole or not at all.

Floats are exact to the last bit. Constant gains go into the json, gains per step into columns.
"""

import csv
import io
import json
import os
import zipfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np

from haloid.outputs import part_beside, remedy
from haloid.recordings.checks.units import channel_arrays
from haloid.recordings.checks.validate import origin_of, validate
from haloid.recordings.errors import RecordingError
from haloid.recordings.files.columns import TIME
from haloid.recordings.files.metadata import FORMAT
from haloid.recordings.files.npz_table import META
from haloid.recordings.recording import Recording
from haloid.recordings.robot import robot_model
from haloid.robots.entries import KNOWN_ROBOTS


def write_recording(recording: Recording, path: str | Path, *, allow_gaps: bool = False) -> Path:
    """Writes NAME.csv and NAME.json, or NAME.npz for that suffix; returns the csv or npz file.

    An invalid recording is refused with the error its reader would raise.
    """
    recording = replace(recording, source=None)
    model = robot_model(recording.robot, origin_of(recording)).model
    validate(recording, model, allow_gaps=allow_gaps)
    path = Path(path)
    npz = path.suffix.lower() == ".npz"
    data_file = path if npz else _csv_file(path)
    meta = json.dumps(_metadata(recording, data_file.parent), indent=2, allow_nan=False) + "\n"
    try:
        if npz:
            _replace_files({data_file: _npz_bytes(_columns(recording), meta)})
        else:
            meta_file = data_file.with_suffix(".json")
            _replace_files({meta_file: meta.encode(), data_file: _csv_bytes(_columns(recording))})
    except OSError as error:
        raise RecordingError(
            str(data_file),
            found=f"the file cannot be written ({error.strerror})",
            expected="a folder that exists and can be written to, with room in it",
            next_step=remedy(error),
        ) from error
    return data_file


def _csv_file(path: Path) -> Path:
    if path.suffix.lower() in (".csv", ".json"):
        return path.with_suffix(".csv")
    return Path(f"{path}.csv")


def _metadata(recording: Recording, folder: Path) -> dict:
    robot = recording.robot
    if robot not in KNOWN_ROBOTS:
        robot = Path(os.path.relpath(robot, folder.resolve())).as_posix()
    meta: dict = {
        "format": FORMAT,
        "robot": robot,
        "clamp": recording.clamp,
        "support": recording.support,
        "actuation": recording.actuation,
    }
    for key, values in (("kp", recording.kp), ("kd", recording.kd), ("encoder_step", recording.encoder_step_rad)):
        if values is not None and values.ndim == 1:
            meta[key] = dict(zip(recording.joint_names, values.astype(float).tolist(), strict=True))
    if recording.clamp_pose is not None:
        meta["clamp_pose"] = np.asarray(recording.clamp_pose, dtype=float).tolist()
    return meta | {"payload": recording.payload, "note": recording.note}


def _columns(recording: Recording) -> dict[str, np.ndarray]:
    columns = {TIME: recording.time_s}
    for channel, values in channel_arrays(recording).items():
        if values.ndim == 2:
            columns |= {f"{channel}:{joint}": values[:, i] for i, joint in enumerate(recording.joint_names)}
    return {name: values.astype(np.float64) for name, values in (columns | recording.extra).items()}


def _csv_bytes(columns: dict[str, np.ndarray]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(columns)
    for row in np.stack(list(columns.values()), axis=1).tolist():
        text.write(",".join(map(repr, row)) + "\n")
    return text.getvalue().encode()


def _npz_bytes(columns: dict[str, np.ndarray], meta: str) -> bytes:
    """As np.savez, which cannot take every name as a keyword."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, values in (columns | {META: np.array(meta)}).items():
            member = io.BytesIO()
            np.lib.format.write_array(member, values, allow_pickle=False)
            archive.writestr(f"{name}.npy", member.getvalue())
    return data.getvalue()


def _replace_files(contents: dict[Path, bytes]) -> None:
    """Puts all files in place, the last one being the one a reader looks for first.

    That one is removed before the others change: a reader finds the old files, none, or the new ones, but never a new
    json beside an old csv.
    """
    with ExitStack() as stack:
        beside = {file: stack.enter_context(part_beside(file)) for file in contents}
        for file, data in contents.items():
            beside[file].write_bytes(data)
        if len(contents) > 1:
            list(contents)[-1].unlink(missing_ok=True)
        for file in contents:
            beside[file].replace(file)
