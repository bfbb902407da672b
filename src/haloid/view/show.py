"""What there is to see: one robot's shapes, poses of it over time, curves of its joints, and what it carries.

Every source (recorded.py, identified.py, …) makes a `Show`; every outlet (browser.py, page.py, film.py) takes one.
"""

from dataclasses import dataclass, field

import mujoco
import numpy as np

from haloid.report.pictures.loads import Load
from haloid.report.quantities import with_error_bar


@dataclass(frozen=True)
class Show:
    title: str
    about: tuple[str, ...]
    """Facts, one per line."""
    model: mujoco.MjModel
    """Its shapes and its tree; all poses are of it."""
    time_s: np.ndarray
    """(T,) from 0."""
    robots: dict[str, np.ndarray]
    """By name, (T, nq): robots to choose from; the first is shown at first."""
    joint_names: tuple[str, ...]
    curves_rad: dict[str, np.ndarray]
    """By name, (T, n) in the order of `joint_names`."""
    ghost: tuple[str, np.ndarray] | None = None
    """Name and (T, nq) of a robot to compare with; its curve has its name."""
    loads: tuple[Load, ...] = ()
    loaded: tuple[str, ...] = field(default=())
    """Names of the robots that carry the loads."""

    @property
    def first_robot(self) -> str:
        return next(iter(self.robots))

    @property
    def duration_s(self) -> float:
        return float(self.time_s[-1])

    def row_at(self, time_s: float) -> int:
        return int(np.clip(np.searchsorted(self.time_s, time_s + 1e-9, side="right") - 1, 0, len(self.time_s) - 1))

    def load_lines(self) -> list[str]:
        """Each load with its error bar and its place."""
        return [f"{with_error_bar(load.mass_kg, load.half95_kg)} kg at {load.link}" for load in self.loads]

    def liveliest_joint(self) -> str:
        """Where the robots are furthest from the ghost; without one, the joint that moves the most."""
        curves = dict(self.curves_rad)
        measured = curves.pop(self.ghost[0], None) if self.ghost is not None else None
        ranges = [np.ptp(curve if measured is None else curve - measured, axis=0) for curve in curves.values()]
        return self.joint_names[int(np.argmax(np.max(ranges, axis=0)))]


def poses_of(model: mujoco.MjModel, joint_names: tuple[str, ...], angles_rad: np.ndarray) -> np.ndarray:
    """(T, nq) of a fixed-base model with its named joints at (T, n) angles; others where the model has them."""
    qpos = np.tile(model.qpos0, (len(angles_rad), 1))
    qpos[:, [model.joint(name).qposadr[0] for name in joint_names]] = angles_rad
    return qpos
