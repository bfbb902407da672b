"""The networks: GAPONet's operator, and the two it is compared with (and sticking.py, for a handful of logs).

In: an observation for each robot (features.py). Out: the delta action of every joint, rad. The paper's Eq. 1 to 4:

    sensors  x = predictor(q, history)                 responses of the simulator to 20 probe commands
    branch   B(x), n·16 numbers;  trunk  T(payload, command), n·16 numbers
    Δa_j = Σ_i B_ij·T_ij                               16 products for each joint

By default every joint has a predictor and a branch of its own, which see what that joint does and nothing of the
others; what it carries comes by the trunk, from the whole arm's command and the payload. A motor's gap is its own: a
branch that sees all joints learns by heart what the others did meanwhile, which is not so on another robot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from haloid.gap.operator.features import Features
from haloid.gap.operator.sticking import Sticking
from haloid.setting_limits import check_settings

Kind = Literal["gaponet", "mlp", "transformer", "sticking"]
Branch = Literal["joint", "both", "sensors"]
PRODUCTS = 16
PROBES = 20


@dataclass(frozen=True)
class NetworkConfig:
    """What the operator is made of."""

    kind: Kind = "gaponet"
    """GAPONet's operator, an MLP as in ASAP, a transformer over the history, or a few numbers for each joint."""
    history: int = 4
    """Frames of state and command that it sees, the present one included."""
    payload: bool = True
    """Whether it sees the payload (GAPONet: in the trunk)."""
    branch: Branch = "joint"
    """What GAPONet's branch sees: of each joint by itself its sensors and the history that they are predicted from,
    both of all joints, or, as the paper has it, the sensors of all joints alone."""
    sensors: Literal["change", "state"] = "change"
    """What the sensor predictor predicts for a probe: the change of the state in one step, or the state after it."""

    def __post_init__(self) -> None:
        check_settings(self, {"history": (1, 100)})


class GapOperator(nn.Module):
    """GAPONet."""

    def __init__(self, joints: int, config: NetworkConfig) -> None:
        super().__init__()
        self.config, self.joints = config, joints
        self.features = Features(joints, config.history)
        if config.branch == "joint":
            known = 1 + 3 * config.history
            self.predictor = _each_its_own(joints, known, (32,), 2 * PROBES)
            self.branch = _each_its_own(joints, 2 * PROBES + known, (64, 64), PRODUCTS)
        else:
            known = joints + 3 * joints * config.history
            seen = PROBES * 2 * joints + (known if config.branch == "both" else 0)
            self.predictor = _mlp(known, (128, 128), PROBES * 2 * joints)
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
        responses = self.predictor(self._known(q, history))
        if self.config.branch == "joint":
            responses = responses.unflatten(2, (PROBES, 2)).permute(0, 2, 3, 1).flatten(1)
        return responses

    def _known(self, q: torch.Tensor, history: torch.Tensor) -> torch.Tensor:
        """(B, n + 3nH), or (B, n, 1 + 3H) for each joint by itself."""
        if self.config.branch == "joint":
            return torch.cat([q[..., None], history.permute(0, 3, 1, 2).flatten(2)], dim=2)
        return torch.cat([q, history.flatten(1)], dim=1)

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        target, q, history, payload = self.features(observation)
        known = self._known(q, history)
        responses = self.predictor(known)
        seen = responses if self.config.branch == "sensors" else torch.cat([responses, known], dim=-1)
        query = torch.cat([target, payload], dim=1) if self.config.payload else target
        products = self.branch(seen).flatten(1) * self.trunk(query)
        return self.features.bounded(products.reshape(-1, self.joints, PRODUCTS).sum(dim=2))


class _Lanes(nn.Module):
    """A linear layer for each joint, side by side: (B, n, inputs) → (B, n, outputs)."""

    def __init__(self, joints: int, inputs: int, outputs: int) -> None:
        super().__init__()
        most = inputs**-0.5  # as torch's own linear layers begin
        self.weight = nn.Parameter(torch.empty(joints, inputs, outputs).uniform_(-most, most))
        self.bias = nn.Parameter(torch.empty(joints, 1, outputs).uniform_(-most, most))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return (torch.matmul(values.transpose(0, 1), self.weight) + self.bias).transpose(0, 1)


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


def _each_its_own(joints: int, inputs: int, hidden: tuple[int, ...], outputs: int) -> nn.Sequential:
    """As _mlp, one for each joint."""
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [_Lanes(joints, inputs, width), nn.ELU()]
        inputs = width
    return nn.Sequential(*layers, _Lanes(joints, inputs, outputs))
