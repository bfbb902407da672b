"""`haloid demo`: the whole main job on a simulated robot."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro


@dataclass(frozen=True)
class Config:
    """Record a simulated G1 with and without a load, identify it, write a report.

    Example:
        haloid demo -o out/demo
    """

    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("out/demo")
    """Directory to write the recordings and results to."""
    seed: int = 0
    """Seed of the simulated robot and of its sensors' noise."""
