"""Policies for tests that need no training: a network of zeros, or of chance, in either action mode."""

from collections.abc import Sequence

import torch

from haloid.recordings.motion import Motion
from haloid.skills.actions import ActionMode, FeedforwardActions, MjlabActions, feedforward_tables, term_columns
from haloid.skills.controller.tables import controller_tables
from haloid.skills.policy import Network, TrackingPolicy, facts_of
from haloid.skills.reference import reference_of
from haloid.skills.robot import TrackedRobot


def untrained_policy(
    robot: TrackedRobot,
    motions: Sequence[Motion],
    names: Sequence[str],
    mode: ActionMode = "mjlab",
    *,
    state_estimation: bool = False,
    seed: int | None = None,
) -> TrackingPolicy:
    """With a seed the network's parameters are drawn, without one they are zero; feedforward takes one motion."""
    reference = reference_of(robot, motions, names)
    joints = len(robot.joint_names)
    actions = MjlabActions(joints)
    if mode == "feedforward":
        tables = controller_tables(robot.model, motions[0])
        targets = tables.target_rad, tables.gain, tables.last_target_rad
        rows = feedforward_tables(robot, reference, *targets, robot.joint_names)
        actions = FeedforwardActions(rows, joints, state_estimation)
    random = torch.Generator().manual_seed(seed or 0)
    network = Network([term_columns(joints, state_estimation).width, 64, 32, actions.outputs])
    for parameter in network.parameters():
        drawn = torch.randn(parameter.shape, generator=random) / parameter.shape[-1] ** 0.5
        parameter.data.copy_(drawn if seed is not None else torch.zeros_like(parameter))
    if seed is not None:
        network.mean.copy_(torch.randn(network.mean.shape, generator=random))
        network.std.copy_(0.1 + torch.rand(network.std.shape, generator=random))
    facts = facts_of(robot, reference, mode, state_estimation, "tests/run")
    return TrackingPolicy(facts, network.eval(), actions, reference.frames).eval()
