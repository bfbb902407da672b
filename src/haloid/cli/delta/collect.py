"""`haloid delta collect`: rollouts of policies on a stand-in for the real robot."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from haloid.cli import console
from haloid.errors import HaloidError
from haloid.extras import require_extra
from haloid.robots.entries import DEFAULT_ROBOT

if TYPE_CHECKING:
    from haloid.trajectories.rollout import Rollout


@dataclass(frozen=True)
class Collect:
    """Let policies drive a stand-in for the real robot through many short clips, and keep what it did.

    Writes one rollout (docs/rollouts.md) for each policy to the folder, or one for each of its motions if it has
    several. What is done is not driven again, so a collection that was stopped goes on with the same command.

    Examples:
        haloid delta collect --policy out/squat out/walk --stand-in twin -o out/real
        haloid delta collect --policy out/walk --stand-in worn --clips 200 --seconds 2 -o out/real
    """

    policy: tuple[Path, ...] = ()
    """Policies: ONNX files, policy.pt, or folders of trainings."""
    stand_in: str = "twin"
    """nominal, twin (a gap that no parameter expresses), worn (one that parameters do express), genesis (another
    simulator, which make genesis sets up) or genesis-twin (the twin's motors in that simulator)."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = tyro.MISSING
    """Folder for the rollouts."""
    robot: str = DEFAULT_ROBOT
    """The robot that the stand-in stands in for."""
    clips: int = 40
    """For each motion of each policy."""
    seconds: float = 3.0
    """Of a clip, or less where the motion ends."""
    target_noise: float = 0.02
    """Standard deviation of what is added to every target, rad: it shows what the policy alone would not."""
    disturbance: float = 0.3
    """Of the starts, as a fraction of mjlab's: root ± 5 cm and ± 0.1 rad, its velocities ± 0.5 m/s, joints ± 0.1
    rad."""
    seed: int = 0
    threads: int = 0
    """0: all cores."""


def run(config: Collect) -> None:
    require_extra("delta collect", "learn", "onnx", "onnxruntime", "mjbatch")
    from haloid.trajectories.rollout_file import read_rollout, write_rollout

    if not config.policy:
        raise HaloidError("no policy to drive the stand-in. Give one or more with --policy")
    files = _files(config)
    for number, (file, (policy, motion)) in enumerate(files.items(), start=1):
        if file.is_file():
            rollout = read_rollout(file)
            _check_same(rollout, config, policy, file)
        else:
            with console.progress(f"Collecting {number} of {len(files)}: {file.stem}") as say:
                rollout = _collect(policy, motion, config, say)
            write_rollout(rollout, file)
        fell = sum(episode.fell for episode in rollout.episodes)
        console.results.print(
            f"{file}: {len(rollout.episodes)} clips ({fell} fell), {len(rollout)} rows", soft_wrap=True
        )


def _files(config: Collect) -> dict[Path, tuple[Path, str]]:
    """Policy and motion of each rollout, which is named after the policy's folder or file."""
    from haloid.skills.policies.open_policy import open_policy

    files: dict[Path, tuple[Path, str]] = {}
    for policy in config.policy:
        inner = policy.name in ("policy.onnx", "policy.pt")
        name = policy.resolve().parent.name if inner else policy.resolve().stem
        motions = open_policy(policy).facts.motions
        for motion in motions:
            file = config.out / (f"{name}-{motion}.npz" if len(motions) > 1 else f"{name}.npz")
            if file in files:
                raise HaloidError(f"two policies are called {name}, and name their rollouts: rename a folder")
            files[file] = policy, motion
    return files


def _collect(path: Path, motion: str, config: Collect, say: Callable[[str], None]) -> Rollout:
    from haloid.gap.replays.collect import CollectConfig, collect
    from haloid.gap.standins.named import stand_in, what_moves
    from haloid.skills.policies.deployed import DeployedPolicy
    from haloid.skills.policies.open_policy import onnx_of

    settings = CollectConfig(
        clips=config.clips,
        seconds=config.seconds,
        target_noise_rad=config.target_noise,
        disturbance=config.disturbance,
        motion=motion,
        seed=config.seed,
        threads=config.threads,
    )
    robot = stand_in(config.stand_in, config.robot)
    with onnx_of(path) as file, what_moves(config.stand_in) as simulate:
        return collect(DeployedPolicy(file), robot, config.robot, config.stand_in, settings, say, simulate)


def _check_same(rollout: Rollout, config: Collect, policy: Path, file: Path) -> None:
    """A file that exists must be what was asked for."""
    from haloid.skills.policies.open_policy import onnx_of

    with onnx_of(policy) as onnx_file:
        policy_sha256 = hashlib.sha256(onnx_file.read_bytes()).hexdigest()
    if rollout.policy_sha256 != policy_sha256:
        raise HaloidError(
            f"{file} was collected with another policy than {policy} is now. Give another folder with -o, or remove "
            "the file"
        )
    wanted = {
        "stand_in": config.stand_in,
        "seed": config.seed,
        "clips": config.clips,
        "seconds": config.seconds,
        "target_noise_rad": config.target_noise,
        "disturbance": config.disturbance,
    }
    found = {name: rollout.facts.get(name) for name in wanted}
    if found != wanted:
        different = ", ".join(
            f"{name} {found[name]} (now {wanted[name]})" for name in wanted if found[name] != wanted[name]
        )
        raise HaloidError(f"{file} was collected with other settings: {different}. Give another folder with -o")
