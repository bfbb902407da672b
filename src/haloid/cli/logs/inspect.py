"""`haloid inspect`: what is in a log, what could be identified from it, what to do better."""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from haloid.cli import console
from haloid.errors import HaloidError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from haloid.identify.inspection.inspect import Inspection
    from haloid.recordings.recording import Recording

_WIDEST = 100
"""Columns of running text."""
_NOTE_LENGTH = 140
"""A converted log's note first says where it is from and how its joints were matched; the page has all of it."""


@dataclass(frozen=True)
class Config:
    """Look at a log: is it usable, how exactly would it show the payload, what to do better.

    Takes a recording, or a robot's own log that has its json beside it or whose robot and clamp are named here. Gaps
    are counted, not refused. The intervals are predicted for a robot that is otherwise as its data sheet says.

    Examples:
        haloid inspect out/loaded-1.csv
        haloid inspect run.mcap --clamp left_ankle_roll_link --rate 50 --html out/run.html
    """

    log: tyro.conf.Positional[Path]
    """The recording, or the log's file or folder."""
    payload_links: tuple[str, ...] = ()
    """Links that carry the load; by default those its description names, else the robot's last links."""
    json: bool = False
    """Print one JSON document instead of the screen."""
    html: Path | None = None
    """Write a page with plots of every joint to this file."""
    robot: str | None = None
    """For a log without a json: a known robot, or the path of an MJCF or URDF file."""
    clamp: str | None = None
    """For a log without a json: the link held fixed in the world."""
    gains: str | None = None
    """For a log without a json and without gains: a gain set of the robot, or model."""
    rate: float | None = None
    """For a log without a json: rows per second."""


def run(config: Config) -> None:
    from haloid.api.logs import inspect
    from haloid.outputs import atomic_file

    with console.progress("Inspecting") as say:
        recording = _open(config)
        say("predicting the intervals")
        inspected = inspect(recording, config.payload_links)
        if config.html is not None:
            say("writing the page")
            with atomic_file(config.html) as beside:
                beside.write_text(inspected.page, encoding="utf-8")
    if config.json:
        document = {**inspected.facts.to_json(), "advice": inspected.advice}
        print(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))
        return
    _show(inspected.facts, inspected.advice)
    if config.html is not None:
        console.wrote(config.html)
    links = _links(inspected.facts)
    console.next_command(
        *("identify", "--stages", "one", "--loaded", config.log, "--payload-links", *links, "-o", "out/result")
    )


def _links(inspection: Inspection) -> list[str]:
    """Those whose payload was looked at."""
    return ["LINK"] if inspection.precision is None else [one.link for one in inspection.precision.links]


def _open(config: Config) -> Recording:
    """As the json beside the log says, or the options."""
    from haloid.recordings.logs.convert import LogOptions, read_log
    from haloid.recordings.open_log import description_file, open_log
    from haloid.recordings.patterns import matching_files

    log, *more = matching_files([config.log])
    if more:
        raise HaloidError(f"{config.log} matches {1 + len(more)} files; expected one. Inspect one log at a time")
    said = {"robot": config.robot, "clamp": config.clamp, "gains": config.gains, "rate_hz": config.rate}
    said = {name: value for name, value in said.items() if value is not None}
    if not said:
        return open_log(log, allow_gaps=True)
    described = description_file(log)
    if described.is_file():
        raise HaloidError(
            f"{described} describes {log.name}, and so do the options {', '.join(said)}; expected one of them. "
            "Leave out the options, or change the json"
        )
    return read_log(log, LogOptions(**said), allow_gaps=True)


def _show(inspection: Inspection, sentences: Sequence[str]) -> None:
    from haloid.report.inspection import facts, joints_table, notable, precision_table

    for what, found in facts(inspection):
        console.results.print(f"{what:<8}{found}")
    if inspection.note:
        console.results.print(f"note    {textwrap.shorten(inspection.note, _NOTE_LENGTH, placeholder=' ...')}")
    console.print_table(joints_table(notable(inspection.joints), len(inspection.joints)))
    precision = precision_table(inspection)
    if precision is not None:
        console.print_table(precision)
    console.results.print("\nWhat to do better:" if sentences else "\nWhat to do better: nothing.")
    width = min(console.results.width, _WIDEST)
    for sentence in sentences:
        console.results.print(textwrap.fill(sentence, width, initial_indent="- ", subsequent_indent="  "))
