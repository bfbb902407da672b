"""Residuals: how far a predicted fragment is from the recorded one.

Two are offered on the same predictions: joint angles, and what further sensors read, divided by their noise, whose sum
of squares is the log-likelihood; and the paper's Cartesian tracking loss (HALO Eqs. 5-7), whose sum of squares is
L_track.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import mujoco
import numpy as np

from haloid.engines.fragments import Fragments
from haloid.engines.sensing.sensors import LEAST_SENSOR_NOISE, SENSORS
from haloid.errors import HaloidError

LEAST_NOISE_RAD = 1e-7
"""Noise-free data is weighted as if it had this much."""


def parse_residuals(entries: Sequence[str]) -> dict[str, float | None]:
    """Further sensors and their noise, where it is told.

    >>> parse_residuals(["torque", "gyro=0.01"])
    {'torque': None, 'gyro': 0.01}
    """
    found: dict[str, float | None] = {}
    for entry in entries:
        name, equals, number = entry.partition("=")
        try:
            noise = float(number) if equals else None
        except ValueError:
            noise = np.nan
        if name not in SENSORS or (noise is not None and not 0 < noise < np.inf):
            raise HaloidError(
                f"the residual '{entry}' cannot be read; expected one of {', '.join(SENSORS)}, or SENSOR=NOISE with a "
                "standard deviation above 0, such as torque=0.2 (N·m) or gyro=0.01 (rad/s)"
            )
        found[name] = noise
    return found


class Residual(Protocol):
    @property
    def unit(self) -> np.ndarray:
        """What each channel is divided by."""
        ...

    def values(self, readings: np.ndarray, fragments: Fragments) -> np.ndarray:
        """(B, R) residuals of predicted readings (B, N + 1, n + s)."""
        ...

    def slope(self, readings: np.ndarray, by: np.ndarray) -> np.ndarray:
        """(B, R, P) derivative of the residuals, from that of the readings (B, N + 1, n + s, P)."""
        ...

    def reweighted(self, readings: np.ndarray, fragments: Fragments, parameters: int, robust: bool) -> Residual:
        """The same residual divided by the noise that these predictions leave, so that it is of unit size."""
        ...


@dataclass(frozen=True)
class JointResidual:
    """(predicted − read) / noise, row 0 included: the first reading is a measurement like any other."""

    noise_rad: np.ndarray
    """(n,) standard deviation of each encoder."""
    least_noise_rad: np.ndarray | float = LEAST_NOISE_RAD
    """No estimate is smaller: what the encoders' steps alone leave unknown."""
    sensor_noise: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """(s,) the same of the fragments' further sensors, in their own units."""
    told: np.ndarray | bool = False
    """(n + s,) noise that is known and not estimated."""

    @property
    def unit(self) -> np.ndarray:
        return np.concatenate([self.noise_rad, self.sensor_noise])

    def values(self, readings: np.ndarray, fragments: Fragments) -> np.ndarray:
        return ((readings - fragments.measured) / self.unit).reshape(len(readings), -1)

    def slope(self, readings: np.ndarray, by: np.ndarray) -> np.ndarray:
        return (by / self.unit[:, None]).reshape(len(by), by.shape[1] * by.shape[2], by.shape[3])

    def reweighted(self, readings: np.ndarray, fragments: Fragments, parameters: int, robust: bool) -> JointResidual:
        n, missed = len(self.noise_rad), readings - fragments.measured
        angles = np.maximum(_scatter(missed[..., :n], parameters, robust), self.least_noise_rad)
        others = np.maximum(_scatter(missed[:, 1:, n:], parameters, robust), LEAST_SENSOR_NOISE)
        size = np.where(self.told, self.unit, np.concatenate([angles, others]))
        return replace(self, noise_rad=size[:n], sensor_noise=size[n:])


