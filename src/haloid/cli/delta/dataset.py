"""`haloid delta dataset`: pairs of a robot and its simulator, generated or made from a user's own logs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from haloid.cli import console
from haloid.cores import usable_cores
from haloid.errors import HaloidError


@dataclass(frozen=True)
class Dataset:
    """Generate a SimLifter-style dataset of the H1-2's arms, or bring your own logs into its shape.

    Three robots with different wear and a fourth (unit 3) to test on, moving one joint, two or all ten, with 0 to 3 kg
    in each hand, at 50 and 100 Hz. Each sequence is paired, frame by frame, with its simulated replica. Run it again to
    continue where it stopped. With --logs, nothing is generated: the logs become the real side.

    Examples:
        haloid delta dataset -o out/pairs
        haloid delta dataset --sequences 11198 --frames 23 -o out/simlifter
        haloid delta dataset --logs logs/wave logs/chirp --robot so101 -o out/so101-pairs
    """

    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = tyro.MISSING
    """Folder to write."""
    logs: tuple[Path, ...] = ()
    """Recordings or logs to convert instead of generating."""
    robot: str | None = None
    """For logs without a description: the robot that was logged, driven by its file's servos."""
    payload_kg: float | None = None
    """What each hand carried in the logs; default: as their descriptions say, nothing where a log has none."""
    sequences: int = 480
    """How many; the paper's dataset has 11,198."""
    frames: int = 150
    """Of each sequence; the paper's have 23 on average."""
    payloads_kg: tuple[float, ...] = (0.0, 1.0, 2.0, 3.0)
    """Masses in each hand."""
    rates_hz: tuple[float, ...] = (50.0, 100.0)
    """Control rates."""
    seed: int = 0
    """The same seed gives the same dataset."""
    format: Literal["npz", "parquet"] = "npz"
    """Files of the parts; parquet needs the extra `logs`."""
    workers: int | None = None
    """Processes; default: all cores."""


def run(config: Dataset) -> None:
    if config.logs:
        _convert(config)
        return
    from haloid.gap.dataset.generate import DatasetSettings, generate

    if config.workers is not None and config.workers < 1:
        raise HaloidError(f"--workers is {config.workers}; expected at least 1")
    settings = DatasetSettings(
        sequences=config.sequences,
        frames=config.frames,
        payloads_kg=config.payloads_kg,
        rates_hz=config.rates_hz,
        seed=config.seed,
    )
    with console.progress("Generating") as say:
        generate(
            config.out,
            settings,
            config.format,
            usable_cores() if config.workers is None else config.workers,
            lambda done, parts: say(f"{done} of {parts} parts", done=done / parts),
        )
    _told(config.out, settings.sequences, settings.sequences * settings.frames)


def _convert(config: Dataset) -> None:
    from haloid.cli.models.replay import open_logs
    from haloid.gap.dataset.files import part_file, write_card, write_part
    from haloid.gap.dataset.from_logs import dataset_of
    from haloid.outputs import atomic_directory

    with console.progress("Converting"), atomic_directory(config.out) as beside:
        found = dataset_of(open_logs(config.logs, config.robot), config.payload_kg)
        write_part(part_file(beside, 0, config.format), found.pairs)
        counts = {"sequences": len(found.pairs), "frames": found.frames}
        write_card(beside, found.base, found.settings, found.note, counts)
    _told(config.out, len(found.pairs), found.frames)


def _told(folder: Path, sequences: int, frames: int) -> None:
    console.results.print(f"{folder}: {sequences} sequences, {frames} frames", soft_wrap=True)
    console.next_command("delta", "operator", folder, "-o", "out/operator")
