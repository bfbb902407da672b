"""mjlab's G1 tracking environment on the CPU, put into given states: the oracle of the tracking task's definitions.

Its physics kernels compile for about 40 s when first used on a machine; later builds take about 10 s.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from mjlab.envs import ManagerBasedRlEnv, ManagerBasedRlEnvCfg
from scipy.spatial.transform import Rotation

from haloid.trajectories.motion import Motion

ROBOTS = 8


@dataclass(frozen=True)
class RobotState:
    """Of several robots, in the order of the G1's model."""

    qpos: np.ndarray
    """(N, 36) as MuJoCo has it, in the robot's own world."""
    qvel: np.ndarray
    """(N, 35)"""
    frame: np.ndarray
    """(N,) the row of the motion that the robot should be in."""
    action: np.ndarray
    """(N, 29)"""
    last_action: np.ndarray
    """(N, 29)"""
    encoder_bias_rad: np.ndarray
    """(N, 29)"""


def states_near(motion: Motion, count: int, spread: float, seed: int) -> RobotState:
    """States off the motion's frames by about `spread` metres, radians, and ten times that in velocities."""
    random = np.random.default_rng(seed)
    frame = random.integers(0, len(motion.joint_pos_rad), count)
    root = Rotation.from_quat(motion.body_quat_wxyz[frame, 0], scalar_first=True)
    root = Rotation.from_rotvec(spread * random.normal(size=(count, 3))) * root
    position = motion.body_pos_w_m[frame, 0] + spread * random.normal(size=(count, 3))
    joints = motion.joint_pos_rad[frame] + spread * random.normal(size=(count, 29))
    return RobotState(
        qpos=np.concatenate([position, root.as_quat(scalar_first=True), joints], axis=1),
        qvel=10 * spread * random.normal(size=(count, 35)),
        frame=frame,
        action=random.normal(size=(count, 29)),
        last_action=random.normal(size=(count, 29)),
        encoder_bias_rad=random.uniform(-0.01, 0.01, (count, 29)),
    )


class MjlabScene:
    """An mjlab environment and what it computes of given states."""

    def __init__(self, cfg: ManagerBasedRlEnvCfg, motion_file: Path, robots: int) -> None:
        torch.set_num_threads(1)
        cfg.scene.num_envs, cfg.seed = robots, 0
        command: Any = cfg.commands["motion"]
        command.motion_file = str(motion_file)
        self.env = ManagerBasedRlEnv(cfg, device="cpu")
        self.env.reset()
        self.command: Any = self.env.command_manager.get_term("motion")
        self.robot: Any = self.env.scene["robot"]

    def put(self, state: RobotState) -> None:
        """Robots are told of their own world, and stand metres apart in mjlab's."""
        data = self.env.sim.data
        data.qpos[:] = tensor(state.qpos)
        data.qpos[:, :3] += self.env.scene.env_origins
        data.qvel[:] = tensor(state.qvel)
        self.command.time_steps[:] = torch.as_tensor(state.frame)
        actions = self.env.action_manager
        actions._action[:], actions._prev_action[:] = tensor(state.action), tensor(state.last_action)
        self.robot.data.encoder_bias[:] = tensor(state.encoder_bias_rad)
        self.env.sim.forward()
        self.command.update_relative_body_poses()
        self.env.sim.sense()

    def observation_terms(self, group: str) -> dict[str, np.ndarray]:
        """By name, without noise."""
        manager = self.env.observation_manager
        return {name: self._value(manager.get_term_cfg(group, name)) for name in manager.active_terms[group]}

    def reward_terms(self) -> dict[str, np.ndarray]:
        """By name, unweighted."""
        manager = self.env.reward_manager
        return {name: self._value(manager.get_term_cfg(name)) for name in manager.active_terms}

    def termination_terms(self) -> dict[str, np.ndarray]:
        manager = self.env.termination_manager
        return {name: self._value(manager.get_term_cfg(name)) for name in manager.active_terms}

    def _value(self, term: Any) -> np.ndarray:
        return term.func(self.env, **term.params).numpy(force=True).copy()


def tensor(values: np.ndarray) -> torch.Tensor:
    return torch.as_tensor(values, dtype=torch.float32)
