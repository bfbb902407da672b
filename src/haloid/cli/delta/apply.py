"""`haloid delta apply`: replay rollouts in the corrected simulator."""

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
class Apply:
    """Replay rollouts in the simulator without and with a delta model: how close is it to the real robot?

    Example:
        haloid delta apply out/delta --rollouts out/real/walk.npz
    """

    delta: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DELTA")] = tyro.MISSING
    """delta.pt, or the folder it is in."""
    rollouts: tuple[Path, ...] = ()
    """Rollouts of the real robot, or folders of them."""
    model: str = DEFAULT_ROBOT
    """The simulator's robot, as in haloid delta train."""
    windows: int = 64
    """Replays for each length."""
    threads: int = 0
    """0: all cores."""


def run(config: Apply) -> None:
    require_extra("delta apply", "learn", "torch", "mjbatch")
    from haloid.gap.delta.files import check_delta_fits, load_delta
    from haloid.gap.delta.learn import correction_of
    from haloid.gap.replays.data import read_real_data
    from haloid.gap.replays.open_loop import open_loop
    from haloid.skills.task.robot import tracked_robot

    if not config.rollouts:
        raise HaloidError("no rollout to replay. Give files or folders with --rollouts")
    model, robot = load_delta(config.delta), tracked_robot(config.model)
    check_delta_fits(model, robot, config.delta)
    data = read_real_data(config.rollouts, robot)
    with console.progress("Replaying") as say:
        methods = {"OpenLoop": None, f"with {config.delta.name}": correction_of(model)}
        found = open_loop(robot, data, methods, windows=config.windows, threads=config.threads, say=say)
    console.print_table(open_loop_table(found))
