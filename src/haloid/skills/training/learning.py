"""Skills, learning: PPO (rsl_rl) on the CPU environment, one iteration after the other, exactly resumable.

In: a `TrainingConfig`. Out: a `Training` that is stepped iteration by iteration, reports what happened, and can be
stored and restored with everything the future depends on: networks, optimiser, random numbers, simulations.
"""

import contextlib
import io
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from rsl_rl.algorithms import PPO

from haloid.errors import HaloidError
from haloid.setting_limits import check_settings
from haloid.skills.asap.pretraining import LOOSEST
from haloid.skills.policies.networks import network_of
from haloid.skills.policies.policy import TrackingPolicy, facts_of
from haloid.skills.task.environment import STEP_S
from haloid.skills.task.simulation import Simulate, Simulation
from haloid.skills.task.task import Task, TaskConfig, build_task
from haloid.skills.task.transforms import Transform
from haloid.skills.training.curriculum import Curriculum
from haloid.skills.training.ppo import PpoConfig, asap_ppo, cpu_ppo, mjlab_ppo, rsl_rl_config
from haloid.skills.training.rates import TwoRates
from haloid.skills.training.trial import trial
from haloid.skills.training.vec_env import TrackingVecEnv

SMALL_LAST_LAYER = 0.01
"""The network's first outputs are near 0, so that learning begins with the feed-forward targets alone."""
TRIAL_EVERY = 100
"""Iterations between trials."""


_LIMITS = {
    "iterations": (0, 10_000_000),
    "until": (0.0, 1.0),
    "difficulty": (0.0, 10.0),
    "threads": (0, 10_000),
    "checkpoint_every": (1, 10_000_000),
}


@dataclass(frozen=True)
class TrainingConfig:
    task: TaskConfig
    ppo: PpoConfig | None = None
    """None: what suits the action mode."""
    iterations: int = 2000
    until: float | None = None
    """Stop as soon as this share of a trial's robots succeeds."""
    difficulty: float = 1.0
    """How far the curriculum may go: 1 is all of mjlab's pushes and disturbed starts."""
    threads: int = 0
    """Of the learner; 0: all cores."""
    checkpoint_every: int = 50
    """Iterations."""

    def __post_init__(self) -> None:
        check_settings(self, _LIMITS)

    @property
    def learner(self) -> PpoConfig:
        if self.ppo is not None or self.task.actions != "mjlab":
            return self.ppo or cpu_ppo()
        return asap_ppo() if self.task.preset == "asap" else mjlab_ppo()

    @property
    def rounds(self) -> int:
        """Iterations that are worth doing: a controller learns nothing."""
        return 0 if self.task.actions == "controller" else self.iterations


@dataclass(frozen=True)
class Iteration:
    """Results of one iteration. `metrics` depend on the seed alone, `seconds` on the machine too."""

    number: int
    metrics: dict[str, float]
    seconds: dict[str, float]
    steps: int
    """Control steps of all robots together."""


@dataclass
class Best:
    """The policy that did best in a trial so far: results oscillate, so the last one is not the one to keep."""

    score: float = -np.inf
    actor: dict[str, torch.Tensor] = field(default_factory=dict)
    success: float = 0.0
    """Part of the trial's robots."""


