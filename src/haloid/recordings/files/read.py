"""Reading: NAME.csv with NAME.json, or NAME.npz, becomes a validated `Recording`, its columns in model order.

In: a path. Out: a `Recording`, or one `RecordingError` that names file, column and row.
"""

from pathlib import Path

from haloid.recordings.checks.validate import validate
from haloid.recordings.errors import Origin, RecordingError
from haloid.recordings.files.assemble import assemble
from haloid.recordings.files.columns import TIME, check_time_present, sort_by_joint
from haloid.recordings.files.csv_table import decoded, read_bytes, read_csv_table
from haloid.recordings.files.metadata import json_object, metadata_of, parse_metadata
from haloid.recordings.files.npz_table import read_npz_table
from haloid.recordings.recording import Recording
from haloid.recordings.robot import resolve_robot, robot_model

_NPZ = ".npz"


def read_recording(path: str | Path, *, allow_gaps: bool = False, described: dict | None = None) -> Recording:
    """The recording at `path`: NAME.csv or NAME.json (the other beside it), NAME.npz, or NAME without suffix.

    With `allow_gaps`, rows missing from the time grid are a warning instead of an error. `described` is the content of
    NAME.json, where it has been read already.
    """
    file = _data_file(Path(path))
    if file.suffix.lower() == _NPZ:
        origin = Origin(str(file), str(file))
        table, text = read_npz_table(file, origin)
        metadata = parse_metadata(text, origin.meta_file)
    else:
        meta_file = _meta_file(file)
        origin = Origin(str(file), str(meta_file))
        if described is None:
            described = json_object(decoded(read_bytes(meta_file), str(meta_file)), str(meta_file))
        metadata = metadata_of(described, str(meta_file))
        table = read_csv_table(file, origin)
        origin = Origin(str(file), str(meta_file), table.row_lines)
    robot = resolve_robot(metadata.robot, file.parent, origin)
    model = robot_model(robot, origin)
    check_time_present(table, origin)
    columns = sort_by_joint(table, model.actuated, model.passive, metadata.robot, origin)
    recording = assemble(file, robot, metadata, table.columns[TIME], columns, model.actuated, origin)
    validate(recording, model.model, allow_gaps=allow_gaps, origin=origin)
    return recording


def _data_file(path: Path) -> Path:
    """The csv or npz that `path` means."""
    suffix = path.suffix.lower()
    if suffix in (".csv", _NPZ):
        candidates = [path]
    elif suffix == ".json":
        candidates = [path.with_suffix(".csv")]
    else:
        candidates = [Path(f"{path}{suffix}") for suffix in (".csv", _NPZ)]
    existing = [file for file in candidates if _exists(file)]
    if len(existing) == 1:
        return existing[0]
    if existing:
        found, next_step = f"both {existing[0].name} and {existing[1].name} exist", "Give the name with its suffix."
    else:
        found = f"there is no file {' or '.join(file.name for file in candidates)}"
        next_step = "Check the path; `haloid convert` makes recordings from other logs."
    raise RecordingError(str(path), found=found, expected="NAME.csv beside NAME.json, or NAME.npz", next_step=next_step)


def _meta_file(data_file: Path) -> Path:
    meta_file = data_file.with_suffix(".json")
    if not _exists(meta_file):
        raise RecordingError(
            str(data_file),
            found=f"there is no {meta_file.name} beside the csv",
            expected="the recording's json (robot, clamp, actuation, gains) under the same name",
            next_step=f"Write {meta_file.name}, or copy it from where the csv was recorded.",
        )
    return meta_file


def _exists(file: Path) -> bool:
    try:
        return file.is_file()
    except OSError:  # a name too long for the file system
        return False
