"""Rollouts for ASAP's benchmarks: controllers drive a stand-in through clips of several motions.

In: a folder, a stand-in, motions, a seed. Out: real data. Controllers and rollouts are kept in the folder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from haloid.gap.replays.collect import CollectConfig, collect
from haloid.gap.replays.data import RealData, read_real_data
from haloid.gap.standins.named import stand_in, what_moves
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.skills.policies.deployed import DeployedPolicy
from haloid.skills.task.robot import TrackedRobot
from haloid.skills.task.task import TaskConfig
from haloid.skills.training.learning import TrainingConfig
from haloid.skills.training.run_folder import finish, train
from haloid.trajectories.rollout_file import write_rollout


def controlled_rollouts(
    folder: Path,
    name: str,
    motions: Sequence[str],
    robot: TrackedRobot,
    *,
    clips: int,
    seed: int,
    threads: int,
    say: Callable[[str], None],
) -> RealData:
    """`clips` of each motion on the stand-in `name`, in the coordinates of `robot`."""
    files = {motion: folder / "rollouts" / f"{name}-{seed}" / f"{motion}.npz" for motion in motions}
    for motion, file in files.items():
        if file.is_file():
            continue
        policy = folder / "controllers" / motion / "policy.onnx"
        if not policy.is_file():
            say(f"controller for {motion}")
            task = TaskConfig(motions=(motion,), actions="controller", threads=threads)
            finish(train(TrainingConfig(task=task, threads=threads), policy.parent))
        say(f"rollouts of {motion}")
        settings = CollectConfig(clips=clips, seed=seed, threads=threads)
        with what_moves(name) as simulate:
            rollout = collect(DeployedPolicy(policy), stand_in(name), DEFAULT_ROBOT, name, settings, simulate=simulate)
        write_rollout(rollout, file)
    return read_real_data(list(files.values()), robot)
