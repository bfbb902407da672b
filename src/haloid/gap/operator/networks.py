"""The networks: GAPONet's operator, and the two it is compared with (and sticking.py, for a handful of logs).

In: an observation for each robot, [target, q, H × q, H × dq, H × target (the newest frame first), payload]. Out: the
delta action of every joint, rad. The paper's Eq. 1 to 4:

    sensors  x = predictor(q, history)                 responses of the simulator to 20 probe commands
    branch   B(x), n·16 numbers;  trunk  T(payload, command), n·16 numbers
    Δa_j = Σ_i B_ij·T_ij                               16 products for each joint

No network asks for more than twice what any frame of its data did: a correction that feeds on its own mistakes stays
one. What lies beyond the data is seen at its edge: an arm that reaches where no log did is corrected as at the border.

All networks see the same features of the observation: q, and for each frame of the history how far it was from q, its
velocity (finer near 0) and its servo error (target − q), each divided by its spread in the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from haloid.gap.operator.sticking import Sticking

Kind = Literal["gaponet", "mlp", "transformer", "sticking"]
PRODUCTS = 16
PROBES = 20
PAYLOAD_UNIT_KG = 3.0
LEAST_BOUND_RAD = 0.05
"""What a joint may be corrected by even if its data asked for nothing."""
SLOW_RAD_S = 0.03
"""Friction turns at speeds like this: velocities are seen as ±log(1 + |dq| / SLOW_RAD_S)."""


@dataclass(frozen=True)
class NetworkConfig:
    """What the operator is made of."""

    kind: Kind = "gaponet"
    """GAPONet's operator, an MLP as in ASAP, a transformer over the history, or a few numbers for each joint."""
    history: int = 4
    """Frames of state and command that it sees, the present one included."""
    payload: bool = True
    """Whether it sees the payload (GAPONet: in the trunk)."""
    branch: Literal["both", "sensors"] = "both"
    """What GAPONet's branch sees: the sensors and the history that they are predicted from, or the sensors alone."""
    sensors: Literal["change", "state"] = "change"
    """What the sensor predictor predicts for a probe: the change of the state in one step, or the state after it."""


