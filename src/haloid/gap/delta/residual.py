"""Delta dynamics (ASAP, appendix C): a network that says by how much the simulator misses the state it should reach.

In: real data, the simulator. Out: f^Δ(s, a), a state residual in tangent coordinates (linearise.py) with the root's
place and velocity in its own axes, so that it does not depend on where the robot faces; 256-256 wide as ASAP's.
Trained on s' − f(s, a) of single steps, then autoregressively over K = 2, 4, 8 steps: the corrected simulator is run
for K steps, and the error at every step is the residual's to explain from the state it had got to. (ASAP's loss is the
error after K steps; its gradient would have to pass through the simulator, which neither has.)

A network of the whole robot may be anything where it has not been, and its own errors take it there. So what it sees
and what it says are bounded by what the data hold; every fifth motion (of fewer than five: every fifth clip) is kept
from it, and after every K its replays decide which network is written, and how much of it (left_out.py).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from haloid.gap.delta.features import features, width
from haloid.gap.delta.linearise import DIVERGED, difference
from haloid.gap.replays.data import RealData
from haloid.gap.replays.left_out import leave_out, worth
from haloid.gap.replays.simulator import Simulator, States
from haloid.setting_limits import check_settings
from haloid.skills.policies.networks import Network
from haloid.skills.task.robot import TrackedRobot
from haloid.trajectories.rotations import apply, apply_inverse, multiply

HORIZONS = (2, 4, 8)
SEEN_LIMIT, SAID_LIMIT = 3.0, 3.0
"""Of inputs and outputs, in standard deviations of the data."""
LEFT_OUT = 5
"""One of so many motions, or clips."""
JUDGED_S, JUDGED_WINDOWS = 1.0, 24
_LIMITS = {"transitions": (100, 10_000_000), "rounds": (1, 1_000_000), "seed": (0, 2**32 - 1), "threads": (0, 10_000)}


class StateResidual(Network):
    architecture = "state-residual"
    unit: torch.Tensor

    def __init__(self, joints: int, outputs: int, hidden: Sequence[int]) -> None:
        super().__init__(width(joints))
        self.configuration = {"joints": joints, "outputs": outputs, "hidden": list(hidden)}
        self.register_buffer("unit", torch.ones(outputs))
        widths = [width(joints), *hidden, outputs]
        layers: list[nn.Module] = []
        for row in range(len(widths) - 1):
            layers += [nn.Linear(widths[row], widths[row + 1]), nn.ELU()]
        self.layers = nn.Sequential(*layers[:-1])

    def answer(self, normalised: torch.Tensor) -> torch.Tensor:
        said = self.layers(normalised.clamp(-SEEN_LIMIT, SEEN_LIMIT))
        return self.unit * SAID_LIMIT * torch.tanh(said / SAID_LIMIT)


class DeltaDynamics:
    """f(s, a) ⊕ f^Δ(s, a)."""

    def __init__(self, network: StateResidual, default_rad: np.ndarray) -> None:
        self.network, self._default_rad = network, default_rad

    def targets(self, states: States, target_rad: np.ndarray) -> np.ndarray:
        return target_rad

    def reached(self, states: States, target_rad: np.ndarray, qpos: np.ndarray, qvel: np.ndarray) -> States:
        with torch.inference_mode():
            seen = torch.from_numpy(features(states, target_rad, self._default_rad))
            shift = self.network(seen).numpy().astype(float)
        return moved(qpos, qvel, target_rad, shift)


def moved(qpos: np.ndarray, qvel: np.ndarray, held_rad: np.ndarray, shift: np.ndarray) -> States:
    """States moved by a residual in the root's axes."""
    nv, quat = qvel.shape[1], qpos[:, 3:7]
    angle = np.linalg.norm(shift[:, 3:6], axis=1, keepdims=True)
    axis = shift[:, 3:6] / np.maximum(angle, 1e-12)
    turn = np.concatenate([np.cos(angle / 2), np.sin(angle / 2) * axis], axis=1)
    place, joints = qpos[:, :3] + apply(quat, shift[:, :3]), qpos[:, 7:] + shift[:, 6:nv]
    lin_vel = qvel[:, :3] + apply(quat, shift[:, nv : nv + 3])
    return States(
        np.concatenate([place, multiply(quat, turn), joints], axis=1),
        np.concatenate([lin_vel, qvel[:, 3:] + shift[:, nv + 3 :]], axis=1),
        held_rad,
    )


def residual(qpos: np.ndarray, qvel: np.ndarray, from_qpos: np.ndarray, from_qvel: np.ndarray) -> np.ndarray:
    """(N, 2 nv) what takes `from` to the state, the root's place and velocity in the root's axes."""
    off, nv = difference(qpos, qvel, from_qpos, from_qvel), qvel.shape[1]
    for start in (0, nv):
        off[:, start : start + 3] = apply_inverse(from_qpos[:, 3:7], off[:, start : start + 3])
    return off


