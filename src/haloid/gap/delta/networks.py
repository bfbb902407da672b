"""Delta, the model: for every joint a dozen terms of its own servo, and their coefficients.

In: features (features.py). Out: (N, n) radians to add to the targets, Δ = Σ coefficient·term. With e the servo's error,
h that of the target it held before, τ = e − (kd/kp)·dq its torque (all as parts of a quarter of the torque limit), c
the direction of motion and s = 1 − c² whether the joint is stuck, a joint's terms are

    1, e, h, dq, q, c, c·|τ|, τ·|τ|, e·q, h·q, e·dq, s·τ, s·tanh(τ/0.1)

of which friction, softness, delay, losses under load and changing leverage are made. What a joint does by itself it
does in every motion: a network of the whole robot explained the motions that it was trained on better, and others worse
than no correction at all.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from haloid.gap.delta.features import ROOT_WIDTH, width
from haloid.skills.policies.networks import Network
from haloid.skills.task.robot import TrackedRobot

SLIDING_RAD_S = 0.1
"""Speed beyond which a joint certainly slides one way."""
SPEED_RAD_S = 2.0
"""Unit of velocities."""
STICKING = 0.1
"""Torque that a stuck joint may well hold by friction alone."""
TERMS = 13


class JointTerms(Network):
    architecture = "joint-terms"
    scale: torch.Tensor
    slowed: torch.Tensor

    def __init__(self, scale_rad: Sequence[float], slowed_s: Sequence[float]) -> None:
        """`scale_rad` is the servo error of a quarter of each joint's torque limit, `slowed_s` kd/kp."""
        self.joints = len(scale_rad)
        super().__init__(width(self.joints))
        self.configuration = {"scale_rad": list(scale_rad), "slowed_s": list(slowed_s)}
        self.register_buffer("scale", torch.tensor(scale_rad, dtype=torch.float32))
        self.register_buffer("slowed", torch.tensor(slowed_s, dtype=torch.float32))
        self.coefficients = torch.nn.Parameter(torch.zeros(self.joints, TERMS))

    def terms(self, seen: torch.Tensor) -> torch.Tensor:
        """(N, joints, terms)"""
        q, dq, e, h = seen[:, ROOT_WIDTH:].reshape(-1, 4, self.joints).unbind(dim=1)
        moving, e, h = torch.tanh(dq / SLIDING_RAD_S), e / self.scale, h / self.scale
        torque, stuck = e - self.slowed * dq / self.scale, 1.0 - moving * moving
        dq = dq / SPEED_RAD_S
        servo = [torch.ones_like(q), e, h, dq, q, moving, moving * torque.abs(), torque * torque.abs()]
        mixed = [e * q, h * q, e * dq, stuck * torque, stuck * torch.tanh(torque / STICKING)]
        return torch.stack(servo + mixed, dim=2)

    def answer(self, normalised: torch.Tensor) -> torch.Tensor:
        return (self.terms(normalised) * self.coefficients).sum(dim=2) * self.scale

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        """Of features as they are: the terms have units of their own."""
        return self.answer(observation)


def joint_terms(robot: TrackedRobot) -> JointTerms:
    """For a robot, all coefficients 0: no correction."""
    return JointTerms(robot.action_scale_rad.tolist(), (robot.kd / robot.kp).tolist())
