"""Environment steps per second: the whole training loop, split into its parts, and mjlab's environment on the same CPU.

The loop is `haloid train` as it comes: 512 G1s with contact, 50 Hz control, PPO on all cores. mjlab's number is its
environment alone, without learning, stepped with random actions.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from haloid.bench.outcome import Outcome, Target
from haloid.motions.load import load_motion
from haloid.report import Table
from haloid.skills.task.task import TaskConfig
from haloid.skills.training.learning import Training, TrainingConfig
from haloid.trajectories.motion_export import write_motion

MOTION = "squat"
PARTS = {
    "physics": "MuJoCo steps and sensors",
    "terms": "observations, rewards, resets, controller",
    "policy": "actor, critic and bookkeeping",
    "update": "PPO",
    "trial": "trials that choose the best policy",
}


@dataclass(frozen=True)
class Throughput:
    """Settings of `haloid bench throughput`."""

    iterations: int = 50
    """Measured iterations of training; every 50th has a trial."""
    mjlab_robots: int = 256
    """Robots in mjlab's environment."""
    mjlab_steps: int = 20
    """Measured control steps of mjlab's environment."""
    out: Path = Path("out/bench/throughput")
    """Directory for result.json."""


def run(config: Throughput, say: Callable[[str], None]) -> Outcome:
    say("training")
    seconds, steps = _training(config.iterations, say)
    say("building mjlab's environment")
    mjlab = _mjlab_steps_a_second(config.mjlab_robots, config.mjlab_steps)
    rate = steps / seconds["all"]
    headline = {
        "env_steps_per_second": rate,
        "times_faster_than_mjlab_cpu": rate / mjlab,
        "mjlab_env_steps_per_second": mjlab,
        **{f"{part}_share": seconds[part] / seconds["all"] for part in PARTS},
    }
    rows = [
        [words, f"{1e6 * seconds[part] / steps:.0f}", f"{100 * seconds[part] / seconds['all']:.0f} %"]
        for part, words in PARTS.items()
    ]
    rows.append(["whole loop", f"{1e6 * seconds['all'] / steps:.0f}", "100 %"])
    rows.append([f"mjlab's environment alone, {config.mjlab_robots} robots", f"{1e6 / mjlab:.0f}", ""])
    targets = [
        Target("environment steps per second, whole training loop", rate, 7000, at_least=True),
        Target("times mjlab's environment on this CPU", rate / mjlab, 15, at_least=True),
    ]
    table = Table(["part", "µs per step", "of the loop"], rows, f"{steps:,} steps; mjlab's in the same run.")
    return Outcome(headline, [{"part": part, "seconds": seconds[part]} for part in PARTS], [table], targets)


def _training(iterations: int, say: Callable[[str], None]) -> tuple[dict[str, float], int]:
    training = Training(TrainingConfig(TaskConfig(motions=(MOTION,))))
    for _ in range(3):
        training.step()
    seconds, steps = dict.fromkeys([*PARTS, "all"], 0.0), 0
    for number in range(iterations):
        say(f"training, iteration {number + 1} of {iterations}")
        iteration = training.step()
        steps += iteration.steps
        for part in seconds:
            seconds[part] += iteration.seconds[part]
    return seconds, steps


def _mjlab_steps_a_second(robots: int, steps: int) -> float:
    import torch
    from mjlab.envs import ManagerBasedRlEnv

    from haloid.skills.mjlab_backend.task import tracking_env_cfg

    with tempfile.TemporaryDirectory() as folder:
        file = write_motion(load_motion(MOTION), Path(folder) / "motion")
        cfg = tracking_env_cfg(motion_file=str(file), state_estimation=False)
        cfg.scene.num_envs = robots
        env = ManagerBasedRlEnv(cfg, device="cpu")
        try:
            env.reset()
            actions = torch.from_numpy(np.random.default_rng(0).normal(0, 0.1, (robots, 29)).astype(np.float32))
            for _ in range(2):
                env.step(actions)
            started = time.perf_counter()
            for _ in range(steps):
                env.step(actions)
            return robots * steps / (time.perf_counter() - started)
        finally:
            env.close()
