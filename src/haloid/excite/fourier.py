"""Windowed Fourier series: every motion of a band that starts and ends at rest, linear in its coefficients.

q(t) = middle + w(t)·Σ_k (a_k·sin(2π k t / T) + b_k·cos(2π k t / T)), T the length of the motion, k from the lowest to
the highest frequency of the excitation's band, w the quintic ramps that a multi-sine has as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haloid.errors import HaloidError
from haloid.lab.excitation import Excitation, Reference, window


@dataclass(frozen=True)
class FourierSeries:
    """Coefficients (2K, n) to positions, velocities and accelerations: one matrix for each."""

    time_s: np.ndarray
    basis: np.ndarray
    """(3, T, 2K): the windowed sines and cosines and their first and second time derivatives."""

    @classmethod
    def of(cls, excitation: Excitation, control_dt_s: float) -> FourierSeries:
        duration_s = excitation.duration_s
        first, last = np.ceil(excitation.lowest_hz * duration_s), np.floor(excitation.highest_hz * duration_s)
        if last < max(first, 1):
            raise HaloidError(
                f"{duration_s:g} s hold no whole period between {excitation.lowest_hz:g} and "
                f"{excitation.highest_hz:g} Hz; make the motion longer or the band wider"
            )
        time_s = np.arange(round(duration_s / control_dt_s)) * control_dt_s
        omega = 2 * np.pi * np.arange(max(first, 1), last + 1) / duration_s
        sine, cosine = np.sin(time_s[:, None] * omega), np.cos(time_s[:, None] * omega)
        value = np.hstack([sine, cosine])
        rate = np.hstack([omega * cosine, -omega * sine])
        change = -(np.tile(omega, 2) ** 2) * value
        w, dw, ddw = (column[:, None] for column in window(time_s, duration_s, excitation.ramp_s))
        return cls(time_s, np.array([w * value, dw * value + w * rate, ddw * value + 2 * dw * rate + w * change]))

    @property
    def count(self) -> int:
        """2K, the coefficients of a joint."""
        return self.basis.shape[2]

    def reference(self, joint_names: tuple[str, ...], middle_rad: np.ndarray, coefficients: np.ndarray) -> Reference:
        q_rad, dq_rad_s, ddq_rad_s2 = self.basis @ coefficients
        return Reference(joint_names, self.time_s, middle_rad + q_rad, dq_rad_s, ddq_rad_s2)
