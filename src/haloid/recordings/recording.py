"""Recording: one run of one robot, what was commanded and what the encoders said (formats: haloid-recording-1).

Arrays never travel without `joint_names`: every `(T, n)` array's columns are in that order, which is the order
of the robot model's actuated joints.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Recording:
    name: str
    robot: str
    """A known robot's name, or the absolute path of an MJCF or URDF file."""
    clamp: str | None
    """The link held fixed in the world; None: the model as it is (a fixed-base arm)."""
    joint_names: tuple[str, ...]
    time_s: np.ndarray
    """(T,)"""
    q_rad: np.ndarray
    """(T, n) encoder readings at `time_s`."""
    target_rad: np.ndarray | None = None
    """(T, n) position target applied from a row's time until the next row; None in torque mode."""
    kp: np.ndarray | None = None
    """N·m/rad, (n,) constant or (T, n) per step; None in torque mode."""
    kd: np.ndarray | None = None
    """N·m·s/rad, (n,) constant or (T, n) per step; None in torque mode."""
    dq_rad_s: np.ndarray | None = None
    """(T, n) measured velocity, where there is one."""
    tau_nm: np.ndarray | None = None
    """(T, n) torque applied from a row's time until the next row; required in torque mode."""
    support: str = "single"
    """"single": nothing but the clamp touches the world; "double": the other foot rests on the floor."""
    actuation: str = "position"
    """"position" or "torque"."""
    payload: str = "unknown"
    """"none", "unknown" or free text."""
    note: str = ""
    clamp_pose: np.ndarray | None = None
    """(7,) xyz + wxyz pose of the clamped link in the world; None: as in the model's zero configuration."""
    extra: dict[str, np.ndarray] = field(default_factory=dict)
    """Further numeric columns of the file, kept and ignored."""
    source: Path | None = None
    """The file it was read from."""

    @property
    def control_dt_s(self) -> float:
        """The control period: the median time between rows."""
        return float(np.median(np.diff(self.time_s)))
