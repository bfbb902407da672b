"""`haloid calibrate`: logs of a robot without a payload in, its servos as they are out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from haloid.cli import console


@dataclass(frozen=True)
class Config:
    """Find a robot's servos: gains, friction, damping, armature, torque limits, delay.

    No payload and no known gains are needed. The servos are fitted on some of the runs; the calibrated model, as it is
    written, is then replayed on the runs that were held out. Writes result.json, calibrated.xml, calibrated.urdf,
    patch.json, report.html and config.yaml.

    Example:
        haloid calibrate logs/chirp_sweep logs/wave_motion logs/step_response --robot so101 -o out/so101
    """

    logs: tyro.conf.Positional[tuple[Path, ...]]
    """Recordings, or logs with a description beside them."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Directory to write the result to."""
    robot: str | None = None
    """For logs without a description: the robot that was logged."""
    held_out: int | None = None
    """Runs held out of the fit to judge it by; by default one in five, or the last fifth of a single run."""
    shared_delay: bool = False
    """One delay for all joints instead of one for each."""
    seed: int = 0
    """Without effect: the search is a grid and a descent, the same every time."""


def run(config: Config) -> None:
    from haloid.api.calibration import calibrate
    from haloid.cli.models.replay import open_logs
    from haloid.outputs import atomic_directory
    from haloid.report.calibration import summary_lines

    with atomic_directory(config.out) as folder:
        recordings = open_logs(config.logs, config.robot)
        with console.progress("Calibrating") as say:
            found = calibrate(recordings, held_out=config.held_out, shared_delay=config.shared_delay, say=say)
        with console.progress("Writing the result"):
            found.write_into(folder)
    for table in found.tables:
        console.print_table(table)
    for line in summary_lines(found.found):
        console.results.print(line)
    console.wrote(config.out / "result.json")
    console.wrote(config.out / "report.html")
    console.next_command("replay", config.out, config.logs[0], *(["--robot", config.robot] if config.robot else []))
