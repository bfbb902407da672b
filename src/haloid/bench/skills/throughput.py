"""Environment steps per second: the whole training loop, split into its parts, and mjlab's environment on the same CPU.

As shipped, the loop is `haloid train` as it comes: 512 G1s with contact, 50 Hz control, PPO on all cores. mjlab's
number is its environment alone, without learning, stepped with random actions. With equal physics, this package's
environment, also alone, runs mjlab's own robot: its geometry and self-collisions, four steps of 5 ms, its solver's
iterations and tolerance. The environments take turns, a few steps each, so that both see the same load of the machine.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from haloid.bench.outcome import Outcome, Target
from haloid.motions.load import load_motion
from haloid.report import Table
from haloid.skills.policies.actions import MjlabActions
from haloid.skills.task.environment import EnvironmentConfig, TrackingEnvironment
from haloid.skills.task.reference import reference_of
from haloid.skills.task.task import TaskConfig
from haloid.skills.training.learning import Training, TrainingConfig
from haloid.skills.training.vec_env import TrackingVecEnv
from haloid.trajectories.motion_export import write_motion

MOTION = "squat"
OUR_STEPS = 4
"""Of our environment for one of mjlab's, which takes about as long."""
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
    """Measured control steps of mjlab's environment; ours makes four times as many."""
    out: Path = Path("out/bench/throughput")
    """Directory for result.json."""


def run(config: Throughput, say: Callable[[str], None]) -> Outcome:
    say("training")
    seconds, steps = _training(config.iterations, say)
    say("building mjlab's environment")
    mjlab, equal = _steps_per_second(config.mjlab_robots, config.mjlab_steps)
    rate = steps / seconds["all"]
    headline = {
        "env_steps_per_second": rate,
        "times_faster_than_mjlab_cpu": rate / mjlab,
        "times_faster_equal_physics": equal / mjlab,
        "mjlab_env_steps_per_second": mjlab,
        "equal_physics_env_steps_per_second": equal,
        **{f"{part}_share": seconds[part] / seconds["all"] for part in PARTS},
    }
    rows = [
        [words, f"{1e6 * seconds[part] / steps:.0f}", f"{100 * seconds[part] / seconds['all']:.0f} %"]
        for part, words in PARTS.items()
    ]
    rows.append(["whole loop, as shipped", f"{1e6 * seconds['all'] / steps:.0f}", "100 %"])
    rows.append(["environment alone, mjlab's physics", f"{1e6 / equal:.0f}", ""])
    rows.append([f"mjlab's environment alone, {config.mjlab_robots} robots", f"{1e6 / mjlab:.0f}", ""])
    targets = [
        Target("environment steps per second, whole training loop", rate, 7000, at_least=True),
        Target("times mjlab's environment on this CPU, as shipped, learning included", rate / mjlab, 15, at_least=True),
        Target("times mjlab's environment on this CPU, equal physics", equal / mjlab, 8, at_least=True),
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


def _steps_per_second(robots: int, steps: int) -> tuple[float, float]:
    """Of mjlab's environment, and of this package's with mjlab's robot and physics; both alone, with random actions."""
    import torch
    from mjlab.envs import ManagerBasedRlEnv

    from haloid.skills.mjlab_backend.robot import robot_with_mjlabs_physics
    from haloid.skills.mjlab_backend.task import tracking_env_cfg

    motion = load_motion(MOTION)
    with tempfile.TemporaryDirectory() as folder:
        file = write_motion(motion, Path(folder) / "motion")
        cfg = tracking_env_cfg(motion_file=str(file), state_estimation=False)
        cfg.scene.num_envs = robots
        robot = robot_with_mjlabs_physics(cfg)
        ours = TrackingVecEnv(
            TrackingEnvironment(robot, reference_of(robot, [motion], ["motion"]), EnvironmentConfig()), MjlabActions(29)
        )
        env = ManagerBasedRlEnv(cfg, device="cpu")
        try:
            env.reset()
            random = torch.Generator().manual_seed(0)
            theirs_action, our_action = (0.1 * torch.randn(n, 29, generator=random) for n in (robots, ours.num_envs))

            def our_step() -> None:
                ours.get_observations()
                ours.step(our_action)

            theirs_s = ours_s = 0.0
            for turn in range(-2, steps):  # the first two turns compile and warm up
                theirs, equal = _seconds(lambda: env.step(theirs_action), 1), _seconds(our_step, OUR_STEPS)
                if turn >= 0:
                    theirs_s, ours_s = theirs_s + theirs, ours_s + equal
            return robots * steps / theirs_s, ours.num_envs * OUR_STEPS * steps / ours_s
        finally:
            env.close()


def _seconds(step: Callable[[], object], times: int) -> float:
    started = time.perf_counter()
    for _ in range(times):
        step()
    return time.perf_counter() - started
