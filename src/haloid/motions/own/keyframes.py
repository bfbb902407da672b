"""Own motions, the plan: what pelvis, feet, arms and the zero-moment point do, as keys over time.

In: keys, (time, value). Out: a `Plan`, which `balance.py` turns into frames, and its curves: quintic between keys, with
the slopes of monotone interpolation and no acceleration at the keys, so that velocity is smooth and holds are at rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import mujoco
import numpy as np
from scipy.interpolate import BPoly, PchipInterpolator

from haloid.robots.description import Robot
from haloid.robots.sole import sole_points_in_foot_m

FPS = 50.0
_MICRON = 6
"""Decimals of a length in m: sole points come from sums of floating-point numbers."""

Keys = Sequence[tuple[float, float | Sequence[float]]]
"""(time in s, value or values) in order of time."""


def curve(keys: Keys | np.ndarray, times_s: np.ndarray) -> np.ndarray:
    """(T, n) values through the keys, twice continuously differentiable, constant outside them.

    An array is a curve already, one row for each time.
    """
    if isinstance(keys, np.ndarray):
        return keys
    at = np.array([key[0] for key in keys])
    values = np.array([np.atleast_1d(key[1]) for key in keys], float)
    if len(at) == 1:
        return np.repeat(values, len(times_s), axis=0)
    slopes = PchipInterpolator(at, values).derivative()(at)
    slopes[[0, -1]] = 0.0
    known = np.stack([values, slopes, np.zeros_like(values)], axis=1)
    return BPoly.from_derivatives(at, known)(np.clip(times_s, at[0], at[-1]))


def both(**angles_rad: float) -> dict[str, float]:
    """Joint angles of both sides from the left one's: `both(elbow=1)`; roll and yaw are mirrored."""
    return one("left", **angles_rad) | one("right", **angles_rad)


def one(side: str, **angles_rad: float) -> dict[str, float]:
    """Joint angles of one side, given as the left side's: roll and yaw are mirrored on the right."""
    mirrored = -1.0 if side == "right" else 1.0
    return {
        f"{side}_{name}_joint": angle * (mirrored if name.endswith(("roll", "yaw")) else 1.0)
        for name, angle in angles_rad.items()
    }


def times_of(duration_s: float) -> np.ndarray:
    return np.arange(round(duration_s * FPS) + 1) / FPS


@dataclass(frozen=True)
class Stand:
    """How a robot stands: what every own motion begins and ends with."""

    robot: Robot
    model: mujoco.MjModel

    @property
    def height_m(self) -> float:
        """Of the pelvis."""
        return self.robot.standing_height_m

    @property
    def half_width_m(self) -> float:
        """Of the left foot from the middle; the right one's is its negative."""
        return self.robot.stance_half_width_m

    @property
    def arms(self) -> dict[str, float]:
        """Angles of the arms' joints, by joint."""
        return {joint: self.robot.standing_pose.get(joint, 0.0) for arm in self.robot.arms.values() for joint in arm}

    def foot(self, side: str) -> np.ndarray:
        """Position and roll, pitch, yaw of a foot on the ground; the middle of the soles is the world's origin."""
        centre = sole_points_in_foot_m(self.model, self.model.body(self.robot.feet[side]).id)[0]
        ahead_m, _, below_m = centre.round(_MICRON)
        across_m = self.half_width_m if side == "left" else -self.half_width_m
        return np.array([-ahead_m, across_m, -below_m, 0.0, 0.0, 0.0])


@dataclass(frozen=True)
class FreeLeg:
    """A leg that leaves its foot's path: from the first key to the last, its joints are keyed instead."""

    side: str
    keys: Sequence[tuple[float, dict[str, float] | None]]
    """(time, angles by joint name); None, and joints not named, are as the leg was at the first key. The leg and the
    pelvis must be at rest, and in the same pose, at the first and the last."""


@dataclass(frozen=True)
class Plan:
    """What a motion does, curve by curve; what is not given stays as in standing."""

    duration_s: float
    zmp_xy_m: Keys = ((0.0, (0.0, 0.0)),)
    height_m: Keys | np.ndarray | None = None
    """Of the pelvis' origin, or of the centre of mass if `height_is_com`; None: as in standing."""
    height_is_com: bool = False
    flight_s: tuple[float, float] | None = None
    """From take-off to landing; in between the ground bears nothing."""
    pelvis_rpy_rad: Keys | np.ndarray = ((0.0, (0.0, 0.0, 0.0)),)
    """Roll, pitch and yaw: Rz(yaw) Ry(pitch) Rx(roll)."""
    feet: dict[str, np.ndarray] = field(default_factory=dict)
    """By side, (T, 6): position and roll, pitch, yaw of the foot's link."""
    joints: Sequence[tuple[float, dict[str, float]]] = ()
    """Keys of arms and waist, (time, angles by joint name); a joint that a key does not name stays as before, and one
    that the robot lacks is passed over."""
    free_leg: FreeLeg | None = None
