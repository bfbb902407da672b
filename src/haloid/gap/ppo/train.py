"""Delta action by PPO (ASAP, III-B): rsl_rl's on replays, and its best network as π^Δ.

In: real data, the simulator. Out: π^Δ, a network from features (features.py) to radians, as the fast way's. Every few
iterations replays of a second are judged by where the bodies are; the best network, the untrained one among them, is
what comes out. With a folder, a training that was stopped goes on from its last checkpoint, its robots in new windows.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rsl_rl.algorithms import PPO
from rsl_rl.modules import EmpiricalNormalization

from haloid.errors import HaloidError
from haloid.gap.delta.action import DeltaAction
from haloid.gap.delta.features import features
from haloid.gap.ppo.world import ReplayWorld
from haloid.gap.replays.data import RealData
from haloid.gap.replays.open_loop import chosen_windows
from haloid.gap.replays.simulator import Simulator, States, body_errors_mm, replay
from haloid.robots.files.model_hash import model_sha256
from haloid.setting_limits import check_settings
from haloid.skills.policies.networks import Mlp, network_of
from haloid.skills.task.reference import CONTROL_HZ
from haloid.skills.task.robot import TrackedRobot
from haloid.skills.training.checkpoint import FILE, load_checkpoint, save_checkpoint
from haloid.skills.training.ppo import PpoConfig, rsl_rl_config
from haloid.skills.training.rates import TwoRates

JUDGE_EVERY, JUDGED_WINDOWS = 20, 48
STORE_EVERY = 20
"""Iterations."""
SMALL_LAST_LAYER = 0.01
"""The first network corrects next to nothing."""
_LIMITS = {
    "iterations": (1, 10_000_000),
    "robots": (1, 100_000),
    "horizon_s": (0.04, 60.0),
    "seed": (0, 2**32 - 1),
    "threads": (0, 10_000),
}


def delta_ppo() -> PpoConfig:
    """ASAP's learner for a few hundred robots instead of 5,000: it explores less far and looks less far ahead."""
    return PpoConfig(steps=25, discount=0.95, entropy=0.0, first_std=0.15, desired_kl=0.02, critic_first=0)


@dataclass(frozen=True)
class DeltaPpoConfig:
    iterations: int = 600
    robots: int = 256
    horizon_s: float = 1.0
    """Of an episode, from a recorded state."""
    learner: PpoConfig = field(default_factory=delta_ppo)
    seed: int = 0
    threads: int = 0
    """0: all cores."""

    def __post_init__(self) -> None:
        check_settings(self, _LIMITS)


def fit_ppo(
    robot: TrackedRobot,
    data: RealData,
    joints: np.ndarray,
    config: DeltaPpoConfig,
    *,
    folder: Path | None = None,
    minutes: float | None = None,
    say: Callable[[str], None] = lambda detail: None,
) -> Mlp:
    """π^Δ for the servos of `joints` (columns), after all iterations or `minutes`; `folder` is for checkpoints."""
    training = DeltaTraining(robot, data, joints, config)
    if folder is not None and (folder / FILE).is_file():
        training.load_state(load_checkpoint(folder), folder)
    started = time.monotonic()
    while training.iteration < config.iterations:
        if minutes is not None and time.monotonic() - started > 60 * minutes:
            break
        reward = training.step()
        say(
            f"iteration {training.iteration} of {config.iterations}: reward {reward:.2f}, replays "
            f"{training.untrained_mm:.1f} → {training.best_mm:.1f} mm"
        )
        if folder is not None and training.iteration % STORE_EVERY == 0:
            _store(training, folder)
    training.judge()
    if folder is not None:
        _store(training, folder)
    return training.best_network()


def spent_cpu_s(folder: Path) -> float:
    """Processor time of the training in `folder` up to its last checkpoint, all its runs together."""
    return float(load_checkpoint(folder)["cpu_s"])


