"""Replays, how well a simulator agrees with the real robot: recorded targets replayed from recorded states (Table III).

In: real data, simulators and corrections by name. Out: the errors of each over windows of 0.25, 0.5 and 1 s, by window,
so that means come with intervals. All methods play the same windows. A window whose simulation is not finite counts
with the worst finite error of any method, and is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from haloid.errors import HaloidError
from haloid.gap.replays.data import RealData, too_short
from haloid.gap.replays.simulator import Correction, Simulator, recorded, replay
from haloid.skills.task.reference import CONTROL_HZ, Poses
from haloid.skills.task.robot import TrackedRobot

LENGTHS_S = (0.25, 0.5, 1.0)
ERRORS = ("e_g_mpjpe_mm", "e_mpjpe_mm", "e_acc_mm_frame2", "e_vel_mm_frame")
"""Global body positions; from the root; accelerations; the root's velocity."""
UNITS = ("E_g-mpjpe [mm]", "E_mpjpe [mm]", "E_acc [mm/frame²]", "E_vel [mm/frame]")


@dataclass(frozen=True)
class OpenLoop:
    """Errors of one method over windows of one length."""

    method: str
    length_s: float
    errors: dict[str, np.ndarray]
    """(W,) by name."""
    episode: np.ndarray
    """(W,) that each window is of: windows of one clip are not independent."""
    broken: int = 0
    """Windows whose simulation was not finite."""

    def mean(self, error: str) -> float:
        return float(self.errors[error].mean())

    def interval95(self, error: str) -> float:
        """Half width for the mean, from the spread of clips' means."""
        clips = np.array([self.errors[error][self.episode == clip].mean() for clip in np.unique(self.episode)])
        return float(1.96 * clips.std(ddof=1) / np.sqrt(len(clips))) if len(clips) > 1 else float("nan")


def open_loop(
    robot: TrackedRobot,
    data: RealData,
    methods: Mapping[str, Correction | None],
    *,
    windows: int = 128,
    seed: int = 0,
    lengths_s: Sequence[float] = LENGTHS_S,
    threads: int = 0,
    say: Callable[[str], None] = lambda detail: None,
    robots: Mapping[str, TrackedRobot] | None = None,
) -> list[OpenLoop]:
    """Errors of each method by length; `robots` gives some methods a simulator of their own."""
    found = []
    for length_s in lengths_s:
        steps = round(length_s * CONTROL_HZ)
        firsts = chosen_windows(data, steps, windows, seed)
        truth = recorded(Simulator(robot, len(firsts), threads), data, firsts, steps)
        by_method = {}
        for method, correction in methods.items():
            say(f"{method}, {length_s:g} s")
            simulator = Simulator((robots or {}).get(method, robot), len(firsts), threads)
            played = replay(simulator, data, firsts, steps, correction).poses
            by_method[method] = _errors(played, truth)
        found += _finite(by_method, length_s, data.episode[firsts])
    return found


def chosen_windows(data: RealData, steps: int, windows: int, seed: int) -> np.ndarray:
    """Some of all windows, in the order of rows, drawn without preference."""
    firsts = data.windows(steps, stride=max(steps // 5, 1))
    if not len(firsts):
        raise HaloidError(too_short(steps))
    if len(firsts) > windows:
        firsts = np.sort(np.random.default_rng(seed).choice(firsts, windows, replace=False))
    return firsts


def _errors(played: list[Poses], truth: list[Poses]) -> dict[str, np.ndarray]:
    pos, real = (np.stack([poses.body_pos_w for poses in rows]).astype(float) for rows in (played, truth))
    vel, real_vel = (np.stack([poses.body_lin_vel_w[:, 0] for poses in rows]).astype(float) for rows in (played, truth))

    def distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return 1e3 * np.linalg.norm(a - b, axis=-1).mean(axis=(0, 2))

    acceleration, real_acceleration = np.diff(pos, 2, axis=0), np.diff(real, 2, axis=0)
    return {
        "e_g_mpjpe_mm": distance(pos[1:], real[1:]),
        "e_mpjpe_mm": distance(pos[1:] - pos[1:, :, :1], real[1:] - real[1:, :, :1]),
        "e_acc_mm_frame2": distance(acceleration, real_acceleration),
        "e_vel_mm_frame": 1e3 / CONTROL_HZ * np.linalg.norm(vel[1:] - real_vel[1:], axis=-1).mean(axis=0),
    }


def _finite(by_method: dict[str, dict[str, np.ndarray]], length_s: float, episode: np.ndarray) -> list[OpenLoop]:
    worst = {
        error: max(
            float(np.max(errors[error], initial=0.0, where=np.isfinite(errors[error]))) for errors in by_method.values()
        )
        for error in ERRORS
    }
    return [
        OpenLoop(
            method,
            length_s,
            {error: np.where(np.isfinite(values), values, worst[error]) for error, values in errors.items()},
            episode,
            int((~np.isfinite(errors["e_g_mpjpe_mm"])).sum()),
        )
        for method, errors in by_method.items()
    ]
