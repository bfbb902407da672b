"""A trajectory: the states of one robot over time, and its commands where they are known.

Rows are `rate_hz` apart. Positions and linear velocities of the root are in world axes, its angular velocity in the
root's own axes: MuJoCo's qpos and qvel of a free joint. A robot with a fixed base has no root. A row's target acts from
that row until the next.
"""

from dataclasses import dataclass, field, fields, replace
from typing import Self

import numpy as np


@dataclass(frozen=True)
class Trajectory:
    """(T, n) arrays have their columns in the order of `joint_names`; None: not there, or not known."""

    rate_hz: float
    joint_names: tuple[str, ...]
    joint_pos_rad: np.ndarray
    """(T, n)"""
    root_pos_w_m: np.ndarray | None = None
    """(T, 3) of the root link's origin."""
    root_quat_wxyz: np.ndarray | None = None
    """(T, 4)"""
    joint_vel_rad_s: np.ndarray | None = None
    """(T, n)"""
    root_lin_vel_w_m_s: np.ndarray | None = None
    """(T, 3) of the root link's origin."""
    root_ang_vel_b_rad_s: np.ndarray | None = None
    """(T, 3)"""
    target_rad: np.ndarray | None = None
    """(T, n) position target of the servos, from a row until the next."""

    def __len__(self) -> int:
        return len(self.joint_pos_rad)

    def rows(self, rows: slice | np.ndarray) -> Self:
        """The trajectory in these rows alone."""
        taken = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(self, **{name: value[rows] for name, value in taken.items() if isinstance(value, np.ndarray)})


@dataclass(frozen=True, kw_only=True)
class FloatingTrajectory(Trajectory):
    """Of a robot that moves freely: its root's pose is known."""

    root_pos_w_m: np.ndarray = field()
    root_quat_wxyz: np.ndarray = field()

    def poses(self) -> "FloatingTrajectory":
        """Without velocities and targets, which no longer hold once poses are changed."""
        return FloatingTrajectory(
            rate_hz=self.rate_hz,
            joint_names=self.joint_names,
            joint_pos_rad=self.joint_pos_rad,
            root_pos_w_m=self.root_pos_w_m,
            root_quat_wxyz=self.root_quat_wxyz,
        )
