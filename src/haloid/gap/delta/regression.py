"""Delta action, the inverse problem of every transition and the regression on its answers, in one least-squares fit.

In: the simulator linearised about recorded transitions (linearise.py). Out: the coefficients θ of Δ = terms·θ
(networks.py) that minimise

    Σ w·‖W·(gap + B·Δ)‖² + λ·Σ ‖Δ‖² + ridge·‖θ‖²,

‖Δ‖ being ASAP's action norm. Solving min ‖s' − f(s, a + Δa)‖² + λ‖Δa‖² for each transition first and regressing on the
answers would be the same where B has full rank, and would ask for what the data do not show where it does not.
Transitions that stay unexplained (a foot that lands within the step) get a smaller w.
"""

from __future__ import annotations

import numpy as np
import torch

from haloid.gap.delta.features import features
from haloid.gap.delta.linearise import Linearised
from haloid.gap.delta.networks import TERMS, JointTerms
from haloid.gap.replays.data import RealData
from haloid.gap.replays.simulator import States
from haloid.skills.task.robot import TrackedRobot

POSE_WEIGHT, VELOCITY_WEIGHT_S = 1.0, 0.05
"""Of an error in m or rad, and of one in m/s or rad/s: what it grows to in 50 ms."""
PASSES = 2
UNEXPLAINED = 4.0
"""A squared error of this many medians counts half."""
CHUNK = 250


def regress(
    network: JointTerms,
    robot: TrackedRobot,
    data: RealData,
    about: Linearised,
    joints: np.ndarray,
    penalty: float,
    ridge: float,
) -> None:
    """Set the coefficients of `joints` (the columns of B); the others stay 0."""
    weight = np.repeat([POSE_WEIGHT, VELOCITY_WEIGHT_S], robot.model.nv).astype(np.float32)
    gap, b = about.gap * weight, about.b * weight[:, None]
    terms = scaled_terms(network, robot, data, about.rows)[:, joints]
    number, columns, width = len(gap), len(joints), terms.shape[2]
    trust, unknowns = np.ones(number, dtype=np.float32), columns * width
    norm = np.zeros((unknowns, unknowns))
    for joint in range(columns):
        own = slice(joint * width, (joint + 1) * width)
        norm[own, own] = terms[:, joint].T @ terms[:, joint]
    small = ridge * number * np.diag(np.repeat(robot.action_scale_rad[joints] ** 2, width))
    theta = np.zeros((columns, width))
    for _ in range(PASSES):
        normal, right = np.zeros((unknowns, unknowns)), np.zeros(unknowns)
        for start in range(0, number, CHUNK):
            some = slice(start, start + CHUNK)
            root = np.sqrt(trust[some])[:, None]
            slope = (b[some][:, :, :, None] * terms[some][:, None]).reshape(-1, gap.shape[1], unknowns) * root[
                ..., None
            ]
            slope = slope.reshape(-1, unknowns)
            normal += slope.T @ slope
            right -= slope.T @ (gap[some] * root).ravel()
        theta = np.linalg.solve(normal + penalty * norm + small, right).reshape(columns, width)
        left = gap + np.einsum("nij,nj->ni", b, (terms * theta).sum(axis=2))
        squared = (left**2).sum(axis=1)
        trust = 1.0 / (1.0 + squared / (UNEXPLAINED * np.median(squared) + 1e-12))
    coefficients = np.zeros((len(robot.joint_names), TERMS))
    coefficients[joints] = theta
    with torch.no_grad():
        network.coefficients.copy_(torch.from_numpy(coefficients))


def scaled_terms(network: JointTerms, robot: TrackedRobot, data: RealData, rows: np.ndarray) -> np.ndarray:
    """(N, joints, terms) radians for a coefficient of 1."""
    states = States(data.qpos[rows], data.qvel[rows], data.held_rad[rows])
    seen = torch.from_numpy(features(states, data.target_rad[rows], robot.default_joint_pos_rad))
    with torch.no_grad():
        return (network.terms(seen) * network.scale[:, None]).numpy()
