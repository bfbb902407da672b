"""The one small interface of all engines: roll fragments out, and differentiate the readings that are predicted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from haloid.engines.fragments import Fragments
from haloid.engines.physics import Column, Physics
from haloid.engines.simulate import Simulator


@dataclass(frozen=True)
class Sensitivities:
    """Predicted readings at the control rows and their derivatives: n encoders, then the fragments' further sensors."""

    readings: np.ndarray
    """(B, N + 1, n + s)"""
    by_parameter: np.ndarray
    """(B, N + 1, n + s, P)"""
    by_state: np.ndarray
    """(B, N + 1, n + s, 2n): w.r.t. the initial encoder readings and velocities."""


class Engine(ABC):
    """Predicts what the sensors of a simulated robot read, from initial readings `q0` and velocities `v0` (B, n)."""

    name: str
    forks: bool = False
    """Whether copies of it in forked processes may share the work; otherwise it uses all cores by itself."""
    reverse: bool = False
    """Whether it has a gradient that is cheaper than its Jacobian."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator

    def predict(self, physics: Physics, fragments: Fragments, q0: np.ndarray, v0: np.ndarray) -> np.ndarray:
        """(B, N + 1, n + s) predicted readings of the encoders and the fragments' further sensors."""
        return self.simulator.readings([physics], fragments, q0[None], v0[None])[0]

    def predict_many(
        self, physics: Sequence[Physics], fragments: Fragments, q0: np.ndarray, v0: np.ndarray
    ) -> list[np.ndarray]:
        """The same for several parameter values; `q0`, `v0` are (K, B, n)."""
        return self.simulator.readings(physics, fragments, q0, v0)

    @abstractmethod
    def jacobian(
        self, physics: Physics, columns: list[Column], fragments: Fragments, q0: np.ndarray, v0: np.ndarray
    ) -> Sensitivities:
        """The readings with their derivatives w.r.t. the columns and the initial state."""

    def gradient(
        self,
        physics: Physics,
        columns: list[Column],
        fragments: Fragments,
        q0: np.ndarray,
        v0: np.ndarray,
        by_readings: Callable[[np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """(P,) derivative of a function of the readings w.r.t. the columns, from that w.r.t. the readings, (B, N +
        1, n)."""
        found = self.jacobian(physics, columns, fragments, q0, v0)
        return np.einsum("btn,btnp->p", by_readings(found.readings), found.by_parameter)
