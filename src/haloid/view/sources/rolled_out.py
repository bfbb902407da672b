"""A rollout to look at: what a robot did, one episode after the other."""

from pathlib import Path

import numpy as np

from haloid.robots.clamp import clamp
from haloid.robots.load import load_spec
from haloid.trajectories.mujoco_states import qpos_of
from haloid.trajectories.rollout_file import read_rollout
from haloid.view.show import Show


def show_rollout(path: Path, model: str | None = None) -> Show:
    """`model`: the robot, where it is not the one that the rollout names."""
    rollout = read_rollout(path)
    trajectory, spec = rollout.trajectory, load_spec(model or rollout.robot)
    if trajectory.root_pos_w_m is None:
        spec = clamp(spec, rollout.clamp)
    compiled = spec.compile()
    fell = sum(episode.fell for episode in rollout.episodes)
    number = len(rollout.episodes)
    targets = {} if trajectory.target_rad is None else {"target": trajectory.target_rad}
    return Show(
        title=path.stem,
        about=(
            f"rollout of {rollout.robot}, {number} episode{'s' * (number > 1)} ({fell} fell)",
            f"{len(rollout) / trajectory.rate_hz:.1f} s at {trajectory.rate_hz:.0f} Hz, moved by {rollout.simulator}",
        ),
        model=compiled,
        time_s=np.arange(len(rollout)) / trajectory.rate_hz,
        robots={"robot": qpos_of(compiled, trajectory)},
        joint_names=trajectory.joint_names,
        curves_rad={"robot": trajectory.joint_pos_rad, **targets},
    )
