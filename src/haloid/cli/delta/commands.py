"""`haloid delta`: the commands for what the simulator lacks, one module each."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Annotated

import tyro

from haloid.cli.delta import apply, check, collect, dataset, finetune, operator, train

Action = (
    Annotated[collect.Collect, tyro.conf.subcommand("collect", description=inspect.getdoc(collect.Collect))]
    | Annotated[train.Train, tyro.conf.subcommand("train", description=inspect.getdoc(train.Train))]
    | Annotated[finetune.Finetune, tyro.conf.subcommand("finetune", description=inspect.getdoc(finetune.Finetune))]
    | Annotated[apply.Apply, tyro.conf.subcommand("apply", description=inspect.getdoc(apply.Apply))]
    | Annotated[check.Check, tyro.conf.subcommand("check", description=inspect.getdoc(check.Check))]
    | Annotated[dataset.Dataset, tyro.conf.subcommand("dataset", description=inspect.getdoc(dataset.Dataset))]
    | Annotated[operator.Operator, tyro.conf.subcommand("operator", description=inspect.getdoc(operator.Operator))]
)


@dataclass(frozen=True)
class Config:
    """Learn what the simulator lacks from what the robot did, and train in the corrected simulator (ASAP, GAPONet).

    Examples:
        haloid delta collect --policy out/squat out/walk --stand-in twin -o out/real
        haloid delta check out/real
        haloid delta train --rollouts out/real --held-out walk -o out/delta
        haloid delta finetune --policy out/squat --delta out/delta -o out/squat-tuned --minutes 15
        haloid delta dataset -o out/pairs
        haloid delta operator out/pairs -o out/operator
    """

    action: tyro.conf.OmitSubcommandPrefixes[Action]


def run(config: Config) -> None:
    match config.action:
        case collect.Collect() as action:
            collect.run(action)
        case train.Train() as action:
            train.run(action)
        case finetune.Finetune() as action:
            finetune.run(action)
        case apply.Apply() as action:
            apply.run(action)
        case check.Check() as action:
            check.run(action)
        case dataset.Dataset() as action:
            dataset.run(action)
        case operator.Operator() as action:
            operator.run(action)
