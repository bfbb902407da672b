"""Skills in mjlab, the runner: mjlab's PPO runner with this package's action modes and policies.

In: mjlab's environment. Out: beside every checkpoint, policy.pt and policy.onnx as trainings on the CPU write them: the
action mode (actions.py) stands between network and environment and is part of the policy, metadata keep their full
precision (mjlab rounds to three decimals; a wrist's action scale is then 0.67 % off), and a failed export is an error
at the first checkpoint, after the first iteration, not a warning.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from mjlab.rl import RslRlOnPolicyRunnerCfg, RslRlVecEnvWrapper
from mjlab.rl.exporter_utils import get_base_metadata
from mjlab.rl.runner import MjlabOnPolicyRunner
from mjlab.tasks.tracking.mdp import MotionCommand
from mjlab.tasks.tracking.rl import MotionTrackingOnPolicyRunner
from tensordict import TensorDict

from haloid.skills.policies.actions import Actions, FeedforwardActions, MjlabActions
from haloid.skills.policies.export import export_onnx
from haloid.skills.policies.networks import network_of
from haloid.skills.policies.policy import PolicyFacts, TrackingPolicy, save_policy
from haloid.skills.task.reference import Poses
from haloid.skills.training.learning import SMALL_LAST_LAYER

POLICY, ONNX = "policy.pt", "policy.onnx"


@dataclass
class TrackingRunnerCfg(RslRlOnPolicyRunnerCfg):
    actions_file: str = ""
    """Tables of the feedforward mode, `FeedforwardActions.state_dict()`; empty: the network's output is the action."""


class ActionModeEnv(RslRlVecEnvWrapper):
    """mjlab's environment, whose actions are the network's outputs."""

    def __init__(self, env: RslRlVecEnvWrapper, actions: Actions) -> None:
        super().__init__(env.env, env.clip_actions)
        self.actions, self.num_actions = actions, actions.outputs
        self.command = cast(MotionCommand, self.unwrapped.command_manager.get_term("motion"))

    def get_observations(self) -> TensorDict:
        self._observed = super().get_observations()
        return self._observed

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict]:
        action = self.actions(self._observed["actor"], self.command.time_steps, actions)
        result = super().step(action)
        self._observed = result[0]
        return result


class TrackingRunner(MotionTrackingOnPolicyRunner):
    env: ActionModeEnv

    def __init__(
        self,
        env: Any,
        train_cfg: dict,
        log_dir: str | None = None,
        device: str = "cpu",
        registry_name: str | None = None,
    ) -> None:
        terms = env.unwrapped.observation_manager.active_terms["actor"]
        self._state_estimation = "base_lin_vel" in terms
        told = env.unwrapped.cfg.observations["actor"].terms.values()
        self._history = max(1, *(term.history_length for term in told))
        joints, file = env.num_actions, train_cfg.pop("actions_file", "")
        actions: Actions = MjlabActions(joints)
        if file:
            tables = {name: np.asarray(table) for name, table in torch.load(file, weights_only=True).items()}
            actions = FeedforwardActions(tables)
        super().__init__(ActionModeEnv(env, actions.to(device)), train_cfg, log_dir, device, registry_name)
        if file:
            with torch.no_grad():  # learning begins with the feed-forward targets alone
                for parameter in list(self.alg.get_policy().mlp.parameters())[-2:]:
                    parameter *= SMALL_LAST_LAYER

    def load(self, *args: Any, **options: Any) -> dict:
        """A checkpoint is of a finished iteration: learning goes on with the next one, not with the same once more."""
        infos = super().load(*args, **options)
        self.current_learning_iteration += 1
        return infos

    def save(self, path: str, infos: dict | None = None) -> None:
        MjlabOnPolicyRunner.save(self, path, infos)
        folder = Path(path).parent
        policy = self.policy(str(folder))
        save_policy(policy, folder / POLICY)
        export_onnx(policy, folder / ONNX)

    def policy(self, run: str) -> TrackingPolicy:
        """The policy of this moment, on the CPU."""
        command, numbers = self.env.command, cast(dict[str, Any], get_base_metadata(self.env.unwrapped, run))
        actor = {name: value.cpu() for name, value in self.alg.get_policy().state_dict().items()}
        actions: Actions = MjlabActions(len(numbers["joint_names"]))
        if isinstance(self.env.actions, FeedforwardActions):
            tables = {name: np.asarray(table.cpu()) for name, table in self.env.actions.state_dict().items()}
            actions = FeedforwardActions(tables)
        facts = PolicyFacts(
            action_mode="feedforward" if isinstance(actions, FeedforwardActions) else "mjlab",
            state_estimation=self._state_estimation,
            joint_names=tuple(numbers["joint_names"]),
            body_names=tuple(command.cfg.body_names),
            anchor=command.cfg.anchor_body_name,
            kp=tuple(numbers["joint_stiffness"]),
            kd=tuple(numbers["joint_damping"]),
            default_joint_pos_rad=tuple(numbers["default_joint_pos"]),
            action_scale_rad=tuple(numbers["action_scale"]),
            motions=(Path(command.cfg.motion_file).stem,),
            first_frames=(0,),
            run=run,
            history=self._history,
        )
        clip = Poses(*(getattr(command.motion, name).numpy(force=True) for name in Poses.__dataclass_fields__))
        return TrackingPolicy(facts, network_of(actor), actions, clip).eval()