@dataclass(frozen=True)
class DynamicsConfig:
    transitions: int = 12000
    rounds: int = 600
    """Steps of the learner for each horizon."""
    seed: int = 0
    threads: int = 0
    """0: all cores."""

    def __post_init__(self) -> None:
        check_settings(self, _LIMITS)


def fit_dynamics(
    robot: TrackedRobot, data: RealData, config: DynamicsConfig, say: Callable[[str], None] = lambda detail: None
) -> StateResidual:
    torch.manual_seed(config.seed)
    random = np.random.default_rng(config.seed)
    several = len(np.unique(data.source)) >= LEFT_OUT
    data, left_out = leave_out(data, data.source if several else data.episode, LEFT_OUT)
    network = StateResidual(len(robot.joint_names), 2 * robot.model.nv, (256, 256))
    rows = _some(data.transitions(with_falls=False), config.transitions, random)
    start = States(data.qpos[rows], data.qvel[rows], data.held_rad[rows])
    simulator = Simulator(robot, min(512, len(rows)), config.threads)
    seen, wanted = _samples(robot, simulator, data, rows, start)
    network.mean.copy_(torch.from_numpy(seen.mean(axis=0)))
    network.std.copy_(torch.from_numpy(seen.std(axis=0)))
    network.unit.copy_(torch.from_numpy(wanted.std(axis=0) + 1e-6))
    best = _Best(robot, left_out, config.threads)
    _learn(network, seen, wanted, config.rounds, random)
    best.compare(network)
    for number, horizon in enumerate(HORIZONS):
        say(f"horizon {number + 1} of {len(HORIZONS)}: {horizon} steps")
        more_seen, more_wanted = [seen], [wanted]
        rows = _some(data.windows(horizon, stride=1), config.transitions // horizon, random)
        states = States(data.qpos[rows], data.qvel[rows], data.held_rad[rows])
        correction = DeltaDynamics(network, robot.default_joint_pos_rad)
        for step in range(horizon - 1):
            target_rad = data.target_rad[rows + step]
            states = correction.reached(states, target_rad, *simulator.after(states, target_rad))
            pair = _samples(robot, simulator, data, rows + step + 1, states)
            more_seen.append(pair[0])
            more_wanted.append(pair[1])
        _learn(network, np.concatenate(more_seen), np.concatenate(more_wanted), config.rounds, random)
        best.compare(network)
    return best.network.eval()


class _Best:
    """The network, and the part of it, that the clips left out are replayed best with; the last one, if none is."""

    network: StateResidual

    def __init__(self, robot: TrackedRobot, left_out: RealData | None, threads: int) -> None:
        self._robot, self._left_out, self._threads = robot, left_out, threads
        self._error_mm = np.inf

    def compare(self, network: StateResidual) -> None:
        found = worth(
            self._robot,
            self._left_out,
            lambda part: DeltaDynamics(_part_of(network, part), self._robot.default_joint_pos_rad),
            horizon_s=JUDGED_S,
            windows=JUDGED_WINDOWS,
            threads=self._threads,
        )
        if found is None:
            self.network = _part_of(network, 1.0)
        elif found.error_mm < self._error_mm:
            self.network, self._error_mm = _part_of(network, found.part), found.error_mm


def _part_of(network: StateResidual, part: float) -> StateResidual:
    twin = copy.deepcopy(network)
    twin.unit *= part
    return twin


def _some(rows: np.ndarray, number: int, random: np.random.Generator) -> np.ndarray:
    return rows if len(rows) <= number else np.sort(random.choice(rows, number, replace=False))


def _samples(
    robot: TrackedRobot, simulator: Simulator, data: RealData, rows: np.ndarray, states: States
) -> tuple[np.ndarray, np.ndarray]:
    """What the network sees in `states`, and what takes the simulator from there to the recorded next rows."""
    target_rad = data.target_rad[rows]
    qpos, qvel = simulator.after(states, target_rad)
    wanted = residual(data.qpos[rows + 1], data.qvel[rows + 1], qpos, qvel).astype(np.float32)
    seen = features(states, target_rad, robot.default_joint_pos_rad)
    sound = (np.abs(wanted) < DIVERGED).all(axis=1) & (np.abs(seen) < DIVERGED).all(axis=1)
    return seen[sound], wanted[sound]


def _learn(
    network: StateResidual, seen: np.ndarray, wanted: np.ndarray, rounds: int, random: np.random.Generator
) -> None:
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, rounds, eta_min=1e-5)
    inputs, outputs = torch.from_numpy(seen), torch.from_numpy(wanted)
    for _ in range(rounds):
        chosen = torch.from_numpy(random.integers(0, len(seen), min(512, len(seen))))
        loss = ((network(inputs[chosen]) - outputs[chosen]) / network.unit).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
