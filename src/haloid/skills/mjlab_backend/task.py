"""Skills in mjlab, the task: mjlab's own G1 tracking task on the identified robot with this package's randomisation.

In: a motion file, the robot, a randomisation, a difficulty. Out: mjlab's configuration objects of the environment and
of PPO. Observations, rewards, terminations, reset, pushes and adaptive sampling are mjlab's; at full difficulty with
mjlab's numbers. The difficulty is constant: there is no curriculum here.
"""

from dataclasses import fields
from typing import Any, cast

from mjlab.envs import ManagerBasedRlEnvCfg
from mjlab.rl import RslRlModelCfg, RslRlPpoAlgorithmCfg
from mjlab.tasks.tracking.config.g1.env_cfgs import unitree_g1_flat_tracking_env_cfg
from mjlab.tasks.tracking.config.g1.rl_cfg import unitree_g1_tracking_ppo_runner_cfg
from mjlab.tasks.tracking.mdp import MotionCommandCfg
from mjlab.utils.noise import UniformNoiseCfg

from haloid.errors import HaloidError
from haloid.robots.description import describe
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.skills.mjlab_backend.randomisation import randomisation_events
from haloid.skills.mjlab_backend.robot import SpecFunction, g1_spec, robot_cfg
from haloid.skills.mjlab_backend.runner import TrackingRunnerCfg
from haloid.skills.task.difficulty import Difficulty
from haloid.skills.task.observations import history_lengths
from haloid.skills.task.randomisation import RANDOMISATIONS, RandomisationName, Range, narrowed
from haloid.skills.training.ppo import PpoConfig, rsl_rl_config


def tracking_env_cfg(
    *,
    motion_file: str = "",
    spec_fn: SpecFunction = g1_spec,
    randomisation: RandomisationName = "nominal",
    state_estimation: bool = True,
    difficulty: Difficulty | None = None,
    history: int = 1,
    play: bool = False,
) -> ManagerBasedRlEnvCfg:
    """The environment. Without a motion file it is a task for mjlab's own commands, which ask for one.

    `play` is mjlab's: from the motion's start, without end, noise and pushes.
    """
    cfg = unitree_g1_flat_tracking_env_cfg(has_state_estimation=state_estimation, play=play)
    cfg.scene.entities = {"robot": robot_cfg(spec_fn)}
    cast(MotionCommandCfg, cfg.commands["motion"]).motion_file = motion_file
    push = {name: event for name, event in cfg.events.items() if name == "push_robot"}
    difficulty = difficulty or Difficulty()
    cfg.events = push | randomisation_events(
        narrowed(RANDOMISATIONS[randomisation], difficulty.randomisation), describe(DEFAULT_ROBOT)
    )
    _set_difficulty(cfg, difficulty)
    terms = cfg.observations["actor"].terms
    for term, length in zip(terms.values(), history_lengths(list(terms), history), strict=True):
        term.history_length = length
    return cfg


def _set_difficulty(cfg: ManagerBasedRlEnvCfg, difficulty: Difficulty) -> None:
    command = cast(MotionCommandCfg, cfg.commands["motion"])
    command.pose_range = _scaled(command.pose_range, difficulty.reset)
    command.velocity_range = _scaled(command.velocity_range, difficulty.reset)
    low, high = command.joint_position_range
    command.joint_position_range = (low * difficulty.reset, high * difficulty.reset)
    if not difficulty.push:
        cfg.events.pop("push_robot", None)
    elif "push_robot" in cfg.events:
        params = cfg.events["push_robot"].params
        params["velocity_range"] = _scaled(params["velocity_range"], difficulty.push)
    for term in cfg.observations["actor"].terms.values():
        if isinstance(term.noise, UniformNoiseCfg):
            half = cast(float, term.noise.n_max) * difficulty.noise
            term.noise = UniformNoiseCfg(n_min=-half, n_max=half)
    for term in cfg.terminations.values():
        if "threshold" in term.params:
            term.params["threshold"] *= difficulty.termination


def _scaled(ranges: dict[str, Range], factor: float) -> dict[str, Range]:
    return {axis: (low * factor, high * factor) for axis, (low, high) in ranges.items()}


def runner_cfg(ppo: PpoConfig) -> TrackingRunnerCfg:
    """PPO for mjlab's runner, with files as its only log: no account is needed."""
    if ppo.critic_first:
        raise HaloidError(
            f"critic_first is {ppo.critic_first}; mjlab's runner teaches actor and critic from the start. "
            "Expected 0, as in mjlab_ppo()"
        )
    settings, own = rsl_rl_config(ppo), unitree_g1_tracking_ppo_runner_cfg()
    known = {field.name for field in fields(RslRlPpoAlgorithmCfg)}
    algorithm = {name: value for name, value in settings["algorithm"].items() if name in known}
    return TrackingRunnerCfg(
        actor=_model_cfg(settings["actor"]),
        critic=_model_cfg(settings["critic"]),
        algorithm=RslRlPpoAlgorithmCfg(**algorithm),
        num_steps_per_env=ppo.steps,
        max_iterations=own.max_iterations,
        save_interval=own.save_interval,
        experiment_name="haloid_tracking",
        logger="tensorboard",
        upload_model=False,
    )


def _model_cfg(settings: dict[str, Any]) -> RslRlModelCfg:
    cfg = RslRlModelCfg(**settings)
    cfg.hidden_dims = tuple(cfg.hidden_dims)
    return cfg
