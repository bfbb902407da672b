"""Policies for tests that need no training: a network of zeros, or of chance, in each action mode."""

from collections.abc import Sequence

import torch

from haloid.skills.controller.tables import controller_tables, feedforward
from haloid.skills.policies.actions import (
    ActionMode,
    ControllerActions,
    FeedforwardActions,
    MjlabActions,
    controller_action_tables,
    feedforward_tables,
    term_columns,
)
from haloid.skills.policies.networks import Mlp
from haloid.skills.policies.policy import TrackingPolicy, facts_of
from haloid.skills.task.reference import reference_of
from haloid.skills.task.robot import TrackedRobot
from haloid.trajectories.motion import Motion


def untrained_policy(
    robot: TrackedRobot,
    motions: Sequence[Motion],
    names: Sequence[str],
    mode: ActionMode = "mjlab",
    *,
    state_estimation: bool = False,
    seed: int | None = None,
    hidden: Sequence[int] = (64, 32),
) -> TrackingPolicy:
    """With a seed the network's parameters are drawn, without one they are zero; mjlab alone takes several motions."""
    reference = reference_of(robot, motions, names)
    joints = len(robot.joint_names)
    actions = MjlabActions(joints)
    if mode == "feedforward":
        target_rad = feedforward(robot.model, robot.description, motions[0]).target_rad
        actions = FeedforwardActions(feedforward_tables(robot, target_rad, robot.joint_names))
    if mode == "controller":
        tables = controller_tables(robot.model, robot.description, motions[0])
        targets = tables.target_rad, tables.gain, tables.last_target_rad
        actions = ControllerActions(controller_action_tables(robot, reference, *targets), joints, state_estimation)
    random = torch.Generator().manual_seed(seed or 0)
    network = Mlp(term_columns(joints, state_estimation).width, hidden, actions.outputs)
    for parameter in network.parameters():
        drawn = torch.randn(parameter.shape, generator=random) / parameter.shape[-1] ** 0.5
        parameter.data.copy_(drawn if seed is not None else torch.zeros_like(parameter))
    if seed is not None:
        network.mean.copy_(torch.randn(network.mean.shape, generator=random))
        network.std.copy_(0.1 + torch.rand(network.std.shape, generator=random))
    facts = facts_of(robot, reference, mode, state_estimation, "tests/run")
    return TrackingPolicy(facts, network.eval(), actions, reference.frames).eval()
