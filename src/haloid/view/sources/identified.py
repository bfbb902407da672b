"""An identification to look at: the commands of a loaded recording replayed on the calibrated and the nominal robot.

In: the folder of `haloid identify` and one of its recordings. Out: a `Show` with the measured robot as the ghost, the
payload where it was found, and how far each model is from the encoders. A replay starts at rest in the recording's
first row and is never corrected, so errors add up as they would on the robot.
"""

from pathlib import Path

import numpy as np

from haloid.errors import HaloidError
from haloid.identify.replay import Replay, replay, replay_nominal
from haloid.identify.results.read import answer_of, read_result
from haloid.recordings.recording import Recording
from haloid.report.pictures.loads import loads_of
from haloid.view.show import Show, poses_of
from haloid.view.sources.recorded import clamped_model

CALIBRATED, NOMINAL, MEASURED = "calibrated", "nominal", "measured"


def loaded_recording(folder: Path) -> Path:
    """The first loaded recording that the identification was made from."""
    inputs = read_result(folder).document["inputs"]
    files = [Path(one["file"]) for one in inputs if one["stage"] == "loaded"]
    found = next((file for file in files if file.is_absolute() and file.exists()), None)
    if found is None:
        raise HaloidError(
            f"the recordings that {folder / 'result.json'} was made from are no longer there "
            f"({', '.join(map(str, files))}). Give one with --recording"
        )
    return found


def show_identification(folder: Path, recording: Recording) -> Show:
    document, calibrated = read_result(folder).document, folder / "calibrated.xml"
    answer = answer_of(document)
    if not calibrated.is_file():
        raise HaloidError(f"{folder} has a result.json and no calibrated.xml. Identify again to write both")
    model = clamped_model(recording)
    replays = {
        CALIBRATED: replayed(recording, replay(calibrated, [recording])),
        NOMINAL: replayed(recording, replay_nominal([recording])),
    }
    errors = {name: float(np.sqrt(np.mean((q - recording.q_rad) ** 2))) for name, q in replays.items()}
    about = [f"replay of {recording.name}, {recording.time_s[-1] - recording.time_s[0]:.1f} s, never corrected"]
    about += [f"{name} model: {1e3 * error:.1f} mrad rms from the encoders" for name, error in errors.items()]
    about.append(f"fit on held-out fragments: {1e3 * answer.rms_rad['heldout']:.2f} mrad")
    return Show(
        title=folder.name if folder.name != "result" else f"{folder.parent.name}/result",
        about=tuple(about),
        model=model,
        time_s=recording.time_s - recording.time_s[0],
        robots={name: poses_of(model, recording.joint_names, q) for name, q in replays.items()},
        joint_names=recording.joint_names,
        curves_rad={MEASURED: recording.q_rad, **replays},
        ghost=(MEASURED, poses_of(model, recording.joint_names, recording.q_rad)),
        loads=tuple(loads_of(answer.payload)),
        loaded=(CALIBRATED,),
    )


def replayed(recording: Recording, runs: list[Replay]) -> np.ndarray:
    """(T, n) angles of a replay; one that broke down cannot be shown."""
    angles_rad = runs[0].played_rad
    if not np.all(np.isfinite(angles_rad)):
        raise HaloidError(f"the replay of {recording.name} on {recording.robot} became NaN")
    return angles_rad
