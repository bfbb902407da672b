"""Skills in mjlab, the task: mjlab's own G1 tracking task on the identified robot with HALO's randomisation.

In: a motion file, the robot, a randomisation. Out: mjlab's configuration objects of the environment and of PPO.
Observations, rewards, terminations, reset, pushes and adaptive sampling are mjlab's, unchanged.
"""

from dataclasses import fields, replace
from typing import Any, cast

from mjlab.envs import ManagerBasedRlEnvCfg
from mjlab.rl import RslRlModelCfg, RslRlOnPolicyRunnerCfg, RslRlPpoAlgorithmCfg
from mjlab.tasks.tracking.config.g1.env_cfgs import unitree_g1_flat_tracking_env_cfg
from mjlab.tasks.tracking.config.g1.rl_cfg import unitree_g1_tracking_ppo_runner_cfg
from mjlab.tasks.tracking.mdp import MotionCommandCfg

from haloid.errors import HaloidError
from haloid.skills.mjlab_backend.randomisation import randomisation_events
from haloid.skills.mjlab_backend.robot import SpecFunction, g1_spec, robot_cfg
from haloid.skills.ppo import PpoConfig, rsl_rl_config
from haloid.skills.randomisation import RANDOMISATIONS, RandomisationName


def tracking_env_cfg(
    *,
    motion_file: str = "",
    spec_fn: SpecFunction = g1_spec,
    randomisation: RandomisationName = "nominal",
    state_estimation: bool = True,
    pushes: bool = True,
    play: bool = False,
) -> ManagerBasedRlEnvCfg:
    """The environment. Without a motion file it is a task for mjlab's own commands, which ask for one.

    `play` is mjlab's: from the motion's start, without end, noise and pushes.
    """
    cfg = unitree_g1_flat_tracking_env_cfg(has_state_estimation=state_estimation, play=play)
    cfg.scene.entities = {"robot": robot_cfg(spec_fn)}
    cast(MotionCommandCfg, cfg.commands["motion"]).motion_file = motion_file
    kept = {name: event for name, event in cfg.events.items() if name == "push_robot" and pushes}
    cfg.events = kept | randomisation_events(RANDOMISATIONS[randomisation])
    return cfg


def runner_cfg(ppo: PpoConfig) -> RslRlOnPolicyRunnerCfg:
    """PPO for mjlab's runner, with files as its only log: no account is needed."""
    if ppo.critic_first:
        raise HaloidError(
            f"critic_first is {ppo.critic_first}; mjlab's runner teaches actor and critic from the start. "
            "Expected 0, as in mjlab_ppo()"
        )
    settings = rsl_rl_config(ppo)
    known = {field.name for field in fields(RslRlPpoAlgorithmCfg)}
    algorithm = {name: value for name, value in settings["algorithm"].items() if name in known}
    return replace(
        unitree_g1_tracking_ppo_runner_cfg(),
        actor=_model_cfg(settings["actor"]),
        critic=_model_cfg(settings["critic"]),
        algorithm=RslRlPpoAlgorithmCfg(**algorithm),
        num_steps_per_env=ppo.steps,
        experiment_name="haloid_tracking",
        logger="tensorboard",
        upload_model=False,
    )


def _model_cfg(settings: dict[str, Any]) -> RslRlModelCfg:
    cfg = RslRlModelCfg(**settings)
    cfg.hidden_dims = tuple(cfg.hidden_dims)
    return cfg
