"""`haloid rollouts`: check the files that say what a robot did, or make one from a recording."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from haloid.cli import console
from haloid.errors import HaloidError

if TYPE_CHECKING:
    from haloid.trajectories.rollout import Rollout


@dataclass(frozen=True)
class Check:
    """Read rollouts and say what is in them. Exit status 1 if one is not as docs/rollouts.md says.

    Example:
        haloid rollouts check out/squat-rollouts.npz out/run.rollout.npz
    """

    files: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILE [FILE …]")] = ()
    """Files of the format haloid-rollout-1."""


@dataclass(frozen=True)
class Convert:
    """Write a recording as a rollout: readings as states, commands as targets, the root by forward kinematics.

    Example:
        haloid rollouts convert out/loaded-1.csv -o out/loaded-1.rollout.npz
    """

    recording: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RECORDING")] = tyro.MISSING
    """A recording in position mode."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = tyro.MISSING
    """File to write, NAME.npz."""


Action = (
    Annotated[Check, tyro.conf.subcommand("check", description=inspect.getdoc(Check))]
    | Annotated[Convert, tyro.conf.subcommand("convert", description=inspect.getdoc(Convert))]
)


@dataclass(frozen=True)
class Config:
    """Check rollouts (what a robot did, step by step), or make one from a recording.

    haloid evaluate --save-rollouts and haloid record --rollout write them. docs/rollouts.md describes the format.

    Examples:
        haloid rollouts check out/squat-rollouts.npz
        haloid rollouts convert out/loaded-1.csv -o out/loaded-1.rollout.npz
    """

    action: tyro.conf.OmitSubcommandPrefixes[Action]


def run(config: Config) -> None:
    match config.action:
        case Check() as action:
            _check(action)
        case Convert() as action:
            _convert(action)


def _check(action: Check) -> None:
    from haloid.trajectories.rollout_file import read_rollout

    if not action.files:
        raise HaloidError("no rollout to check. Give files that haloid evaluate --save-rollouts wrote.")
    bad = 0
    for file in action.files:
        try:
            rollout = read_rollout(file)
        except HaloidError as error:
            console.error(str(error))
            bad += 1
        else:
            console.results.print(f"{file}: {_summary(rollout)}", soft_wrap=True)
    if bad:
        raise HaloidError(f"{bad} of {len(action.files)} files cannot be used")
    console.next_command("view", action.files[0])


def _summary(rollout: Rollout) -> str:
    trajectory = rollout.trajectory
    fell = sum(episode.fell for episode in rollout.episodes)
    base = "fixed base" if trajectory.root_pos_w_m is None else "floating base"
    clamp = f", {rollout.clamp} clamped" if rollout.clamp else ""
    number = len(rollout.episodes)
    return (
        f"{number} episode{'s' if number > 1 else ''} ({fell} fell), {len(rollout)} rows at "
        f"{trajectory.rate_hz:g} Hz, {rollout.robot} with {len(trajectory.joint_names)} joints, {base}{clamp}, "
        f"simulator: {rollout.simulator}"
    )


def _convert(action: Convert) -> None:
    from haloid.recordings.files.read import read_recording
    from haloid.recordings.reconstruction.rollout import rollout_of_recording
    from haloid.trajectories.rollout_file import write_rollout

    with console.progress("Converting"):
        rollout = rollout_of_recording(read_recording(action.recording))
        file = write_rollout(rollout, action.out)
    console.results.print(_summary(rollout), soft_wrap=True)
    console.wrote(file)
    console.next_command("rollouts", "check", file)