class Training:
    def __init__(
        self,
        config: TrainingConfig,
        transforms: tuple[Transform, ...] = (),
        simulate: Simulate = Simulation,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`transforms`: between the policy and the servos, beside the task's own; `simulate`: what moves the robots;
        `tell` hears how the search of a controller's design goes."""
        torch.manual_seed(config.task.seed)
        if config.threads:
            torch.set_num_threads(config.threads)
        self.config = config
        self.task: Task = build_task(config.task, transforms, simulate, tell)
        own = {"loosest_termination": LOOSEST, "reset": 0.0} if config.task.preset == "asap" else {}
        self.curriculum = Curriculum(hardest=config.difficulty, noise=config.task.noise, **own)
        self.iteration = 0
        """How many are done."""
        self.best = Best()
        environment = self.task.environment
        environment.difficulty = self.curriculum.difficulty
        environment.reset(np.arange(environment.robots))  # the first episodes, too, are gentle
        self._vec_env = TrackingVecEnv(environment, self.task.actions)
        with contextlib.redirect_stdout(io.StringIO()):  # rsl_rl prints its models
            self._ppo = PPO.construct_algorithm(
                self._vec_env.get_observations(), self._vec_env, rsl_rl_config(config.learner), "cpu"
            )
        if config.learner.critic_learning_rate is not None:
            self._ppo.optimizer = TwoRates(self._ppo, config.learner.critic_learning_rate)
        if config.task.actions == "feedforward":
            with torch.no_grad():
                for parameter in list(self._ppo.actor.mlp.parameters())[-2:]:
                    parameter *= SMALL_LAST_LAYER
        self._ppo.train_mode()

    @property
    def done(self) -> bool:
        """Whether there is nothing left to do."""
        until, tried = self.config.until, bool(self.best.actor)
        return self.iteration >= self.config.rounds or (until is not None and tried and self.best.success >= until)

    def warm_start(self, actor: dict[str, torch.Tensor], critic: dict[str, torch.Tensor], level: float = 0.0) -> None:
        """Begin with the networks of another training and its curriculum's level; the tasks must look alike."""
        try:
            self._ppo.actor.load_state_dict(actor)
            self._ppo.critic.load_state_dict(critic)
        except RuntimeError as error:
            reason = str(error).splitlines()[-1].strip()
            raise HaloidError(
                f"the warm start does not fit this task: {reason}. Expected a training with the same action mode, "
                "state estimation, history, learned joints and layer widths"
            ) from error
        self.curriculum.level = min(level, self.curriculum.hardest)

    def step(self) -> Iteration:
        """One iteration: every robot acts for some steps, then the networks learn from it."""
        untrained = self._try() if self.iteration == 0 else {}
        started, learner = time.perf_counter(), self.config.learner
        environment = self.task.environment
        environment.difficulty = self.curriculum.difficulty
        physics_before, collected = environment.simulation.seconds, defaultdict(list)
        critic_only = self.iteration < learner.critic_first
        for parameter in self._ppo.actor.parameters():
            parameter.requires_grad_(not critic_only)
        stepping_s = 0.0
        with torch.inference_mode():
            observed = self._vec_env.get_observations()
            for _ in range(learner.steps):
                output = self._ppo.act(observed)
                before = time.perf_counter()
                observed, reward, done, extras = self._vec_env.step(output)
                stepping_s += time.perf_counter() - before
                self._ppo.process_env_step(observed, reward, done, extras)
                self._note(collected)
            self._ppo.compute_returns(observed)
        update_started = time.perf_counter()
        losses = self._ppo.update()
        if critic_only:  # a drift of the normaliser alone must not change the step
            self._set_learning_rate(learner.learning_rate)
        self._check_finite(losses)
        metrics = {name: float(np.mean(values)) for name, values in collected.items()}
        metrics |= {f"loss/{name}": float(value) for name, value in losses.items()}
        metrics |= {
            "level": self.curriculum.level,
            "learning_rate": self._ppo.learning_rate,
            "action_std": self._ppo.get_policy().output_std.mean().item(),
            "diverged": float(environment.diverged),
        }
        self.curriculum.update(metrics["failures_per_s"])
        self.iteration += 1
        trial_started = time.perf_counter()
        if self.iteration % TRIAL_EVERY == 0 or self.iteration == self.config.rounds:
            metrics |= self._try()
        else:
            metrics |= untrained
        ended = time.perf_counter()
        physics_s = environment.simulation.seconds - physics_before
        seconds = {
            "physics": physics_s,
            "terms": stepping_s - physics_s,
            "policy": update_started - started - stepping_s,
            "update": trial_started - update_started,
            "trial": ended - trial_started,
            "all": ended - started,
        }
        return Iteration(self.iteration, metrics, seconds, learner.steps * environment.robots)

    def policy(self, run: str) -> TrackingPolicy:
        """The best policy so far, ready to be saved and exported."""
        actor = self.best.actor or self._ppo.get_policy().state_dict()
        task = self.config.task
        robot, reference = self.task.robot, self.task.reference
        facts = facts_of(robot, reference, task.actions, task.state_estimation, run, task.readings, task.phase)
        return TrackingPolicy(facts, network_of(actor), self.task.actions, self.task.reference.frames).eval()

    def state(self) -> dict[str, Any]:
        """Everything that the next iterations depend on."""
        return {
            "iteration": self.iteration,
            "ppo": self._ppo.save(),
            "level": self.curriculum.level,
            "best": {"score": self.best.score, "actor": self.best.actor, "success": self.best.success},
            "torch_random": torch.get_rng_state(),
            "world": self._vec_env.state(),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        self.iteration = int(state["iteration"])
        self._ppo.load(state["ppo"], None, True)
        self.curriculum.level = float(state["level"])
        self.best = Best(**state["best"])
        self._vec_env.load_state(state["world"])
        torch.set_rng_state(state["torch_random"])

    def _note(self, collected: dict[str, list[float]]) -> None:
        step = self._vec_env.last
        assert step is not None
        collected["reward"].append(float(step.reward.mean()) / STEP_S)
        collected["failures_per_s"].append(float(step.terminated.mean()) / STEP_S)
        collected["body_error_mm"].append(float(step.body_error_m.mean()) * 1e3)
        for name, term in step.reward_terms.items():
            collected[f"reward/{name}"].append(float(term.mean()))
        for name, ends in step.termination_terms.items():
            collected[f"ends_per_s/{name}"].append(float(ends.mean()) / STEP_S)

    def _try(self) -> dict[str, float]:
        """Put the policy to a trial and keep it if it is the best so far."""
        actor = self._ppo.get_policy()
        outputs = lambda observed: actor.mlp(actor.obs_normalizer(observed))  # noqa: E731
        hardest = replace(self.curriculum, level=self.config.difficulty).difficulty
        found = trial(self.task.environment, hardest, self.task.actions, outputs)
        if found.score > self.best.score:
            kept = {name: value.detach().clone() for name, value in actor.state_dict().items()}
            self.best = Best(found.score, kept, found.success)
        return {
            "trial/success": found.success,
            "trial/survival": found.survival,
            "trial/body_error_mm": found.body_error_m * 1e3,
        }

    def _set_learning_rate(self, rate: float) -> None:
        """Of the actor; the critic's own, if it has one, comes back with its next step."""
        self._ppo.learning_rate = rate
        for group in self._ppo.optimizer.param_groups:
            group["lr"] = rate

    def _check_finite(self, losses: dict[str, float]) -> None:
        if not all(np.isfinite(value) for value in losses.values()):
            raise HaloidError(
                f"the networks became NaN in iteration {self.iteration + 1}. The last checkpoint is "
                "sound: go on from it with a lower learning rate"
            )
