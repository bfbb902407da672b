"""The methods of ASAP's Table III on one stand-in: what each learns from the same rollouts, and its open-loop errors.

In: the benchmark's settings (open_loop.py), a stand-in, a seed. Out: a row for every method and length of replay.
Training times are of the processor, all cores together: they do not depend on what else the machine is doing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from haloid.bench.delta.rollouts import controlled_rollouts
from haloid.gap.delta.fast import FastConfig, fit_fast
from haloid.gap.delta.learn import DeltaAction, DeltaDynamics, corrected_columns
from haloid.gap.delta.residual import DynamicsConfig, fit_dynamics
from haloid.gap.ppo.train import DeltaPpoConfig, fit_ppo
from haloid.gap.replays.data import RealData
from haloid.gap.replays.open_loop import ERRORS, open_loop
from haloid.gap.replays.simulator import Correction
from haloid.gap.sysid.grid import grid_search
from haloid.gap.sysid.parameters import with_parameters
from haloid.gap.sysid.rollouts import identify_rollouts
from haloid.skills.task.robot import TrackedRobot, tracked_robot

if TYPE_CHECKING:
    from haloid.bench.delta.open_loop import AsapOpenLoop


def all_methods(config: AsapOpenLoop, name: str, seed: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """All methods on one stand-in with one seed."""
    robot = tracked_robot()
    data = controlled_rollouts(
        config.folder,
        name,
        (*config.learned, *config.held_out),
        robot,
        clips=config.clips,
        seed=seed,
        threads=config.threads,
        say=say,
    )
    learned, held_out = data.of(config.learned), data.of(config.held_out)
    corrections, robots, seconds = _methods(config, robot, learned, seed, say)
    found = open_loop(
        robot, held_out, corrections, windows=config.windows, seed=seed, threads=config.threads, say=say, robots=robots
    )
    return [
        {
            "stand_in": name,
            "seed": seed,
            "method": entry.method,
            "length_s": entry.length_s,
            **{error: entry.mean(error) for error in ERRORS},
            "interval95_g_mpjpe_mm": entry.interval95(ERRORS[0]),
            "windows": len(entry.episode),
            "broken": entry.broken,
            "training_cpu_s": seconds.get(entry.method, 0.0),
        }
        for entry in found
    ]


def _methods(
    config: AsapOpenLoop, robot: TrackedRobot, data: RealData, seed: int, say: Callable[[str], None]
) -> tuple[dict[str, Correction | None], dict[str, TrackedRobot], dict[str, float]]:
    default_rad, joints = robot.default_joint_pos_rad, corrected_columns(robot, "all")
    seconds: dict[str, float] = {}

    def timed(method: str, work: Callable[[], Any]) -> Any:
        say(method)
        started = time.process_time()
        found = work()
        seconds[method] = time.process_time() - started
        return found

    fast = FastConfig(
        transitions=config.transitions, passes=config.passes, windows=config.windows, seed=seed, threads=config.threads
    )
    grid = timed(
        "SysID grid", lambda: grid_search(robot, data, windows=config.windows // 4, seed=seed, threads=config.threads)
    )
    passes = max(2 * config.passes // 3, 1)
    parameters = timed(
        "identification",
        lambda: identify_rollouts(
            robot, data, windows=config.windows, passes=passes, seed=seed, threads=config.threads
        ),
    )
    identified = with_parameters(robot, parameters)
    dynamics_config = DynamicsConfig(transitions=3 * config.transitions, seed=seed, threads=config.threads)
    dynamics = timed("DeltaDynamics", lambda: fit_dynamics(robot, data, dynamics_config))
    action = timed("ASAP fast", lambda: fit_fast(robot, data, joints, fast))
    both = timed("identification + fast", lambda: fit_fast(identified, data, joints, fast))
    seconds["identification + fast"] += seconds["identification"]
    corrections: dict[str, Correction | None] = {
        "OpenLoop": None,
        "SysID grid": None,
        "identification": None,
        "DeltaDynamics": DeltaDynamics(dynamics, default_rad),
        "ASAP fast": DeltaAction(action, default_rad),
        "identification + fast": DeltaAction(both, default_rad),
    }
    if config.ppo_iterations:
        ppo = DeltaPpoConfig(
            iterations=config.ppo_iterations, robots=config.ppo_robots, seed=seed, threads=config.threads
        )
        by_ppo = timed("ASAP by PPO", lambda: fit_ppo(robot, data, joints, ppo, say=lambda words: say(f"PPO, {words}")))
        corrections["ASAP by PPO"] = DeltaAction(by_ppo, default_rad)
    robots = {"SysID grid": with_parameters(robot, grid)}
    robots |= {"identification": identified, "identification + fast": identified}
    return corrections, robots, seconds
