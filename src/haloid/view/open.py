"""What a path holds, by its content, and the show of it.

A folder with result.json is an identification, one with policy.onnx or policy.pt a training; a csv or npz is a
recording where its description says so and a motion otherwise.
"""

import json
from pathlib import Path
from typing import Literal

from haloid.errors import HaloidError
from haloid.npz import read_arrays
from haloid.recordings.files.metadata import FORMAT as RECORDING_FORMAT
from haloid.recordings.open_log import LOG_FORMAT, description_file, open_log
from haloid.trajectories.rollout_file import FORMAT as ROLLOUT_FORMAT
from haloid.view.show import Show

Kind = Literal["recording", "identification", "motion", "rollout", "policy"]
_POLICIES = ("policy.onnx", "policy.pt")
_MOST_META_BYTES = 1_000_000


def kind_of(source: str) -> tuple[Kind, Path]:
    """What there is, and where: an identification's folder, a training's or a file."""
    path = Path(source).expanduser()
    if path.is_dir():
        for folder in (path, path / "result"):
            if (folder / "result.json").is_file():
                return "identification", folder
        if any((path / name).is_file() for name in _POLICIES):
            return "policy", path
        if description_file(path).is_file():
            return "recording", path
        raise _unknown(source, "it is a folder without result.json, policy.onnx or policy.pt")
    if not path.is_file():
        return _named(source, path)
    if path.name == "result.json":
        return "identification", path.parent
    match path.suffix.lower():
        case ".onnx" | ".pt":
            return "policy", path
        case ".mcap" | ".db3" | ".parquet":
            return "recording", path
        case ".json":
            if _format_in(path) != RECORDING_FORMAT:
                raise _unknown(source, f"its format is {_format_in(path)}")
            return "recording", path
        case ".npz":
            said = _npz_format(path)
            kinds: dict[str | None, Kind] = {RECORDING_FORMAT: "recording", ROLLOUT_FORMAT: "rollout"}
            return kinds.get(said, "motion"), path
    described = _format_in(description_file(path)) in (RECORDING_FORMAT, LOG_FORMAT)
    return ("recording" if described else "motion"), path


def open_show(source: str, *, model: str | None = None, recording: Path | None = None) -> Show:
    """The show of everything but a policy, which has none before it runs (live.py).

    Args:
        model: the robot of a motion or rollout, where it is not the one that is named or assumed.
        recording: of an identification, which log to replay.
    """
    kind, path = kind_of(source)
    match kind:
        case "recording":
            from haloid.view.sources.recorded import show_recording

            return show_recording(open_log(path, allow_gaps=True))
        case "identification":
            from haloid.view.sources.identified import loaded_recording, show_identification

            log = recording or loaded_recording(path)
            return show_identification(path, open_log(log, allow_gaps=True))
        case "motion":
            from haloid.view.sources.moving import show_motion

            return show_motion(source, model or "g1")
        case "rollout":
            from haloid.view.sources.rolled_out import show_rollout

            return show_rollout(path, model)
    raise HaloidError(f"{source} is a {kind}, which has no show of its own")


def _named(source: str, path: Path) -> tuple[Kind, Path]:
    from haloid.motions.own import OWN_MOTIONS

    if source in OWN_MOTIONS:
        return "motion", path
    raise _unknown(source, f"there is no such file or folder, and no motion of that name ({', '.join(OWN_MOTIONS)})")


def _format_in(file: Path) -> str | None:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document.get("format") if isinstance(document, dict) else None


def _npz_format(path: Path) -> str | None:
    try:
        meta = read_arrays(path, _MOST_META_BYTES, only="meta").get("meta")
        return None if meta is None else json.loads(str(meta)).get("format")
    except (HaloidError, ValueError, AttributeError):
        return None


def _unknown(source: str, found: str) -> HaloidError:
    return HaloidError(
        f"cannot show {source}: {found}. Expected a recording, the folder of an identification or of a training, a "
        "motion, a rollout or a policy"
    )
