"""Skills, networks by name: what a policy's file says about its architecture, and how to build it again.

In: the name of an architecture and its configuration, plain values both. Out: the network, ready for its parameters.
All networks normalise their observations as rsl_rl does, (x − mean) / (std + ε); what follows is the architecture's
own. Another one is a subclass of `Network` and a line in `ARCHITECTURES`:

    class Gated(Network):
        architecture = "gated"
        def __init__(self, inputs: int, outputs: int, width: int) -> None: ...
        def answer(self, normalised): ...
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import nn

from haloid.errors import HaloidError

NORMALISER_EPSILON = 1e-2
"""rsl_rl's."""


class Network(nn.Module, ABC):
    architecture: ClassVar[str]
    """Its name in a policy's file."""
    mean: torch.Tensor
    std: torch.Tensor

    def __init__(self, inputs: int, **configuration: Any) -> None:
        """`configuration`: all that `__init__` of the subclass takes besides `inputs`, as plain values."""
        super().__init__()
        self.configuration: dict[str, Any] = {"inputs": inputs, **configuration}
        self.register_buffer("mean", torch.zeros(inputs))
        self.register_buffer("std", torch.ones(inputs))

    @abstractmethod
    def answer(self, normalised: torch.Tensor) -> torch.Tensor:
        """(N, outputs) of (N, inputs) normalised observations."""

    @property
    def inputs(self) -> int:
        return self.mean.shape[0]

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return self.answer((observation - self.mean) / (self.std + NORMALISER_EPSILON))


class Mlp(Network):
    """Fully connected layers with ELU between them: rsl_rl's actor."""

    architecture = "mlp"

    def __init__(self, inputs: int, hidden: Sequence[int], outputs: int) -> None:
        super().__init__(inputs, hidden=list(hidden), outputs=outputs)
        widths = [inputs, *hidden, outputs]
        layers: list[nn.Module] = []
        with torch.random.fork_rng(devices=[]):  # saving a policy must not change the random numbers
            for row in range(len(widths) - 1):
                layers += [nn.Linear(widths[row], widths[row + 1]), nn.ELU()]
        self.layers = nn.Sequential(*layers[:-1])

    def answer(self, normalised: torch.Tensor) -> torch.Tensor:
        return self.layers(normalised)


ARCHITECTURES: dict[str, type[Network]] = {Mlp.architecture: Mlp}
"""Those that a policy's file may name."""


class ArchitectureError(HaloidError):
    pass


def build_network(architecture: str, configuration: Mapping[str, Any]) -> Network:
    if architecture not in ARCHITECTURES:
        raise ArchitectureError(
            f"its network is «{architecture}»; this version knows {', '.join(sorted(ARCHITECTURES))}. "
            "Use the version of haloid that wrote it, or add the architecture to ARCHITECTURES in networks.py"
        )
    kind = ARCHITECTURES[architecture]
    try:
        inspect.signature(kind).bind(**configuration)
    except TypeError as error:
        raise ArchitectureError(f"its configuration does not fit the network «{architecture}»: {error}") from error
    return kind(**configuration)


def network_of(actor: Mapping[str, torch.Tensor]) -> Mlp:
    """The network with the parameters of an rsl_rl actor with observation normalisation (`MLPModel.state_dict()`)."""
    rows = sorted(int(name.split(".")[1]) for name in actor if name.startswith("mlp.") and name.endswith(".weight"))
    weights = [actor[f"mlp.{row}.weight"] for row in rows]
    widths = [weights[0].shape[1], *(weight.shape[0] for weight in weights)]
    network = Mlp(widths[0], widths[1:-1], widths[-1])
    network.mean.copy_(actor["obs_normalizer._mean"][0])
    network.std.copy_(actor["obs_normalizer._std"][0])
    linear = [layer for layer in network.layers if isinstance(layer, nn.Linear)]
    with torch.no_grad():
        for layer, row in zip(linear, rows, strict=True):
            layer.weight.copy_(actor[f"mlp.{row}.weight"])
            layer.bias.copy_(actor[f"mlp.{row}.bias"])
    return network.eval()
