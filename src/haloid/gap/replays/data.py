"""Replays, what is learned from: rollouts of the real robot, as transitions and windows in the simulator's coordinates.

In: rollout files and the simulator's robot. Out: `RealData`: rows of states, the targets that act from each row on, and
those that acted before it (the servos' own state when a row begins). A transition is a row and the next of the same
episode; a window is several transitions in a row. Rows after a fall are left out of both unless asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from haloid.errors import HaloidError
from haloid.robots.entries import KNOWN_ROBOTS
from haloid.skills.task.reference import CONTROL_HZ
from haloid.skills.task.robot import TrackedRobot
from haloid.trajectories.mujoco_states import qpos_of, qvel_of
from haloid.trajectories.rollout import Rollout
from haloid.trajectories.rollout_file import read_rollout


@dataclass(frozen=True)
class RealData:
    """(T, …) rows of all rollouts; joints in the simulator's order."""

    qpos: np.ndarray
    qvel: np.ndarray
    target_rad: np.ndarray
    """Acts from the row on."""
    held_rad: np.ndarray
    """Acted before the row; in the first row of an episode the joints' own angles, as nothing else is known."""
    episode: np.ndarray
    """(T,) over all rollouts."""
    source: np.ndarray
    """(T,) which of `sources` the row comes from."""
    sources: tuple[str, ...]
    """The motions, or the files' names."""
    fallen: np.ndarray
    """(T,) whether the robot had fallen."""

    def __len__(self) -> int:
        return len(self.qpos)

    def transitions(self, *, with_falls: bool = True) -> np.ndarray:
        """Rows whose next row is of the same episode."""
        return self.windows(1, stride=1, with_falls=with_falls)

    def windows(self, steps: int, *, stride: int, with_falls: bool = False) -> np.ndarray:
        """First rows of windows of `steps` transitions, `stride` rows apart within an episode."""
        firsts = []
        starts = np.flatnonzero(np.diff(self.episode, prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(self)], strict=True):
            fell = np.flatnonzero(self.fallen[start:end])
            last = end if with_falls or not fell.size else start + fell[0]
            firsts.append(np.arange(start, last - steps, stride))
        return np.concatenate(firsts) if firsts else np.zeros(0, dtype=int)

    def of(self, sources: Sequence[str]) -> RealData:
        """The rows of these sources alone."""
        return self.rows(np.isin(self.source, [self.sources.index(name) for name in sources]))

    def rows(self, chosen: np.ndarray) -> RealData:
        """These rows alone, which should be whole episodes."""
        return RealData(
            **{name: getattr(self, name)[chosen] for name in self.__dataclass_fields__ if name != "sources"},
            sources=self.sources,
        )


def too_short(steps: int) -> str:
    return f"no clip lasts {steps / CONTROL_HZ:g} s before its fall, the length of a replay. Collect longer clips"


def real_data(rollouts: Sequence[Rollout], robot: TrackedRobot, names: Sequence[str] = ()) -> RealData:
    """The rollouts in the coordinates of `robot`; refuses what was not recorded on such a robot."""
    if not rollouts:
        raise HaloidError("no rollout to learn from. Give files that haloid delta collect or haloid evaluate wrote")
    names = names or [f"rollout {number + 1}" for number in range(len(rollouts))]
    check_one_robot(rollouts, names)
    parts, episodes = [], 0
    sources = [str(rollout.facts.get("motion", name)) for rollout, name in zip(rollouts, names, strict=True)]
    known = tuple(dict.fromkeys(sources))
    for rollout, name, source in zip(rollouts, names, sources, strict=True):
        check_fits(rollout, robot, name)
        parts.append(_rows(rollout, robot, episodes, known.index(source)))
        episodes += len(rollout.episodes)
    return RealData(**{key: np.concatenate([part[key] for part in parts]) for key in parts[0]}, sources=known)


def read_real_data(files: Sequence[Path], robot: TrackedRobot) -> RealData:
    files = [inner for file in files for inner in (sorted(file.glob("*.npz")) if file.is_dir() else [file])]
    return real_data([read_rollout(file) for file in files], robot, [str(file) for file in files])


def check_one_robot(rollouts: Sequence[Rollout], names: Sequence[str]) -> None:
    """Raise if some rollouts are of another robot than the others: what a simulator lacks is one robot's."""
    for what, hint, values in (
        ("stand-in", "the robot", [rollout.facts.get("stand_in") for rollout in rollouts]),
        ("model_sha256", "its masses, gains or step", [rollout.model_sha256 for rollout in rollouts]),
    ):
        known = [(name, value) for name, value in zip(names, values, strict=True) if value is not None]
        for name, value in known[1:]:
            first, expected = known[0]
            if value != expected:
                raise HaloidError(
                    f"{name}: its {what} is {str(value)[:12]}, and that of {first} is {str(expected)[:12]}: {hint} "
                    "differed. Expected rollouts of one robot: learn a delta model for each"
                )


def check_fits(rollout: Rollout, robot: TrackedRobot, name: str) -> None:
    """Raise unless the rollout can be replayed on `robot`, with what is wrong and what to do."""
    trajectory, description = rollout.trajectory, robot.description
    if {rollout.robot, description.name} <= set(KNOWN_ROBOTS) and rollout.robot != description.name:
        raise HaloidError(
            f"{name}: its robot is {rollout.robot}. Expected {description.name}, the robot that is simulated: give "
            f"its rollouts, or simulate the other with --model {rollout.robot}"
        )
    if trajectory.root_pos_w_m is None:
        raise HaloidError(
            f"{name}: the robot's root is not in it. Expected a floating robot: a delta model sees how the trunk moves"
        )
    if rollout.clamp is not None:
        raise HaloidError(f"{name}: {rollout.clamp} is clamped in it. Expected a free robot on its feet")
    if abs(trajectory.rate_hz - CONTROL_HZ) > 1e-6:
        raise HaloidError(
            f"{name}: {trajectory.rate_hz:g} rows per second. Expected {CONTROL_HZ:g}, the rate of the policies: "
            "resample the log"
        )
    other = sorted(set(trajectory.joint_names) ^ set(robot.joint_names))
    if other:
        raise HaloidError(
            f"{name}: its joints and those of {description.name} differ in {', '.join(other)}. Expected rollouts of "
            "the robot that is simulated"
        )


def _rows(rollout: Rollout, robot: TrackedRobot, first_episode: int, source: int) -> dict[str, np.ndarray]:
    trajectory = rollout.trajectory
    order = [trajectory.joint_names.index(joint) for joint in robot.joint_names]
    qpos, target_rad = qpos_of(robot.model, trajectory), np.asarray(trajectory.target_rad)[:, order]
    held_rad = np.roll(target_rad, 1, axis=0)
    episode, fallen = np.zeros(len(rollout), dtype=int), np.zeros(len(rollout), dtype=bool)
    for number, part in enumerate(rollout.episodes):
        episode[part.rows] = first_episode + number
        held_rad[part.start] = qpos[part.start, 7:]
        if part.fell_row is not None:
            fallen[part.fell_row : part.end] = True
    return {
        "qpos": qpos,
        "qvel": qvel_of(robot.model, trajectory),
        "target_rad": target_rad,
        "held_rad": held_rad,
        "episode": episode,
        "source": np.full(len(rollout), source),
        "fallen": fallen,
    }
