"""Skills, the policy: a trained network, the reference it follows and all that is needed to run it, in one file.

In: a network (networks.py), an action mode, a reference, a robot. Out: a `TrackingPolicy`, a torch
module (observation, frame index) → action under mjlab's contract, saved as policy.pt: tensors and plain values only, so
that it is read without running anything.
"""

import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from haloid.errors import HaloidError, one_line
from haloid.skills.policies.actions import ActionMode, Actions, ControllerActions, FeedforwardActions, MjlabActions
from haloid.skills.policies.networks import ArchitectureError, Mlp, Network, build_network
from haloid.skills.policies.tensor_file import write_tensors
from haloid.skills.task.observations import actor_term_names
from haloid.skills.task.reference import Poses, Reference
from haloid.skills.task.robot import TrackedRobot

FORMAT = "haloid-policy-4"
FORMAT_OF_MLPS = "haloid-policy-3"
"""The one before, in which every network was an MLP and its widths were all there was to say; still read."""


@dataclass(frozen=True)
class PolicyFacts:
    """What a policy says of itself. Joint vectors in the order of `joint_names`."""

    action_mode: ActionMode
    state_estimation: bool
    joint_names: tuple[str, ...]
    body_names: tuple[str, ...]
    anchor: str
    kp: tuple[float, ...]
    kd: tuple[float, ...]
    default_joint_pos_rad: tuple[float, ...]
    action_scale_rad: tuple[float, ...]
    motions: tuple[str, ...]
    first_frames: tuple[int, ...]
    """Of each motion in the table of frames."""
    run: str
    """Where it was trained."""
    clamp: str = ""
    """The link that was held fixed in training, if any."""
    history: int = 1
    """Readings of its sensors that it sees, the current one included."""
    phase: bool = False
    """Whether all it sees of the motion is its phase."""

    @property
    def observation_names(self) -> tuple[str, ...]:
        return actor_term_names(self.state_estimation, self.phase)


class TrackingPolicy(nn.Module):
    def __init__(self, facts: PolicyFacts, network: Network, actions: Actions, reference: Poses) -> None:
        super().__init__()
        self.facts, self.network, self.actions, self.reference = facts, network, actions, reference

    @property
    def frames(self) -> int:
        return len(self.reference)

    @property
    def observation_width(self) -> int:
        return self.network.inputs

    def forward(self, observation: torch.Tensor, time_step: torch.Tensor) -> torch.Tensor:
        """(N, n) actions of (N, …) observations and (N,) frame indices (integers)."""
        return self.actions(observation, time_step, self.network(observation))


def facts_of(
    robot: TrackedRobot,
    reference: Reference,
    action_mode: ActionMode,
    state_estimation: bool,
    run: str,
    history: int = 1,
    phase: bool = False,
) -> PolicyFacts:
    return PolicyFacts(
        action_mode=action_mode,
        state_estimation=state_estimation,
        joint_names=robot.joint_names,
        body_names=robot.description.tracked_links,
        anchor=robot.description.anchor,
        kp=tuple(robot.kp.tolist()),
        kd=tuple(robot.kd.tolist()),
        default_joint_pos_rad=tuple(robot.default_joint_pos_rad.tolist()),
        action_scale_rad=tuple(robot.action_scale_rad.tolist()),
        motions=reference.names,
        first_frames=tuple(reference.first.tolist()),
        run=run,
        clamp="" if robot.clamp is None else robot.clamp.link,
        history=history,
        phase=phase,
    )


def save_policy(policy: TrackingPolicy, path: Path) -> None:
    """Write policy.pt whole or not at all."""
    reference = {name: torch.from_numpy(getattr(policy.reference, name)) for name in Poses.__dataclass_fields__}
    document = {
        "format": FORMAT,
        "facts": json.dumps(asdict(policy.facts)),
        "architecture": policy.network.architecture,
        "configuration": json.dumps(policy.network.configuration),
        "network": policy.network.state_dict(),
        "actions": policy.actions.state_dict(),
        "reference": reference,
    }
    write_tensors(document, path)


def load_policy(path: Path) -> TrackingPolicy:
    """Read policy.pt, or the one in a training's folder. Nothing in the file is run."""
    file = path / "policy.pt" if path.is_dir() else path
    try:
        content = io.BytesIO(file.read_bytes())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise HaloidError(
            f"{file} cannot be read: the system says «{reason}». Give the folder of a training"
        ) from error
    try:
        document = torch.load(content, weights_only=True)
        if not isinstance(document, dict) or document.get("format") not in (FORMAT, FORMAT_OF_MLPS):
            raise ValueError(f'its format is not "{FORMAT}"')
        facts = _facts(document["facts"])
        network = _network(document)
        network.load_state_dict(document["network"])
        actions = _actions(facts, document["actions"])
        reference = Poses(**{name: tensor.numpy() for name, tensor in document["reference"].items()})
    except ArchitectureError as error:
        raise HaloidError(f"{file} cannot be used: {error}") from error
    except Exception as error:
        reason = one_line(error)
        raise HaloidError(
            f"{file} is not a policy of this package: {reason}. "
            "Expected the policy.pt that haloid train writes, or the folder it is in"
        ) from error
    return TrackingPolicy(facts, network.eval(), actions, reference).eval()


def _network(document: dict[str, Any]) -> Network:
    """As the file says, without its parameters."""
    if document["format"] == FORMAT_OF_MLPS:
        inputs, *hidden, outputs = document["widths"]
        return Mlp(inputs, hidden, outputs)
    return build_network(document["architecture"], json.loads(document["configuration"]))


def _facts(text: str) -> PolicyFacts:
    values: dict[str, Any] = json.loads(text)
    for name in [name for name, value in values.items() if isinstance(value, list)]:
        values[name] = tuple(values[name])
    return PolicyFacts(**values)


def _actions(facts: PolicyFacts, tables: dict[str, torch.Tensor]) -> Actions:
    if facts.action_mode == "mjlab":
        return MjlabActions(len(facts.joint_names))
    arrays = {name: np.asarray(table) for name, table in tables.items()}
    if facts.action_mode == "feedforward":
        return FeedforwardActions(arrays)
    return ControllerActions(arrays, len(facts.joint_names), facts.state_estimation)
