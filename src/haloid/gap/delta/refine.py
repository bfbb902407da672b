"""Delta action, over more than a step: coefficients that keep whole windows near the recording, by Gauss–Newton.

In: a network that single steps were fitted with, windows of real data. Out: the same network with better coefficients.
Small errors of a step that all point one way hardly count in one step and add up over a second. Windows of 0.25 s, then
twice as long and so on, are replayed in MuJoCo once for each term, with that term's coefficients of all joints moved
together; how a joint's own angle and velocity answer is taken for the effect of its own coefficient (its servo decides
where it is; what other joints add comes with the next pass). A step is taken as far as the bodies in the replay come
nearer to the recording, and not at all where they do not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from haloid.gap.delta.action import DeltaAction
from haloid.gap.delta.networks import TERMS, JointTerms
from haloid.gap.replays.data import RealData
from haloid.gap.replays.simulator import Replay, Simulator, States, body_errors_mm, replay
from haloid.skills.task.reference import CONTROL_HZ
from haloid.skills.task.robot import TrackedRobot

NUDGE = 0.02
"""Of a coefficient."""
SHARES = (1.0, 0.5, 0.2)
"""Of a step, all tried."""
VELOCITY_WEIGHT_S = 0.05
"""Of an error in rad/s beside one in rad: what it grows to in 50 ms."""
UNEXPLAINED = 4.0
"""A window with this many times the median squared error counts half."""
SHORTEST_S = 0.25


class _Variants:
    """The same windows under several sets of coefficients, one block of rows for each."""

    def __init__(self, network: JointTerms, default_rad: np.ndarray, coefficients: list[torch.Tensor]) -> None:
        self._actions = []
        for values in coefficients:
            twin = JointTerms(**network.configuration)
            with torch.no_grad():
                twin.coefficients.copy_(values)
            self._actions.append(DeltaAction(twin, default_rad))

    def targets(self, states: States, target_rad: np.ndarray) -> np.ndarray:
        parts = np.array_split(np.arange(len(states)), len(self._actions))
        return np.concatenate(
            [
                action.targets(states.at(rows), target_rad[rows])
                for action, rows in zip(self._actions, parts, strict=True)
            ]
        )

    def reached(self, states: States, target_rad: np.ndarray, qpos: np.ndarray, qvel: np.ndarray) -> States:
        return self._actions[0].reached(states, target_rad, qpos, qvel)


def refine(
    network: JointTerms,
    robot: TrackedRobot,
    data: RealData,
    joints: np.ndarray,
    *,
    windows: int,
    passes: int,
    horizon_s: float,
    ridge: float,
    seed: int,
    threads: int,
    say: Callable[[str], None] = lambda detail: None,
) -> None:
    """Improve the coefficients of `joints` in place, over windows up to `horizon_s`."""
    random = np.random.default_rng(seed)
    rounds = [length_s for length_s in lengths_s(horizon_s) for _ in range(passes)]
    for number, length_s in enumerate(rounds):
        steps = round(length_s * CONTROL_HZ)
        firsts = data.windows(steps, stride=max(steps // 4, 1))
        if not len(firsts):
            continue
        firsts = random.choice(firsts, min(windows, len(firsts)), replace=False)
        before, after = _pass(network, robot, data, joints, firsts, steps, ridge, threads)
        say(f"round {number + 1} of {len(rounds)}: {length_s:g} s, {before:.1f} → {after:.1f} mm")


def lengths_s(horizon_s: float) -> list[float]:
    """Of the windows: each twice as long as the one before, and the longest."""
    found, length_s = [], SHORTEST_S
    while length_s < horizon_s:
        found.append(length_s)
        length_s *= 2
    return [*found, horizon_s] if horizon_s else []


def _pass(
    network: JointTerms,
    robot: TrackedRobot,
    data: RealData,
    joints: np.ndarray,
    firsts: np.ndarray,
    steps: int,
    ridge: float,
    threads: int,
) -> tuple[float, float]:
    """One Gauss–Newton step; the windows' mean error before and after, mm."""
    now = network.coefficients.detach().clone()
    nudged = [now.clone() for _ in range(TERMS)]
    for term, values in enumerate(nudged):
        values[joints, term] += NUDGE
    played = _play(network, robot, data, firsts, steps, [now, *nudged], threads)
    joint_states = np.concatenate([played.qpos[1:, :, 7:], VELOCITY_WEIGHT_S * played.qvel[1:, :, 6:]])
    joint_states = joint_states.reshape(2 * steps, TERMS + 1, len(firsts), -1)
    rows = firsts + np.arange(1, steps + 1)[:, None]
    real = np.concatenate([data.qpos[rows, 7:], VELOCITY_WEIGHT_S * data.qvel[rows, 6:]])
    off, slope = joint_states[:, 0] - real, (joint_states[:, 1:] - joint_states[:, :1]) / NUDGE
    squared = (off**2).mean(axis=(0, 2))
    trust = np.sqrt(1.0 / (1.0 + squared / (UNEXPLAINED * np.median(squared) + 1e-12)))
    step = np.zeros(now.shape)
    for joint in joints:
        matrix = (slope[..., joint].transpose(0, 2, 1) * trust[None, :, None]).reshape(-1, TERMS)
        left = (off[..., joint] * trust).ravel()
        keep = ridge * len(left) * robot.action_scale_rad[joint] ** 2 * np.eye(TERMS)
        step[joint] = np.linalg.solve(matrix.T @ matrix + keep, -matrix.T @ left)
    tries = [now, *(now + share * torch.from_numpy(step).float() for share in SHARES)]
    errors = body_errors_mm(_play(network, robot, data, firsts, steps, tries, threads), robot, data, firsts)
    best = int(np.argmin(errors))
    with torch.no_grad():
        network.coefficients.copy_(tries[best])
    return float(errors[0]), float(errors[best])


def _play(
    network: JointTerms,
    robot: TrackedRobot,
    data: RealData,
    firsts: np.ndarray,
    steps: int,
    coefficients: list[torch.Tensor],
    threads: int,
) -> Replay:
    """The windows under each set of coefficients, side by side: (steps + 1, sets · windows, …)."""
    simulator = Simulator(robot, len(firsts) * len(coefficients), threads)
    variants = _Variants(network, robot.default_joint_pos_rad, coefficients)
    return replay(simulator, data, np.tile(firsts, len(coefficients)), steps, variants)
