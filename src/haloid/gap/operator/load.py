"""What weighs on each joint: the torque that holds a robot's links and payload still, from its posture.

    τ_j = −axis_j · Σ_{links i beyond j} (c_i − anchor_j) × m_i·g        (hinges; −axis_j · Σ m_i·g for slides)

In: a compiled model, postures (B, n) and payloads (B,). Out: (B, n) N·m, in torch, so that a network can see it
wherever it is run, in an ONNX file too. Joints that the operator does not know stay as the model has them.
"""

from __future__ import annotations

import mujoco
import numpy as np
import torch
from torch import nn

_SIZES = {"place": 3, "turn": 9, "anchor": 3, "axis": 3, "slides": 1, "mass": 1, "moment": 3, "hands": 1, "reach": 3}
"""Of each joint's link in the link before it: pose, joint, mass, first moment; hands in it, and where, summed."""


class Load(nn.Module):
    parent: torch.Tensor
    place: torch.Tensor
    turn: torch.Tensor
    anchor: torch.Tensor
    axis: torch.Tensor
    slides: torch.Tensor
    mass: torch.Tensor
    moment: torch.Tensor
    hands: torch.Tensor
    reach: torch.Tensor
    gravity: torch.Tensor

    def __init__(self, joints: int) -> None:
        super().__init__()
        self.register_buffer("parent", torch.full((joints,), -1, dtype=torch.long))
        for name, size in _SIZES.items():
            self.register_buffer(name, torch.zeros(joints, size))
        self.register_buffer("gravity", torch.zeros(3))

    def of(self, model: mujoco.MjModel, joint_names: tuple[str, ...], hands: tuple[str, ...]) -> Load:
        """Takes the links of a robot without payload; `hands` carry it at their CoM."""
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        ids = [model.joint(name).id for name in joint_names]
        last = {int(model.jnt_bodyid[joint]): row for row, joint in sorted(enumerate(ids), key=lambda one: one[1])}
        found = {name: np.zeros((len(ids), size)) for name, size in _SIZES.items()}
        frames = []
        for row, joint in enumerate(ids):
            body = int(model.jnt_bodyid[joint])
            others = [other for other in range(len(ids)) if model.jnt_bodyid[ids[other]] == body and ids[other] < joint]
            above = max(others, key=lambda other: ids[other]) if others else _above(model, body, last)
            self.parent[row] = above
            frames.append((data.xpos[body], data.xmat[body].reshape(3, 3)))
            found["anchor"][row], found["axis"][row] = model.jnt_pos[joint], model.jnt_axis[joint]
            found["slides"][row] = model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE
        for row in range(len(ids)):
            place, turn = frames[row]
            before = frames[int(self.parent[row])] if self.parent[row] >= 0 else (np.zeros(3), np.eye(3))
            found["place"][row], found["turn"][row] = before[1].T @ (place - before[0]), (before[1].T @ turn).ravel()
        for body in range(1, model.nbody):
            row = last.get(body, _above(model, body, last))
            if row >= 0:
                place, turn = frames[row]
                com = turn.T @ (data.xipos[body] - place)
                found["mass"][row] += model.body_mass[body]
                found["moment"][row] += model.body_mass[body] * com
                if model.body(body).name in hands:
                    found["hands"][row] += 1
                    found["reach"][row] += com
        for name, values in found.items():
            getattr(self, name)[:] = torch.as_tensor(values)
        self.gravity[:] = torch.as_tensor(model.opt.gravity)
        return self

    def forward(self, q_rad: torch.Tensor, payload_kg: torch.Tensor) -> torch.Tensor:
        kg = payload_kg.reshape(-1, 1)
        each = torch.zeros_like(kg)  # sizes that are told, not taken from it, would be fixed in an ONNX file
        parents, gravity = self.parent.tolist(), self.gravity
        order = sorted(range(len(parents)), key=lambda joint: _depth(parents, joint))
        places, turns, anchors, axes, masses, moments, torques = ({} for _ in range(7))
        for j in order:
            place, turn = self.place[j] + each, self.turn[j].reshape(3, 3) + each[..., None]
            if (above := parents[j]) >= 0:
                place, turn = places[above] + turns[above] @ self.place[j], turns[above] @ turn
            axes[j], anchors[j] = turn @ self.axis[j], place + turn @ self.anchor[j]
            turns[j] = turn @ _about(self.axis[j], q_rad[:, j] * (1 - self.slides[j]))
            slid = axes[j] * (q_rad[:, j] * self.slides[j])[:, None]
            places[j] = anchors[j] - turns[j] @ self.anchor[j] + slid
            masses[j] = self.mass[j] + self.hands[j] * kg
            first = (self.moment[j] + self.reach[j] * kg)[..., None]
            moments[j] = masses[j] * places[j] + (turns[j] @ first)[..., 0]
        for j in reversed(order):
            lever = moments[j] - masses[j] * anchors[j]
            twist = (torch.linalg.cross(lever, gravity + 0 * lever) * axes[j]).sum(1, keepdim=True)
            pull = masses[j] * (axes[j] @ gravity)[:, None]
            torques[j] = -torch.where(self.slides[j] > 0, pull, twist)
            if (above := parents[j]) >= 0:
                masses[above], moments[above] = masses[above] + masses[j], moments[above] + moments[j]
        return torch.cat([torques[j] for j in range(len(parents))], dim=1)


def _depth(parents: list[int], joint: int) -> int:
    return 0 if parents[joint] < 0 else 1 + _depth(parents, parents[joint])


def _above(model: mujoco.MjModel, body: int, last: dict[int, int]) -> int:
    """The row of the nearest known joint between a body and the world; −1: none."""
    while body := int(model.body_parentid[body]):
        if body in last:
            return last[body]
    return -1


def _about(axis: torch.Tensor, angle_rad: torch.Tensor) -> torch.Tensor:
    """(B, 3, 3) rotations: Rodrigues' formula."""
    zero = torch.zeros_like(axis[0])
    cross = torch.stack(
        [zero, -axis[2], axis[1], axis[2], zero, -axis[0], -axis[1], axis[0], zero],
    ).reshape(3, 3)
    sin, cos = torch.sin(angle_rad)[:, None, None], torch.cos(angle_rad)[:, None, None]
    return torch.eye(3) + sin * cross + (1 - cos) * (cross @ cross)
