"""`haloid delta`: the commands for what the simulator lacks, one module each."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Annotated

import tyro

from haloid.cli.delta import check, collect

Action = (
    Annotated[collect.Collect, tyro.conf.subcommand("collect", description=inspect.getdoc(collect.Collect))]
    | Annotated[check.Check, tyro.conf.subcommand("check", description=inspect.getdoc(check.Check))]
)


@dataclass(frozen=True)
class Config:
    """Learn what the simulator lacks from rollouts of the real robot, and train on what it then is (ASAP, GAPONet).

    Examples:
        haloid delta collect --policy out/squat out/walk --stand-in twin -o out/real
        haloid delta check out/real
    """

    action: tyro.conf.OmitSubcommandPrefixes[Action]


def run(config: Config) -> None:
    match config.action:
        case collect.Collect() as action:
            collect.run(action)
        case check.Check() as action:
            check.run(action)
