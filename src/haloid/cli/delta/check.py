"""`haloid delta check`: whether rollouts fit the simulator, and how large the gap is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from haloid.cli import console
from haloid.cli.delta.tables import open_loop_table
from haloid.errors import HaloidError
from haloid.extras import require_extra
from haloid.robots.entries import DEFAULT_ROBOT


@dataclass(frozen=True)
class Check:
    """Check rollouts against the simulator that is to be corrected, and say how large the gap is.

    Replays the recorded targets from recorded states and prints how far the simulator ends from the real robot.

    Example:
        haloid delta check out/real
    """

    rollouts: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILE [FILE …]")] = ()
    """Rollouts of the real robot, or folders of them (docs/rollouts.md)."""
    model: str = DEFAULT_ROBOT
    """The simulator's robot: g1, a model file such as calibrated.xml, or a patch.json."""
    windows: int = 64
    """Replays for each length."""
    threads: int = 0
    """0: all cores."""


def run(config: Check) -> None:
    require_extra("delta check", "learn", "mjbatch")
    from haloid.gap.replays.data import read_real_data
    from haloid.gap.replays.open_loop import LENGTHS_S, open_loop
    from haloid.skills.task.robot import tracked_robot

    if not config.rollouts:
        raise HaloidError("no rollout to check. Give files that haloid delta collect or haloid evaluate wrote")
    robot = tracked_robot(config.model)
    with console.progress("Replaying") as say:
        data = read_real_data(config.rollouts, robot)
        found = open_loop(robot, data, {"OpenLoop": None}, windows=config.windows, threads=config.threads, say=say)
    episodes, fell = len(set(data.episode)), len(set(data.episode[data.fallen]))
    console.results.print(
        f"{len(data)} rows in {episodes} clips ({fell} fell) of {', '.join(data.sources)}; "
        f"replayed over {', '.join(f'{length:g}' for length in LENGTHS_S)} s:",
        soft_wrap=True,
    )
    console.print_table(open_loop_table(found))
