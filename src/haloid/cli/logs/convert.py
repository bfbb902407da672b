"""`haloid convert`: a robot's own log in, a recording out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from haloid.cli import console
from haloid.cli.words import named_numbers
from haloid.robots.entries import DEFAULT_ROBOT


@dataclass(frozen=True)
class Config:
    """Convert a robot's log to a recording: bags, tables, LeRobot, SAGE.

    Reads .mcap and .db3 bags and rosbag2 folders with Unitree's LowState and LowCmd, csv, npz and parquet tables,
    LeRobot v3 datasets and SAGE folders. States and commands are put on one clock and one even grid; rows with losses
    are left out. Writes NAME.csv and NAME.json, or NAME.npz, and says what was done.

    Examples:
        haloid convert run.mcap -o out/run --clamp left_ankle_roll_link
        haloid convert so101/chirp -o out/chirp --robot so101 --gains model
        haloid convert arm.csv -o out/arm --robot arm.xml --columns time=t q=actual_q_{} current=actual_current_{}
            --actuation torque --nm-per-a shoulder=13.2 elbow=13.2 wrist=9.1
    """

    log: tyro.conf.Positional[Path]
    """The file or folder to convert."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """NAME to write the recording to; NAME.npz for one small file."""
    robot: str = DEFAULT_ROBOT
    """A known robot, or the path of an MJCF or URDF file."""
    clamp: str | None = None
    """The link held fixed in the world; None for a robot with a fixed base."""
    support: Literal["single", "double"] = "single"
    """double: the other foot rests on the floor."""
    payload: str = "unknown"
    """none, unknown or free text."""
    rate: float | None = None
    """Rows per second; by default the rate of the commands."""
    gains: str | None = None
    """For a log without gains: a gain set of the robot, or model for its file's servos."""
    angles: Literal["rad", "deg"] = "rad"
    """Unit of the angles in a table or dataset."""
    episode: int = 0
    """Episode of a LeRobot dataset."""
    columns: tuple[str, ...] = ()
    """What a table's columns are, as NAME=COLUMN or one yaml file: time=0 q=1-6 target:elbow=cmd_el tau=tau_{} ..."""
    actuation: Literal["position", "torque"] | None = None
    """torque: a table's torque is the command, measured where none was commanded. None: as the columns say."""
    nm_per_a: tuple[str, ...] = ()
    """For a table with currents: JOINT=NUMBER, torque at the joint per ampere."""


def run(config: Config) -> None:
    from haloid.recordings.files.write import write_recording
    from haloid.recordings.logs.column_map import parse_columns
    from haloid.recordings.logs.convert import LogOptions, read_log

    columns = parse_columns(config.columns) if config.columns else None
    options = LogOptions(
        robot=config.robot,
        clamp=config.clamp,
        support=config.support,
        payload=config.payload,
        rate_hz=config.rate,
        gains=config.gains,
        angles=config.angles,
        episode=config.episode,
        columns=columns,
        actuation=config.actuation,
        nm_per_a=named_numbers("--nm-per-a", config.nm_per_a, "JOINT=NUMBER", "elbow=13.2") or None,
    )
    with console.progress("Converting") as say:
        recording = read_log(config.log, options, allow_gaps=True)
        say("writing")
        config.out.parent.mkdir(parents=True, exist_ok=True)
        written = write_recording(recording, config.out, allow_gaps=True)
    for line in recording.note.split("; "):
        console.results.print(line, soft_wrap=True)
    console.wrote(written)
    console.next_command("inspect", written)
