"""`haloid delta train`: learn what the simulator lacks from rollouts of the real robot."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from haloid.cli import console
from haloid.cli.delta.tables import open_loop_table
from haloid.errors import HaloidError
from haloid.extras import require_extra
from haloid.robots.entries import DEFAULT_ROBOT


@dataclass(frozen=True)
class Train:
    """Learn a delta model: what must be added to targets, or to states, so that the simulator does what the robot did.

    Writes delta.pt, delta.onnx and joints.png (how much every joint is corrected) to the folder, and prints how far
    replays of the rollouts end from the real robot, without and with it. With --held-out, motions that are not learned
    from are replayed.

    Examples:
        haloid delta train --rollouts out/real -o out/delta
        haloid delta train --rollouts out/real --held-out walk wave -o out/delta
        haloid delta train --rollouts out/real --joints ankles --model out/result/calibrated.xml -o out/delta
        haloid delta train --rollouts out/real --method dynamics -o out/dynamics
        haloid delta train --rollouts out/real --method ppo --minutes 60 -o out/delta-ppo

    PPO keeps its checkpoints in a folder beside the other (OUT-training) until it is done; one that was stopped goes on
    with the same command.
    """

    rollouts: tuple[Path, ...] = ()
    """Rollouts of the real robot, or folders of them (docs/rollouts.md)."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = tyro.MISSING
    """Folder to write to."""
    method: Literal["fast", "ppo", "dynamics"] = "fast"
    """fast: delta action by least squares, minutes; ppo: by reinforcement learning as in ASAP, hours; dynamics: delta
    dynamics, ASAP's baseline."""
    iterations: int | None = None
    """PPO's rounds of acting and learning; 600 unless told."""
    minutes: float | None = None
    """PPO stops after this long, with the best model so far."""
    joints: Literal["all", "ankles"] = "all"
    """Which servos are corrected."""
    model: str = DEFAULT_ROBOT
    """The simulator's robot: g1, a model file such as calibrated.xml, or a patch.json."""
    held_out: tuple[str, ...] = ()
    """Motions that are only replayed, not learned from."""
    seed: int = 0
    threads: int = 0
    """0: all cores."""


def run(config: Train) -> None:
    require_extra("delta train", "learn", "torch", "mjbatch", "onnx")
    from haloid.gap.delta.action import DeltaAction
    from haloid.gap.delta.files import export_onnx, save_delta
    from haloid.gap.delta.learn import correction_of, learn
    from haloid.gap.replays.data import read_real_data
    from haloid.gap.replays.open_loop import open_loop
    from haloid.gap.replays.simulator import States
    from haloid.outputs import atomic_directory
    from haloid.report.delta import delta_by_joint
    from haloid.skills.task.robot import tracked_robot
    from haloid.skills.training.checkpoint import FILE as CHECKPOINT

    if not config.rollouts:
        raise HaloidError("no rollout to learn from. Give files or folders with --rollouts")
    if config.method != "ppo" and (config.iterations is not None or config.minutes is not None):
        raise HaloidError(f"--iterations and --minutes are for --method ppo; the method is {config.method}")
    if config.method == "ppo":
        require_extra("delta train --method ppo", "learn", "rsl_rl")
    robot = tracked_robot(config.model)
    data = read_real_data(config.rollouts, robot)
    unknown = sorted(set(config.held_out) - set(data.sources))
    if unknown:
        raise HaloidError(f"no rollout of {', '.join(unknown)} to hold out. There are: {', '.join(data.sources)}")
    kept = [source for source in data.sources if source not in config.held_out]
    if not kept:
        raise HaloidError("all motions are held out, and none is left to learn from")
    training = data.of(kept)
    judged = data.of(config.held_out) if config.held_out else training
    checkpoints = config.out.with_name(f"{config.out.name}-training")
    with atomic_directory(config.out) as folder:
        with console.progress("Learning") as say:
            model = learn(
                robot,
                training,
                config.method,
                config.joints,
                seed=config.seed,
                threads=config.threads,
                iterations=config.iterations,
                minutes=config.minutes,
                folder=checkpoints,
                say=say,
            )
        with console.progress("Replaying") as say:
            methods = {"OpenLoop": None, config.method: correction_of(model)}
            found = open_loop(robot, judged, methods, windows=64, threads=config.threads, say=say)
        save_delta(model, folder)
        export_onnx(model, folder / "delta.onnx")
        written = ["delta.pt", "delta.onnx"]
        if isinstance(action := correction_of(model), DeltaAction):
            delta_rad = action.delta_rad(States(judged.qpos, judged.qvel, judged.held_rad), judged.target_rad)
            delta_by_joint(robot.joint_names, delta_rad).savefig(folder / "joints.png", dpi=150)
            written.append("joints.png")
    if config.method == "ppo":
        (checkpoints / CHECKPOINT).unlink(missing_ok=True)
        with suppress(OSError):  # it is not there, or holds something else
            checkpoints.rmdir()
    what = f"held-out {', '.join(config.held_out)}" if config.held_out else "the rollouts that it learned from"
    console.results.print(f"Replays of {what}:", soft_wrap=True)
    console.print_table(open_loop_table(found))
    for name in written:
        console.wrote(config.out / name)
