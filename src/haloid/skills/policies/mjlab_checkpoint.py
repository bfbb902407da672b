"""Skills, policies from elsewhere: an rsl_rl checkpoint of mjlab's tracking task as a `TrackingPolicy`.

In: model_<iteration>.pt and the motion it was trained on, which the checkpoint does not hold. Out: the policy in
mjlab's action mode. Gains, default pose and action scale are those of the robot given. Nothing in the file is run.
"""

from pathlib import Path

import torch

from haloid.errors import HaloidError, one_line
from haloid.skills.policies.actions import MjlabActions
from haloid.skills.policies.networks import network_of
from haloid.skills.policies.policy import TrackingPolicy, facts_of
from haloid.skills.task.observations import term_columns
from haloid.skills.task.reference import reference_of
from haloid.skills.task.robot import TrackedRobot
from haloid.trajectories.motion import Motion


class CheckpointError(HaloidError):
    def __init__(self, path: Path, found: str) -> None:
        super().__init__(
            f"{path} is not a checkpoint of mjlab's tracking task: {found}. "
            "Expected the model_<iteration>.pt that mjlab's train writes"
        )


def is_checkpoint(path: Path) -> bool:
    """Whether a file is an rsl_rl checkpoint rather than a policy.pt of this package."""
    try:
        document = torch.load(path, weights_only=True, map_location="cpu", mmap=True)
    except Exception:
        return False
    return isinstance(document, dict) and "actor_state_dict" in document


def policy_of_checkpoint(path: Path, robot: TrackedRobot, motion: Motion, name: str) -> TrackingPolicy:
    """The actor of the checkpoint, following `motion`, which is called `name`."""
    try:
        actor = torch.load(path, weights_only=True, map_location="cpu")["actor_state_dict"]
        network = network_of(actor)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise HaloidError(f"{path} cannot be read: the system says «{reason}»") from error
    except Exception as error:
        reason = one_line(error)
        raise CheckpointError(path, f"its actor was not found («{reason}»)") from error
    joints, width = len(robot.joint_names), network.inputs
    widths = {term_columns(joints, estimated).width: estimated for estimated in (False, True)}
    outputs = network.configuration["outputs"]
    if width not in widths or outputs != joints:
        raise CheckpointError(
            path,
            f"its actor takes {width} numbers and gives {outputs}; for this robot it would take "
            f"{' or '.join(map(str, widths))} and give {joints}",
        )
    reference = reference_of(robot, [motion], [name])
    facts = facts_of(robot, reference, "mjlab", widths[width], str(path.parent))
    return TrackingPolicy(facts, network, MjlabActions(joints), reference.frames).eval()
