"""The settings that the benchmarks on simulated robots share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Say = Callable[[str], None]


@dataclass(frozen=True)
class Sizes:
    """How much is generated and trained."""

    sequences: int = 600
    """Of all four robots; a quarter is of the one that is tested."""
    frames: int = 120
    iterations: int = 300
    """Of training through the simulator."""
    label_epochs: int = 6
    calibrated_with: int = 48
    """Sequences that the parameters are fitted to."""
    seed: int = 0
    """Each seed has robots and motions of its own."""
    work: Path = Path("out/bench/gaponet")
    """Folder for pairs and operators; what is there with the same settings is not made again."""
