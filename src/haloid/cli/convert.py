"""`haloid convert`: a robot's own log in, a recording out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from haloid.cli import console


@dataclass(frozen=True)
class Config:
    """Convert a robot's log to a recording: bags, tables, LeRobot, SAGE.

    Reads .mcap and .db3 bags and rosbag2 folders with Unitree's LowState and LowCmd, csv, npz and parquet tables,
    LeRobot v3 datasets and SAGE folders. States and commands are put on one clock and one even grid; rows with losses
    are left out. Writes NAME.csv and NAME.json, or NAME.npz, and says what was done.

    Examples:
        haloid convert run.mcap -o out/run --clamp left_ankle_roll_link
        haloid convert so101/chirp -o out/chirp --robot so101.xml --gains model
    """

    log: tyro.conf.Positional[Path]
    """The file or folder to convert."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """NAME to write the recording to; NAME.npz for one small file."""
    robot: str = "g1"
    """A known robot, or the path of an MJCF or URDF file."""
    clamp: str | None = None
    """The link held fixed in the world; None for a robot with a fixed base."""
    support: Literal["single", "double"] = "single"
    """double: the other foot rests on the floor."""
    payload: str = "unknown"
    """none, unknown or free text."""
    rate: float | None = None
    """Rows a second; by default the rate of the commands."""
    gains: str | None = None
    """For a log without gains: a gain set of the robot, or model for its file's servos."""
    angles: Literal["rad", "deg"] = "rad"
    """Unit of the angles in a table or dataset."""
    episode: int = 0
    """Episode of a LeRobot dataset."""


def run(config: Config) -> None:
    from haloid.recordings.logs.convert import LogOptions, read_log
    from haloid.recordings.write import write_recording

    options = LogOptions(
        robot=config.robot,
        clamp=config.clamp,
        support=config.support,
        payload=config.payload,
        rate_hz=config.rate,
        gains=config.gains,
        angles=config.angles,
        episode=config.episode,
    )
    with console.progress("Converting") as say:
        recording = read_log(config.log, options, allow_gaps=True)
        say("writing")
        config.out.parent.mkdir(parents=True, exist_ok=True)
        written = write_recording(recording, config.out, allow_gaps=True)
    for line in recording.note.split("; "):
        console.results.print(line, soft_wrap=True)
    console.wrote(written)
