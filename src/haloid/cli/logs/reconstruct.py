"""`haloid reconstruct`: where every body was, from encoders and the clamp, as a motion to look at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from haloid.cli import console
from haloid.errors import HaloidError

if TYPE_CHECKING:
    import numpy as np

    from haloid.recordings.reconstruction.motion import Reconstruction
    from haloid.recordings.recording import Recording
    from haloid.report import Table


@dataclass(frozen=True)
class Config:
    """Reconstruct the motion of every body from joint readings and the clamp.

    Smooths the readings, samples them at an even rate and follows the whole body by forward kinematics. Writes a motion
    npz with the keys of mjlab, joints and bodies in the robot's own order. For double-support recordings it reports how
    high the resting foot is above the floor and, with --correct-feet, puts it there.

    Example:
        haloid reconstruct out/double.csv -o out/motion.npz --correct-feet
    """

    recording: Annotated[Path, tyro.conf.Positional]
    """The recording: NAME.csv beside NAME.json, or NAME.npz."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """File to write the motion to."""
    correct_feet: bool = False
    """Put the resting foot on the floor with the smallest change of the leg joints."""
    height_only: bool = False
    """With --correct-feet: only the height of the foot, its roll and pitch as they are read."""
    bandwidth: float = 6.0
    """Frequency that smoothing keeps 1/√2 of, Hz."""
    fps: float = 50.0
    """Frames per second of the motion."""
    allow_gaps: bool = False
    """Take a recording that lost rows."""


def run(config: Config) -> None:
    from haloid.recordings.files.read import read_recording
    from haloid.recordings.reconstruction.foot_height import FootHeight
    from haloid.recordings.reconstruction.motion import reconstruct_motion
    from haloid.trajectories.motion_export import write_motion

    if config.height_only and not config.correct_feet:
        raise HaloidError("--height-only says how to correct the feet; give --correct-feet as well")
    recording = read_recording(config.recording, allow_gaps=config.allow_gaps)
    feet = FootHeight(flat=not config.height_only) if config.correct_feet else None
    with console.progress("Reconstructing"):
        result = reconstruct_motion(recording, bandwidth_hz=config.bandwidth, fps=config.fps, feet=feet)
        heights = _foot_table(recording, result) if recording.support == "double" else None
        file = write_motion(result.motion, config.out)
    motion = result.motion
    console.results.print(
        f"{len(motion.joint_pos_rad)} frames at {motion.rate_hz:g} per second, {len(motion.joint_names)} joints, "
        f"{len(motion.body_names)} bodies; smoothed to {result.path.bandwidth_hz:g} Hz, "
        f"{result.path.outliers} outliers among {recording.q_rad.size} readings",
        soft_wrap=True,
    )
    if heights is not None:
        console.print_table(heights)
    console.wrote(file)
    console.next_command("view", file)


def _foot_table(recording: Recording, result: Reconstruction) -> Table:
    """How high the sole of the resting foot is: as read, smoothed, corrected."""
    from haloid.recordings.reconstruction.resting_foot import resting_foot
    from haloid.report import Table

    foot = resting_foot(recording)
    rows = [_heights("as read", foot.heights_m(recording.q_rad))]
    if result.feet is None:
        rows.append(_heights("smoothed", foot.heights_m(result.motion.joint_pos_rad)))
        note = "Heights above the floor. --correct-feet puts the foot there."
    else:
        rows.append(_heights("smoothed", result.feet.heights_before_m))
        rows.append(_heights("corrected", result.feet.heights_after_m))
        size = abs(result.feet.increment_rad)
        column = int(size.max(axis=0).argmax())
        note = (
            f"Heights above the floor. No joint moved by more than {1e3 * size.max():.1f} mrad "
            f"({recording.joint_names[column]})."
        )
    return Table([foot.link, "centre (mm)", "front (mm)", "left edge (mm)"], rows, note=note)


def _heights(label: str, heights_m: np.ndarray) -> list[str]:
    heights_mm = (1e3 * heights_m).round(2) + 0.0  # no "-0.00"
    ranges = zip(heights_mm.min(axis=0), heights_mm.max(axis=0), strict=True)
    return [label, *(f"{low:.2f} to {high:.2f}" for low, high in ranges)]
