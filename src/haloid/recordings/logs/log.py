"""A log: what a robot wrote, before states and commands share a clock. Every reader ends here.

States and commands are separate streams with times of their own, in s on one recorder's clock; they may be late, lost
or duplicated. `align` puts them on one grid.
"""

import importlib
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import numpy as np

from haloid.errors import HaloidError
from haloid.extras import install_command


class MissingPackageError(HaloidError):
    def __init__(self, package: str, what: str):
        super().__init__(
            f"Reading {what} needs the package '{package}', which is not installed. "
            f"Install the packages of all log formats with: {install_command('logs')}"
        )


def optional_package(module: str, package: str, what: str) -> ModuleType:
    """The module of a package of the extra `logs`."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackageError(package, what) from error


@dataclass(frozen=True)
class States:
    """What the encoders said."""

    time_s: np.ndarray
    """(S,) when the recorder received it."""
    q_rad: np.ndarray
    """(S, n)"""
    dq_rad_s: np.ndarray | None = None
    tau_nm: np.ndarray | None = None
    """(S, n) the drives' own estimate of their torque."""
    tick_ms: np.ndarray | None = None
    """(S,) the robot's own clock."""


@dataclass(frozen=True)
class Commands:
    """What was commanded, each held until the next."""

    time_s: np.ndarray
    """(C,)"""
    target_rad: np.ndarray | None
    """(C, n) position targets; None in torque mode."""
    kp: np.ndarray | None = None
    """(C, n) N·m/rad, where the log has gains."""
    kd: np.ndarray | None = None
    tau_nm: np.ndarray | None = None
    """(C, n) commanded torques, in torque mode."""
    driven: np.ndarray | None = None
    """(C,) whether every joint was driven; None: all were."""


@dataclass(frozen=True)
class Log:
    source: Path
    joint_names: tuple[str, ...]
    """The order of all columns."""
    states: States
    commands: Commands
    notes: list[str] = field(default_factory=list)
    """What a user should know: what was salvaged, how targets were made."""
