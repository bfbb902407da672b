"""Delta action in mjlab: f(s, a + π^Δ(s, a)) on GPUs, and fine-tuning there, π^Δ frozen.

In: a delta action model, the folder of a training with mjlab. Out: an action term for mjlab's environment that adds
π^Δ to the targets between policy and servos (the policy sees its own last action, as without it), and a training that
goes on from the policy's networks with that.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, cast

import torch
from mjlab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from mjlab.envs.mdp.actions import JointPositionAction, JointPositionActionCfg

from haloid.errors import HaloidError
from haloid.gap.delta.files import check_delta_fits, delta_sha256, load_delta
from haloid.gap.delta.finetune import SUBSTEPS, action_model, check_same_policy
from haloid.skills.mjlab_backend.train import RUNS, Change, MjlabOutcome, resume_with_mjlab, train_with_mjlab
from haloid.skills.task.environment import STEP_S
from haloid.skills.task.robot import tracked_robot
from haloid.skills.training.run_config import read_config, read_session


def finetune_with_mjlab(
    policy: Path, delta: Path, folder: Path, *, iterations: int, gpu_ids: tuple[int, ...] = ()
) -> MjlabOutcome:
    """Into a new folder, or from where a fine-tuning stopped there."""
    config, session = read_config(policy), read_session(policy)
    if session.backend != "mjlab":
        raise HaloidError(
            f"{policy} was trained on the CPU, whose critic sees other things than mjlab's. Fine-tune it there "
            "(leave out --backend), or give a policy of haloid train --backend mjlab"
        )
    model = load_delta(delta)
    check_delta_fits(model, tracked_robot(config.task.model, timestep_s=STEP_S / SUBSTEPS), delta)
    action_model(model, delta)
    change, which = corrected_by(delta), delta_sha256(delta)
    if (folder / RUNS).exists():
        check_same_policy(folder, policy)
        return resume_with_mjlab(folder, iterations=iterations, gpu_ids=gpu_ids, change=change, delta_sha256=which)
    config = replace(config, iterations=iterations)
    return train_with_mjlab(config, folder, gpu_ids=gpu_ids, warm_start=policy, change=change, delta_sha256=which)


def corrected_by(delta: Path) -> Change:
    """What makes mjlab's environment the corrected simulator."""

    def change(env: ManagerBasedRlEnvCfg) -> None:
        plain = cast(JointPositionActionCfg, env.actions["joint_pos"])
        values = {field.name: getattr(plain, field.name) for field in fields(plain) if field.init}
        env.actions["joint_pos"] = CorrectedActionCfg(**values, delta_file=str(delta.resolve()))

    return change


@dataclass(kw_only=True)
class CorrectedActionCfg(JointPositionActionCfg):
    delta_file: str
    """A path, as the configuration is sent to other processes and written as text."""

    def build(self, env: ManagerBasedRlEnv) -> CorrectedAction:
        return CorrectedAction(self, env)


class CorrectedAction(JointPositionAction):
    def __init__(self, cfg: CorrectedActionCfg, env: ManagerBasedRlEnv) -> None:
        super().__init__(cfg, env)
        model = load_delta(Path(cfg.delta_file))
        self._network = model.network.to(self.device)
        self._default_rad = torch.tensor(model.facts.default_joint_pos_rad, device=self.device)
        names = model.facts.joint_names
        self._joints = [self._entity.joint_names.index(name) for name in names]
        self._columns = [self.target_names.index(name) for name in names]
        """Of mjlab's joints and of its targets, in the model's order."""
        self._sent_rad = torch.zeros(self.num_envs, len(names), device=self.device)
        self._fresh = torch.ones(self.num_envs, dtype=torch.bool, device=self.device)

    def process_actions(self, actions: torch.Tensor) -> None:
        super().process_actions(actions)
        data: Any = self._entity.data
        q_rad, bias_rad = data.joint_pos[:, self._joints], data.encoder_bias[:, self._joints]
        target_rad = self._processed_actions[:, self._columns] - bias_rad
        held_rad = torch.where(self._fresh[:, None], q_rad, self._sent_rad)
        origin = self._env.scene.env_origins
        seen = [
            (data.root_link_pos_w - origin)[:, 2:3],
            data.root_link_lin_vel_b,
            data.root_link_ang_vel_b,
            data.projected_gravity_b,
            q_rad - self._default_rad,
            data.joint_vel[:, self._joints],
            target_rad - q_rad,
            held_rad - q_rad,
        ]
        with torch.no_grad():
            delta_rad = self._network(torch.cat(seen, dim=1).float())
        corrected = self._processed_actions.clone()
        corrected[:, self._columns] += delta_rad
        self._processed_actions = corrected
        self._sent_rad, self._fresh = target_rad, torch.zeros_like(self._fresh)

    def reset(self, env_ids: torch.Tensor | slice | None = None) -> None:
        super().reset(env_ids)
        self._fresh[slice(None) if env_ids is None else env_ids] = True