class Features(nn.Module):
    """The observation as the networks see it."""

    spread: torch.Tensor
    most_rad: torch.Tensor
    least: torch.Tensor
    most: torch.Tensor

    def __init__(self, joints: int, history: int) -> None:
        super().__init__()
        self.joints, self.history = joints, history
        self.register_buffer("spread", torch.ones(4, joints))
        self.register_buffer("most_rad", torch.ones(joints))
        size = 2 * joints + 3 * joints * history
        self.register_buffer("least", torch.full((size,), -1e9))
        self.register_buffer("most", torch.full((size,), 1e9))

    def bounded(self, delta_rad: torch.Tensor) -> torch.Tensor:
        """most·tanh(x / most)"""
        return self.most_rad * torch.tanh(delta_rad / self.most_rad)

    def fit(self, observation: torch.Tensor, labels_rad: torch.Tensor) -> None:
        """Takes the spread of q, past motion, velocity and servo error from data; a still joint keeps a least one.

        Bounds are twice the largest delta action (K, n) that the data asks for.
        """
        self.most_rad[:] = torch.clamp(2 * labels_rad.abs().amax(0), min=LEAST_BOUND_RAD)
        self.spread[:] = 1.0
        _, q, history = self.split(observation)
        least = torch.tensor([0.3, 0.005, 0.5, 0.01])
        for i, values in enumerate((q - q.mean(0), history[:, 1:, 0], history[:, :, 1], history[:, :, 2])):
            self.spread[i] = torch.clamp(values.reshape(-1, self.joints).std(0), min=float(least[i]))
        seen = self._scaled(observation)
        self.least[:], self.most[:] = seen.amin(0), seen.amax(0)

    def split(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """(B, n) target, (B, n) q and (B, H, 3, n) history, relative and not yet scaled."""
        n, h = self.joints, self.history
        target, q = observation[:, :n], observation[:, n : 2 * n]
        past = observation[:, 2 * n : 2 * n + 3 * n * h].reshape(-1, 3, h, n)
        q_past, dq_past, target_past = past[:, 0], past[:, 1], past[:, 2]
        fine = torch.sign(dq_past) * torch.log1p(torch.abs(dq_past) / SLOW_RAD_S)
        return target, q, torch.stack([q_past - q[:, None], fine, target_past - q_past], dim=2)

    def _scaled(self, observation: torch.Tensor) -> torch.Tensor:
        """(B, 2n + 3nH) target, q and history, each in units of its spread."""
        target, q, history = self.split(observation)
        return torch.cat([target / self.spread[0], q / self.spread[0], (history / self.spread[1:]).flatten(1)], dim=1)

    def forward(self, observation: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """The scaled target, q, history (B, H, 3, n), all no further than the data, and payload (B, 1)."""
        n = self.joints
        seen = torch.clamp(self._scaled(observation), self.least, self.most)
        history = seen[:, 2 * n :].reshape(-1, self.history, 3, n)
        return seen[:, :n], seen[:, n : 2 * n], history, observation[:, -1:] / PAYLOAD_UNIT_KG


class GapOperator(nn.Module):
    """GAPONet."""

    def __init__(self, joints: int, config: NetworkConfig) -> None:
        super().__init__()
        self.config, self.joints = config, joints
        self.features = Features(joints, config.history)
        known = joints + 3 * joints * config.history
        self.predictor = _mlp(known, (128, 128), PROBES * 2 * joints)
        seen = PROBES * 2 * joints + (known if config.branch == "both" else 0)
        self.branch = _mlp(seen, (256, 256, 256), joints * PRODUCTS)
        self.trunk = _mlp(joints + int(config.payload), (128, 128, 128), joints * PRODUCTS)
        last = self.trunk[-1]
        assert isinstance(last, nn.Linear)
        nn.init.uniform_(last.weight, -0.003, 0.003)
        nn.init.uniform_(last.bias, -0.003, 0.003)

    @property
    def parts(self) -> tuple[nn.Sequential, nn.Sequential, nn.Sequential]:
        """Sensor predictor, branch and trunk."""
        return self.predictor, self.branch, self.trunk

    def sensors(self, observation: torch.Tensor) -> torch.Tensor:
        """(B, 20·2n) the predicted responses, in units of their spread."""
        _, q, history, _ = self.features(observation)
        return self.predictor(torch.cat([q, history.flatten(1)], dim=1))

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        target, q, history, payload = self.features(observation)
        known = torch.cat([q, history.flatten(1)], dim=1)
        responses = self.predictor(known)
        seen = torch.cat([responses, known], dim=1) if self.config.branch == "both" else responses
        query = torch.cat([target, payload], dim=1) if self.config.payload else target
        products = self.branch(seen) * self.trunk(query)
        return self.features.bounded(products.reshape(-1, self.joints, PRODUCTS).sum(dim=2))


class Mlp(nn.Module):
    """ASAP's delta action model, with the sizes of GAPONet's baseline."""

    def __init__(self, joints: int, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        self.features = Features(joints, config.history)
        self.layers = _mlp(2 * joints + 3 * joints * config.history + int(config.payload), (1000, 200), joints)
        _start_small(self.layers)

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        target, q, history, payload = self.features(observation)
        known = [target, q, history.flatten(1), *([payload] if self.config.payload else [])]
        return self.features.bounded(self.layers(torch.cat(known, dim=1)))


class Transformer(nn.Module):
    """Attention over the frames of the history."""

    def __init__(self, joints: int, config: NetworkConfig, width: int = 64) -> None:
        super().__init__()
        self.config = config
        self.features = Features(joints, config.history)
        self.embed = nn.Linear(3 * joints, width)
        self.place = nn.Parameter(0.02 * torch.randn(config.history + 1, width))
        self.now = nn.Linear(2 * joints + int(config.payload), width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = _mlp(width, (128,), joints)
        _start_small(self.out)

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        target, q, history, payload = self.features(observation)
        now = self.now(torch.cat([target, q, *([payload] if self.config.payload else [])], dim=1))
        tokens = torch.cat([now[:, None], self.embed(history.flatten(2))], dim=1) + self.place
        return self.features.bounded(self.out(self.encoder(tokens)[:, 0]))


Learned = GapOperator | Mlp | Transformer
Network = Learned | Sticking
_KINDS = {"gaponet": GapOperator, "mlp": Mlp, "transformer": Transformer, "sticking": Sticking}


def make_network(joints: int, config: NetworkConfig) -> Network:
    return _KINDS[config.kind](joints, config)


def observation_size(joints: int, history: int) -> int:
    """20 + 30·H of the paper's ten joints, and the payload."""
    return 2 * joints + 3 * joints * history + 1


def observe(
    q_past: torch.Tensor, dq_past: torch.Tensor, target_past: torch.Tensor, payload_kg: torch.Tensor
) -> torch.Tensor:
    """Observations of histories (B, H, n), the newest frame first, and payloads (B,)."""
    parts = [target_past[:, 0], q_past[:, 0], q_past.flatten(1), dq_past.flatten(1), target_past.flatten(1)]
    return torch.cat([*parts, payload_kg[:, None]], dim=1)


def _mlp(inputs: int, hidden: tuple[int, ...], outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(inputs, width), nn.ELU()]
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, outputs))


def _start_small(layers: nn.Sequential) -> None:
    """A first guess of nearly no correction."""
    last = layers[-1]
    assert isinstance(last, nn.Linear)
    nn.init.uniform_(last.weight, -0.003, 0.003)
    nn.init.zeros_(last.bias)
