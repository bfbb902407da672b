"""Runs of the lab robot as commands show and write them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from haloid.lab.truth import Truth, write_truth
from haloid.recordings.recording import Recording
from haloid.recordings.write import write_recording
from haloid.report import Table

Run = tuple[Recording, Truth]


def write_runs(runs: Sequence[Run], recordings_folder: Path, truth_folder: Path) -> list[Path]:
    """Writes every recording, and its truth as NAME.truth.json; returns the recordings' csv files."""
    recordings_folder.mkdir(parents=True, exist_ok=True)
    files = []
    for recording, truth in runs:
        files.append(write_recording(recording, recordings_folder / recording.name, allow_gaps=True))
        write_truth(truth, truth_folder / f"{recording.name}.truth.json")
    return files


def runs_table(runs: Sequence[Run]) -> Table:
    """How well each run went; a note names links that would have touched."""
    rows, touching = [], []
    for recording, truth in runs:
        played = truth.playback
        busiest = int(np.argmax(played.saturated_fraction))
        saturated = played.saturated_fraction[busiest]
        rows.append(
            [
                recording.name,
                len(recording.time_s),
                f"{1e3 * np.sqrt(np.mean(played.tracking_rms_rad**2)):.1f}",
                f"{1e3 * played.tracking_max_rad.max():.1f}",
                f"{100 * saturated:.1f} % {recording.joint_names[busiest]}" if saturated > 0 else "none",
            ]
        )
        touching += [f"In {recording.name}, {pair} would have touched." for pair in played.self_collisions]
    columns = ["run", "rows", "off reference, rms (mrad)", "at most (mrad)", "servo at its limit"]
    return Table(columns, rows, note=" ".join(touching))