class CartesianResidual:
    """Body positions, all links once and the upper body αᵘ times more (HALO Eqs. 5-7), in units of `noise_m`.

    With `noise_m` = √B the sum of squares is L_track itself; another unit scales it, which moves no minimum.
    """

    def __init__(self, model: mujoco.MjModel, upper_links: list[str], upper_weight: float, noise_m: float) -> None:
        self._model = model
        self._data = mujoco.MjData(model)
        self._moves = _moved_by(model)
        self._weight = np.ones(model.nbody - 1)
        for link in upper_links:
            self._weight[model.body(link).id - 1] += upper_weight
        self._scale = np.sqrt(self._weight) / noise_m
        self._recorded: tuple[np.ndarray, np.ndarray] | None = None
        """Readings and their body positions, kept from one call to the next."""

    @property
    def unit(self) -> np.ndarray:
        return 1 / self._scale

    def reweighted(
        self, readings: np.ndarray, fragments: Fragments, parameters: int, robust: bool
    ) -> CartesianResidual:
        values = self.values(readings, fragments).reshape(*readings.shape[:2], -1) / np.repeat(self._scale, 3)
        other = copy.copy(self)
        spread = _scatter(values * np.repeat(np.sqrt(self._weight), 3), parameters, robust)
        other._scale = np.sqrt(self._weight) / max(float(np.sqrt(np.mean(spread**2))), LEAST_NOISE_RAD)
        return other

    def values(self, readings: np.ndarray, fragments: Fragments) -> np.ndarray:
        if self._recorded is None or self._recorded[0] is not fragments.readings:
            self._recorded = fragments.readings, self._positions(fragments.readings)[0]
        difference = self._positions(readings)[0] - self._recorded[1]
        return (difference * self._scale[:, None]).reshape(len(readings), -1)

    def slope(self, readings: np.ndarray, by: np.ndarray) -> np.ndarray:
        position, anchor, axis = self._positions(readings)
        lever = position[..., :, None, :] - anchor[..., None, :, :]
        hinge = self._model.jnt_type[self._model.dof_jntid] == mujoco.mjtJoint.mjJNT_HINGE
        turned = np.cross(np.broadcast_to(axis[..., None, :, :], lever.shape), lever)
        moved = np.where(hinge[:, None], turned, axis[..., None, :, :])
        jacobian = (moved * self._moves[..., None] * self._scale[:, None, None]).swapaxes(-1, -2)
        flat = jacobian.reshape(*jacobian.shape[:2], -1, jacobian.shape[-1])
        return (flat @ by).reshape(len(by), flat.shape[1] * flat.shape[2], by.shape[-1])

    def _positions(self, readings: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """World positions of all links, joint anchors and axes, for readings (B, N + 1, n)."""
        model, data = self._model, self._data
        shape = readings.shape[:2]
        position = np.empty((*shape, model.nbody - 1, 3))
        anchor, axis = np.empty((2, *shape, model.nv, 3))
        joints = model.dof_jntid
        for index in np.ndindex(*shape):
            data.qpos[:] = readings[index]
            mujoco.mj_kinematics(model, data)
            position[index] = data.xpos[1:]
            anchor[index], axis[index] = data.xanchor[joints], data.xaxis[joints]
        return position, anchor, axis


def _scatter(values: np.ndarray, parameters: int, robust: bool) -> np.ndarray:
    """Standard deviation of each channel of (B, N + 1, channels), less the freedom that states and parameters took."""
    count, rows, channels = values.shape
    if not channels:
        return np.zeros(0)
    freedom = max(count * (rows - 2) - parameters / channels, 1.0)
    if robust:
        return np.median(np.abs(values), axis=(0, 1)) / 0.6745 * np.sqrt(count * rows / freedom)
    return np.sqrt(np.sum(values**2, axis=(0, 1)) / freedom)


def _moved_by(model: mujoco.MjModel) -> np.ndarray:
    """(links, dofs) whether a degree of freedom moves a link."""
    moves = np.zeros((model.nbody, model.nv), bool)
    for body in range(1, model.nbody):
        moves[body] = moves[model.body_parentid[body]]
        first = model.body_dofadr[body]
        moves[body, first : first + model.body_dofnum[body]] = True
    return moves[1:]
