"""Skills, from network output to action: three modes, all ending in mjlab's contract, target = default + scale·action.

`mjlab`: the network's output is the action.
`feedforward`: the network's output corrects the servo targets of the training model's inverse dynamics,

    target = feedforward[t] + reach·output,    action = (target − default) / scale.

`controller`: no network; a model-based controller (controller/), with e the observed errors against the frame t that
the control step should reach and what the last target was off by,

    target = feedforward[t] + gain[t]·e.

All are torch modules, so that what is trained is what is exported: e is read off the actor's own observation.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import torch
from torch import nn

from haloid.skills.task.observations import term_columns
from haloid.skills.task.reference import Reference
from haloid.skills.task.robot import TrackedRobot
from haloid.trajectories.rotations import apply_inverse

ActionMode = Literal["feedforward", "controller", "mjlab"]


FEEDBACK_LIMIT = 1.5
"""Greatest feedback of the controller, in units of action: beyond it the servos only saturate."""


class MjlabActions(nn.Module):
    """The network's output is the action."""

    def __init__(self, joints: int) -> None:
        super().__init__()
        self.outputs = joints

    def forward(self, observation: torch.Tensor, time_step: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        return output


class FeedforwardActions(nn.Module):
    """The network corrects servo targets that are computed from the training model."""

    target: torch.Tensor
    reach: torch.Tensor
    default: torch.Tensor
    scale: torch.Tensor

    def __init__(self, tables: Mapping[str, np.ndarray]) -> None:
        """`tables` are those of `feedforward_tables`."""
        super().__init__()
        for name, table in tables.items():
            self.register_buffer(name, torch.as_tensor(np.ascontiguousarray(table), dtype=torch.float32))
        self.outputs = self.reach.shape[0]

    def forward(self, observation: torch.Tensor, time_step: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        """(N, n) actions of (N, …) observations, (N,) frame indices and (N, outputs) network outputs."""
        return (self.target[time_step] + torch.matmul(output, self.reach) - self.default) / self.scale


class ControllerActions(nn.Module):
    """Feed-forward targets and linear feedback, both computed from the training model; nothing is learned."""

    target: torch.Tensor
    gain: torch.Tensor
    last_target: torch.Tensor
    ang_vel: torch.Tensor
    default: torch.Tensor
    scale: torch.Tensor

    def __init__(self, tables: Mapping[str, np.ndarray], joints: int, state_estimation: bool) -> None:
        """`tables` are those of `controller_action_tables`."""
        super().__init__()
        self._columns = term_columns(joints, state_estimation).slices
        self._joints = joints
        for name, table in tables.items():
            self.register_buffer(name, torch.as_tensor(np.ascontiguousarray(table), dtype=torch.float32))
        self.outputs = joints
        """Of a network that is there for the interface only; they are ignored."""

    def forward(self, observation: torch.Tensor, time_step: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        """(N, n) actions of (N, …) observations and (N,) frame indices."""
        error = self._error(observation, time_step)
        gain = torch.index_select(self.gain, 0, time_step)  # this and the sum are five times faster than gain[t] @ e
        feedback = (gain * error.unsqueeze(1)).sum(dim=2)
        feedback = torch.clamp(feedback / self.scale, -FEEDBACK_LIMIT, FEEDBACK_LIMIT) * self.scale
        return (self.target[time_step] + feedback - self.default) / self.scale

    def _error(self, observation: torch.Tensor, time_step: torch.Tensor) -> torch.Tensor:
        """(N, 6 + 3n): rotation vector (its sine) of the anchor, angular velocity, joints, last target; table minus
        measured. An episode begins with a last action of 0, which was not sent."""
        columns = self._columns
        r00, r01, r10, r11, r20, r21 = observation[:, columns["motion_anchor_ori_b"]].unbind(dim=1)
        r02, r12 = r10 * r21 - r20 * r11, r20 * r01 - r00 * r21
        rotation = torch.stack([r21 - r12, r02 - r20, r10 - r01], dim=1) / 2
        command = observation[:, columns["command"]]
        position = command[:, : self._joints] - (observation[:, columns["joint_pos"]] + self.default)
        velocity = command[:, self._joints :] - observation[:, columns["joint_vel"]]
        spin = self.ang_vel[time_step] - observation[:, columns["base_ang_vel"]]
        last_action = observation[:, columns["actions"]]
        was_sent = (last_action != 0).any(dim=1, keepdim=True)
        last = was_sent * (self.last_target[time_step] - self.default - self.scale * last_action)
        return torch.cat([rotation, spin, position, velocity, last], dim=1)


Actions = MjlabActions | FeedforwardActions | ControllerActions


def feedforward_tables(
    robot: TrackedRobot, target_rad: np.ndarray, learned_joints: Sequence[str]
) -> dict[str, np.ndarray]:
    """What `FeedforwardActions` looks up: targets (n,), a row per frame, and what the network's outputs reach."""
    rows = [robot.joint_names.index(name) for name in learned_joints]
    reach = np.zeros((len(rows), len(robot.joint_names)))
    reach[np.arange(len(rows)), rows] = robot.action_scale_rad[rows]
    return {
        "target": target_rad,
        "reach": reach,
        "default": robot.default_joint_pos_rad,
        "scale": robot.action_scale_rad,
    }


def controller_action_tables(
    robot: TrackedRobot, reference: Reference, target_rad: np.ndarray, gain: np.ndarray, last_target_rad: np.ndarray
) -> dict[str, np.ndarray]:
    """What `ControllerActions` looks up, a row per frame: targets (n,), gains (n, 6 + 3n) and the root's spin."""
    root_quat, root_spin_w = reference.frames.body_quat_w[:, 0], reference.frames.body_ang_vel_w[:, 0]
    return {
        "target": target_rad,
        "gain": gain,
        "last_target": last_target_rad,
        "ang_vel": apply_inverse(root_quat, root_spin_w),
        "default": robot.default_joint_pos_rad,
        "scale": robot.action_scale_rad,
    }