def _store(training: DeltaTraining, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    save_checkpoint(training.state(), folder)


class DeltaTraining:
    def __init__(self, robot: TrackedRobot, data: RealData, joints: np.ndarray, config: DeltaPpoConfig) -> None:
        self._started_cpu_s = time.process_time()
        """Less what earlier runs took."""
        torch.manual_seed(config.seed)
        if config.threads:
            torch.set_num_threads(config.threads)
        self._robot, self._data, self._joints, self.config = robot, data, joints, config
        self._horizon, self._random = round(config.horizon_s * CONTROL_HZ), np.random.default_rng(config.seed)
        self._world = ReplayWorld(
            robot,
            data,
            joints,
            robots=config.robots,
            horizon=self._horizon,
            random=self._random,
            threads=config.threads,
        )
        with contextlib.redirect_stdout(io.StringIO()):  # rsl_rl prints its models
            self._ppo = PPO.construct_algorithm(
                self._world.get_observations(), self._world, rsl_rl_config(config.learner), "cpu"
            )
        if config.learner.critic_learning_rate is not None:
            self._ppo.optimizer = TwoRates(self._ppo, config.learner.critic_learning_rate)
        with torch.no_grad():
            for parameter in list(self._ppo.actor.mlp.parameters())[-2:]:
                parameter *= SMALL_LAST_LAYER
            states = States(data.qpos, data.qvel, data.held_rad)
            seen = torch.from_numpy(features(states, data.target_rad, robot.default_joint_pos_rad))
            normaliser = self._ppo.actor.obs_normalizer
            assert isinstance(normaliser, EmpiricalNormalization)
            normaliser.update(seen)  # one that drifts looks like a policy that changes too quickly
        self._ppo.train_mode()
        self._judged = chosen_windows(data, self._horizon, JUDGED_WINDOWS, config.seed)
        self.iteration = 0
        """How many are done."""
        self.best_mm, self._best = np.inf, {}
        self.judge()
        self.untrained_mm = self.best_mm

    def step(self) -> float:
        """One iteration: all robots replay for some steps, the networks learn from it. The mean reward, 1/s."""
        rewards = []
        with torch.inference_mode():
            observed = self._world.get_observations()
            for _ in range(self.config.learner.steps):
                observed, reward, done, extras = self._world.step(self._ppo.act(observed))
                self._ppo.process_env_step(observed, reward, done, extras)
                rewards.append(float(reward.mean()) * CONTROL_HZ)
            self._ppo.compute_returns(observed)
        losses = self._ppo.update()
        if not all(np.isfinite(float(value)) for value in losses.values()):
            raise HaloidError(f"the networks became NaN in iteration {self.iteration + 1}. Try another seed")
        self.iteration += 1
        if self.iteration % JUDGE_EVERY == 0:
            self.judge()
        return float(np.mean(rewards))

    def judge(self) -> float:
        """Replay windows with the network as it is, and keep it if they end nearer to the recording than ever."""
        actor = self._ppo.get_policy().state_dict()
        action = DeltaAction(self._network(actor), self._robot.default_joint_pos_rad)
        simulator = Simulator(self._robot, len(self._judged), self.config.threads)
        played = replay(simulator, self._data, self._judged, self._horizon, action)
        error_mm = float(body_errors_mm(played, self._robot, self._data, self._judged)[0])
        if error_mm < self.best_mm:
            self.best_mm, self._best = error_mm, {name: value.detach().clone() for name, value in actor.items()}
        return error_mm

    def best_network(self) -> Mlp:
        return self._network(self._best)

    def _network(self, actor: dict[str, torch.Tensor]) -> Mlp:
        """The actor with its units folded in: radians for every joint, 0 for those that are not corrected."""
        small = network_of(actor)
        network = Mlp(small.inputs, small.configuration["hidden"], len(self._robot.joint_names))
        values = small.state_dict()
        last = max(int(name.split(".")[1]) for name in values if name.startswith("layers."))
        scale_rad = torch.from_numpy(self._robot.action_scale_rad[self._joints]).float()
        for name, unit in ((f"layers.{last}.weight", scale_rad[:, None]), (f"layers.{last}.bias", scale_rad)):
            whole = torch.zeros_like(network.state_dict()[name])
            whole[torch.from_numpy(self._joints)] = unit * values[name]
            values[name] = whole
        network.load_state_dict(values)
        return network.eval()

    def state(self) -> dict[str, Any]:
        """Everything that the next iterations depend on, but for where in their windows the robots are."""
        return {
            "about": self._about(),
            "iteration": self.iteration,
            "cpu_s": time.process_time() - self._started_cpu_s,
            "ppo": self._ppo.save(),
            "best": {"error_mm": self.best_mm, "untrained_mm": self.untrained_mm, "actor": self._best},
            "random": json.dumps(self._random.bit_generator.state),
            "torch_random": torch.get_rng_state(),
        }

    def load_state(self, state: dict[str, Any], folder: Path) -> None:
        if state.get("about") != self._about():
            raise HaloidError(
                f"{folder} holds a training with other rollouts or settings. Give the same to go on with it, or remove "
                "the folder to begin anew"
            )
        self.iteration = int(state["iteration"])
        self._started_cpu_s -= state["cpu_s"]
        self._ppo.load(state["ppo"], None, True)
        best = state["best"]
        self.best_mm, self.untrained_mm, self._best = best["error_mm"], best["untrained_mm"], best["actor"]
        self._random.bit_generator.state = json.loads(state["random"])
        torch.set_rng_state(state["torch_random"])

    def _about(self) -> str:
        """Which training this is: data, simulator, joints and settings, but for how long and on how many cores."""
        settings = {**asdict(self.config), "iterations": 0, "threads": 0, "joints": self._joints.tolist()}
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
        for values in (self._data.qpos, self._data.target_rad):
            digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest() + model_sha256(self._robot.model)
