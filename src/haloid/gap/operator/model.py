"""The operator as a file: weights, what it was trained on, and how to call it.

A folder: `operator.pt` (tensors and plain values alone; nothing in it is run), `operator.onnx` (observation in, delta
action out), `operator.json` (haloid-operator-3, the same facts for people and other programs).
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from haloid.errors import HaloidError, one_line
from haloid.gap.crowd import Base
from haloid.gap.operator.features import observation_size
from haloid.gap.operator.networks import Network, NetworkConfig, make_network
from haloid.outputs import atomic_file
from haloid.robots.servos import Gains
from haloid.skills.policies.tensor_file import write_tensors
from haloid.skills.policies.trace_onnx import trace_onnx

FORMAT = "haloid-operator-3"
WEIGHTS, LAST = "operator.pt", "operator.onnx"
"""The first and the last file that is written."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Operator:
    network: Network
    base: Base
    """The simulator that it corrects."""
    rate_hz: float
    payload_kg: tuple[float, float]
    """The range that it was trained in."""
    duration: int = 1
    """Control steps for which a delta action is held."""

    @property
    def joint_names(self) -> tuple[str, ...]:
        return self.base.joint_names

    def check(self, joint_names: tuple[str, ...], rate_hz: float, what: str) -> None:
        """Refuses another robot or another rate."""
        if joint_names != self.joint_names:
            raise HaloidError(
                f"{what} has the joints {', '.join(joint_names)}; the operator was trained for {self.base.robot} with "
                f"{', '.join(self.joint_names)}. Train one for this robot: haloid delta operator"
            )
        if abs(rate_hz / self.rate_hz - 1) > 0.02:
            raise HaloidError(
                f"{what} runs at {rate_hz:.4g} Hz; the operator was trained at {self.rate_hz:.4g} Hz, and a correction "
                "holds for one control step. Train one at this rate, or resample"
            )

    def warn_payload(self, payload_kg: float, what: str) -> None:
        """Says by how much a payload is outside what was trained."""
        low, high = self.payload_kg
        outside = max(low - payload_kg, payload_kg - high)
        if outside > 1e-6:
            _LOG.warning(
                "%s carries %g kg in each hand, %.3g kg outside of the %g to %g kg that the operator was trained with; "
                "its correction is an extrapolation",
                what,
                payload_kg,
                outside,
                low,
                high,
            )

    @property
    def facts(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "network": asdict(self.network.config),
            "robot": self.base.robot,
            "clamp": self.base.clamp,
            "joint_names": list(self.joint_names),
            "kp": self.base.gains.kp,
            "kd": self.base.gains.kd,
            "model": self.base.model,
            "rate_hz": self.rate_hz,
            "payload_kg": list(self.payload_kg),
            "duration": self.duration,
            "observation": "[target, q, H × q, H × dq, H × target (newest first), payload], rad, rad/s and kg",
            "action": "delta action in rad, to be added to the targets",
        }


def write_operator(operator: Operator, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_tensors({"facts": json.dumps(operator.facts), "weights": operator.network.state_dict()}, folder / WEIGHTS)
    with atomic_file(folder / "operator.json") as beside:
        beside.write_text(json.dumps(operator.facts, indent=1), encoding="utf-8")
    with atomic_file(folder / LAST) as beside:
        write_onnx(operator, beside)


def read_operator(path: Path) -> Operator:
    """From its folder, or from operator.pt itself."""
    file = path / WEIGHTS if path.is_dir() else path
    if not file.is_file():
        raise HaloidError(
            f"{path} holds no operator: there is no {file.name}. Expected a folder that `haloid delta operator` wrote"
        )
    try:
        stored = torch.load(file, weights_only=True, map_location="cpu")
        facts = json.loads(stored["facts"])
        weights = stored["weights"]
    except Exception as error:
        raise HaloidError(f"{file} is not an operator ({one_line(error)}); train it again") from error
    if facts.get("format") != FORMAT:
        raise HaloidError(f"{file} has the format {facts.get('format')!r}; expected {FORMAT!r}. Train it again")
    names = tuple(facts["joint_names"])
    network = make_network(len(names), NetworkConfig(**facts["network"]))
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise HaloidError(f"{file} is damaged: its weights do not fit its network ({one_line(error)})") from error
    network.eval()
    base = Base(facts["robot"], facts["clamp"], names, Gains(facts["kp"], facts["kd"]), facts["model"])
    low, high = facts["payload_kg"]
    return Operator(network, base, facts["rate_hz"], (low, high), facts["duration"])


def write_onnx(operator: Operator, file: Path) -> None:
    """observation (batch, size) → delta (batch, joints); its facts are in the file's metadata."""
    import onnx

    size = observation_size(len(operator.joint_names), operator.network.config.history)
    network = operator.network.train()  # in eval, a transformer has a fused layer that ONNX lacks; nothing is random
    inputs = (torch.zeros(2, size),)
    trace_onnx(network, inputs, file, input_names=["observation"], output_names=["delta"], batch=True)
    model = onnx.load(str(file))
    for key, value in operator.facts.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value if isinstance(value, str) else json.dumps(value)
    onnx.save(model, str(file))


def observation_of(
    q_past: np.ndarray, dq_past: np.ndarray, target_past: np.ndarray, payload_kg: np.ndarray
) -> np.ndarray:
    """(B, size) for the ONNX file: histories (B, H, n), the newest frame first, and payloads (B,)."""
    parts = [target_past[:, 0], q_past[:, 0]]
    parts += [past.reshape(len(past), -1) for past in (q_past, dq_past, target_past)]
    return np.concatenate([*parts, payload_kg[:, None]], axis=1).astype(np.float32)
