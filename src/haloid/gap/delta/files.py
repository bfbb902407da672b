"""Delta, the file: delta.pt, format haloid-delta-1, a network and what it is for; tensors and plain values only.

In: a model of a simulator's gap. Out: a file that says which robot, which joints, which simulator (the hash of its
compiled model) and which data it is for, and that is refused on anything else. `export_onnx` writes the network alone,
features (features.py) in, radians to add to the targets out.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from haloid.errors import HaloidError, one_line
from haloid.gap.delta.networks import JointTerms
from haloid.gap.delta.residual import StateResidual
from haloid.outputs import atomic_file
from haloid.robots.files.model_hash import model_sha256
from haloid.skills.policies.networks import Mlp, Network
from haloid.skills.policies.tensor_file import write_tensors
from haloid.skills.policies.trace_onnx import trace_onnx
from haloid.skills.task.robot import TrackedRobot

FORMAT = "haloid-delta-1"
FILE = "delta.pt"
KINDS: dict[str, type[Network]] = {kind.architecture: kind for kind in (JointTerms, Mlp, StateResidual)}


@dataclass(frozen=True)
class DeltaFacts:
    kind: str
    """action: Δ is added to the targets; dynamics: to the state that is reached."""
    robot: str
    joint_names: tuple[str, ...]
    corrected_joints: tuple[str, ...]
    default_joint_pos_rad: tuple[float, ...]
    model_sha256: str
    """Of the simulator's compiled model."""
    method: str
    trained_on: tuple[str, ...]
    """Motions, or files."""
    rows: int


@dataclass(frozen=True)
class DeltaModel:
    facts: DeltaFacts
    network: Network


def delta_facts(
    robot: TrackedRobot, kind: str, method: str, corrected: tuple[str, ...], trained_on: tuple[str, ...], rows: int
) -> DeltaFacts:
    return DeltaFacts(
        kind=kind,
        robot=robot.description.name,
        joint_names=robot.joint_names,
        corrected_joints=corrected,
        default_joint_pos_rad=tuple(robot.default_joint_pos_rad.tolist()),
        model_sha256=model_sha256(robot.model),
        method=method,
        trained_on=trained_on,
        rows=rows,
    )


def save_delta(model: DeltaModel, path: Path) -> Path:
    """NAME.pt, or delta.pt in a folder, whole or not at all."""
    file = path if path.suffix == ".pt" else path / FILE
    document = {
        "format": FORMAT,
        "facts": json.dumps(asdict(model.facts)),
        "architecture": model.network.architecture,
        "configuration": json.dumps(model.network.configuration),
        "network": model.network.state_dict(),
    }
    write_tensors(document, file)
    return file


def load_delta(path: Path) -> DeltaModel:
    """Nothing in the file is run."""
    file = _file(path)
    if not file.is_file():
        raise HaloidError(f"{file} does not exist. Give the delta.pt that haloid delta train writes, or its folder")
    try:
        document = torch.load(file, weights_only=True)
        if document["format"] != FORMAT:
            raise ValueError(f"its format is {document['format']!r}, expected {FORMAT!r}")
        values: dict[str, Any] = json.loads(document["facts"])
        for name in [name for name, value in values.items() if isinstance(value, list)]:
            values[name] = tuple(values[name])
        facts = DeltaFacts(**values)
        if document["architecture"] not in KINDS:
            raise ValueError(f"its network is «{document['architecture']}», expected one of {', '.join(KINDS)}")
        network = KINDS[document["architecture"]](**json.loads(document["configuration"]))
        network.load_state_dict(document["network"])
    except Exception as error:
        raise HaloidError(
            f"{file} is not a delta model: {one_line(error)}. Expected the delta.pt that haloid delta train writes"
        ) from error
    return DeltaModel(facts, network.eval())


def delta_sha256(path: Path) -> str:
    """Of the file's content: which model it is, wherever it lies."""
    return hashlib.sha256(_file(path).read_bytes()).hexdigest()


def _file(path: Path) -> Path:
    return path / FILE if path.is_dir() else path


def check_delta_fits(model: DeltaModel, robot: TrackedRobot, path: Path) -> None:
    """A delta model is for one simulator: the robot, its joints and its parameters."""
    facts = model.facts
    if facts.joint_names != robot.joint_names:
        other = ", ".join(sorted(set(facts.joint_names) ^ set(robot.joint_names))) or "their order"
        raise HaloidError(
            f"{path} was learned on {facts.robot}, and the robot is {robot.description.name}: their joints differ in "
            f"{other}. Learn a delta model for this robot: haloid delta train"
        )
    if facts.model_sha256 != model_sha256(robot.model):
        raise HaloidError(
            f"{path} corrects another simulator than {robot.description.name} as it is given: masses, gains or the "
            "step differ. Give the model that it was learned on with --model, or learn one for this model"
        )


def export_onnx(model: DeltaModel, file: Path) -> Path:
    """The network alone, one robot or many at a time."""
    with atomic_file(file) as beside:
        inputs = (torch.zeros(1, model.network.inputs),)
        trace_onnx(model.network, inputs, beside, input_names=["features"], output_names=["delta"], batch=True)
    return file
