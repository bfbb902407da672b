"""Skills, the policy: a trained network, the reference it follows and all that is needed to run it, in one file.

In: rsl_rl's actor (its parameters, by name), an action mode, a reference, a robot. Out: a `TrackingPolicy`, a torch
module (observation, frame index) → action under mjlab's contract, saved as policy.pt: tensors and plain values only, so
that it is read without running anything.
"""

import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from haloid.errors import HaloidError, one_line
from haloid.outputs import atomic_file
from haloid.skills.actions import ActionMode, Actions, FeedforwardActions, MjlabActions
from haloid.skills.observations import actor_term_names
from haloid.skills.reference import Poses, Reference
from haloid.skills.robot import TrackedRobot

FORMAT = "haloid-policy-2"
NORMALISER_EPSILON = 1e-2
"""rsl_rl's: (x − mean) / (std + ε)."""


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

    @property
    def observation_names(self) -> tuple[str, ...]:
        return actor_term_names(self.state_estimation)


class Network(nn.Module):
    """Normalised observations through fully connected layers with ELU between them."""

    mean: torch.Tensor
    std: torch.Tensor

    def __init__(self, widths: list[int]) -> None:
        """`widths` from the observation to the output."""
        super().__init__()
        self.register_buffer("mean", torch.zeros(widths[0]))
        self.register_buffer("std", torch.ones(widths[0]))
        layers: list[nn.Module] = []
        with torch.random.fork_rng(devices=[]):  # a training that stores its policy goes on with the same chance
            for row in range(len(widths) - 1):
                layers += [nn.Linear(widths[row], widths[row + 1]), nn.ELU()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return self.layers((observation - self.mean) / (self.std + NORMALISER_EPSILON))


class TrackingPolicy(nn.Module):
    def __init__(self, facts: PolicyFacts, network: Network, actions: Actions, reference: Poses) -> None:
        super().__init__()
        self.facts, self.network, self.actions, self.reference = facts, network, actions, reference

    @property
    def frames(self) -> int:
        return len(self.reference)

    @property
    def observation_width(self) -> int:
        return self.network.mean.shape[0]

    def forward(self, observation: torch.Tensor, time_step: torch.Tensor) -> torch.Tensor:
        """(N, n) actions of (N, …) observations and (N,) frame indices (integers)."""
        return self.actions(observation, time_step, self.network(observation))


def facts_of(
    robot: TrackedRobot, reference: Reference, action_mode: ActionMode, state_estimation: bool, run: str
) -> PolicyFacts:
    return PolicyFacts(
        action_mode=action_mode,
        state_estimation=state_estimation,
        joint_names=robot.joint_names,
        body_names=robot.layout.bodies,
        anchor=robot.layout.anchor,
        kp=tuple(robot.kp.tolist()),
        kd=tuple(robot.kd.tolist()),
        default_joint_pos_rad=tuple(robot.default_joint_pos_rad.tolist()),
        action_scale_rad=tuple(robot.action_scale_rad.tolist()),
        motions=reference.names,
        first_frames=tuple(reference.first.tolist()),
        run=run,
        clamp="" if robot.clamp is None else robot.clamp.link,
    )


def network_of(actor: Mapping[str, torch.Tensor]) -> Network:
    """The network in the parameters of an rsl_rl actor with observation normalisation (`MLPModel.state_dict()`)."""
    rows = sorted(int(name.split(".")[1]) for name in actor if name.startswith("mlp.") and name.endswith(".weight"))
    weights = [actor[f"mlp.{row}.weight"] for row in rows]
    network = Network([weights[0].shape[1], *(weight.shape[0] for weight in weights)])
    network.mean.copy_(actor["obs_normalizer._mean"][0])
    network.std.copy_(actor["obs_normalizer._std"][0])
    linear = [layer for layer in network.layers if isinstance(layer, nn.Linear)]
    with torch.no_grad():
        for layer, row in zip(linear, rows, strict=True):
            layer.weight.copy_(actor[f"mlp.{row}.weight"])
            layer.bias.copy_(actor[f"mlp.{row}.bias"])
    return network.eval()


def save_policy(policy: TrackingPolicy, path: Path) -> None:
    """Write policy.pt whole or not at all."""
    reference = {name: torch.from_numpy(getattr(policy.reference, name)) for name in Poses.__dataclass_fields__}
    widths = [policy.observation_width]
    widths += [layer.out_features for layer in policy.network.layers if isinstance(layer, nn.Linear)]
    document = {
        "format": FORMAT,
        "facts": json.dumps(asdict(policy.facts)),
        "widths": widths,
        "network": policy.network.state_dict(),
        "actions": policy.actions.state_dict(),
        "reference": reference,
    }
    with atomic_file(path) as beside:
        torch.save(document, beside)


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
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise ValueError(f'its format is not "{FORMAT}"')
        facts = _facts(document["facts"])
        network = Network(list(document["widths"]))
        network.load_state_dict(document["network"])
        actions = _actions(facts, document["actions"])
        reference = Poses(**{name: tensor.numpy() for name, tensor in document["reference"].items()})
    except Exception as error:
        reason = one_line(error)
        raise HaloidError(
            f"{file} is not a policy of this package: {reason}. "
            "Expected the policy.pt that haloid train writes, or the folder it is in"
        ) from error
    return TrackingPolicy(facts, network.eval(), actions, reference).eval()


def _facts(text: str) -> PolicyFacts:
    values: dict[str, Any] = json.loads(text)
    for name in [name for name, value in values.items() if isinstance(value, list)]:
        values[name] = tuple(values[name])
    return PolicyFacts(**values)


def _actions(facts: PolicyFacts, tables: dict[str, torch.Tensor]) -> Actions:
    if facts.action_mode == "mjlab":
        return MjlabActions(len(facts.joint_names))
    return FeedforwardActions(
        {name: np.asarray(table) for name, table in tables.items()}, len(facts.joint_names), facts.state_estimation
    )
