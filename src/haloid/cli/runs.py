"""The table of the lab robot's runs that commands print."""

from collections.abc import Sequence

import numpy as np

from haloid.lab.truth import Run
from haloid.report import Table


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
