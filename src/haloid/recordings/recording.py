"""Recording: one run of one robot, what was commanded and what the encoders said (formats: haloid-recording-1).

Arrays never travel without `joint_names`: every `(T, n)` array's columns are in that order, which is the order
of the robot model's actuated joints.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from haloid.recordings.encoder_step import encoder_steps_rad, quantisation_noise_rad
from haloid.recordings.steadiness import is_steady


@dataclass(frozen=True, repr=False)
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
    encoder_step_rad: np.ndarray | None = None
    """(n,) the grid of the encoders, where readings were resampled and no longer lie on it; None: as readings show."""
    extra: dict[str, np.ndarray] = field(default_factory=dict)
    """Further numeric columns of the file, kept and ignored."""
    source: Path | None = None
    """The file it was read from."""

    @property
    def control_dt_s(self) -> float:
        """The control period: the median time between rows."""
        return float(np.median(np.diff(self.time_s)))

    @property
    def is_even(self) -> bool:
        """Whether rows are a control period apart; else their times are as uneven as `time_s` says."""
        return is_steady(np.diff(self.time_s), self.control_dt_s)

    @property
    def least_noise_rad(self) -> np.ndarray:
        """(n,) what the encoders' step alone leaves unknown; 0 where readings are not quantised."""
        known = self.encoder_step_rad
        return quantisation_noise_rad(encoder_steps_rad(self.q_rad) if known is None else known)

    @property
    def title(self) -> str:
        """What messages call it: its file's name, where it is from a file."""
        return self.name if self.source is None else self.source.name

    def __repr__(self) -> str:
        return (
            f"Recording({self.name!r}, robot {self.robot!r}, clamp {self.clamp!r}, payload {self.payload!r}, "
            f"{len(self.time_s)} rows at {1 / self.control_dt_s:.4g} Hz)"
        )
