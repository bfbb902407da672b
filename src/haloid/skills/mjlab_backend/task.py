"""Skills in mjlab, the task: mjlab's own G1 tracking task on the identified robot with HALO's randomisation.

In: a motion file, the robot, a column of Table I. Out: mjlab's configuration objects of the environment and of PPO.
Observations, rewards, terminations, reset and adaptive sampling are mjlab's, unchanged.
"""

from typing import Literal, cast

from mjlab.envs import ManagerBasedRlEnvCfg
from mjlab.rl import RslRlOnPolicyRunnerCfg
from mjlab.tasks.tracking.config.g1.env_cfgs import unitree_g1_flat_tracking_env_cfg
from mjlab.tasks.tracking.config.g1.rl_cfg import unitree_g1_tracking_ppo_runner_cfg
from mjlab.tasks.tracking.mdp import MotionCommandCfg

from haloid.skills.mjlab_backend.randomisation import table_1_events
from haloid.skills.mjlab_backend.robot import SpecFunction, g1_spec, robot_cfg


def tracking_env_cfg(
    *,
    motion_file: str = "",
    spec_fn: SpecFunction = g1_spec,
    randomisation: Literal["nominal", "wide"] = "nominal",
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
    cfg.events |= table_1_events(randomisation)
    if not pushes:
        cfg.events.pop("push_robot", None)
    return cfg


def ppo_cfg() -> RslRlOnPolicyRunnerCfg:
    """mjlab's PPO for the G1, with files as its only log: no account is needed."""
    cfg = unitree_g1_tracking_ppo_runner_cfg()
    cfg.experiment_name = "haloid_tracking"
    cfg.logger, cfg.upload_model = "tensorboard", False
    return cfg
