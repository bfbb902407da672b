"""Pairs: what a robot did and what its simulator makes of the same commands, frame by frame.

A `Pair` is one sequence; a `Dataset` is many of one robot. Row t of `target_rad` is commanded from frame t to t + 1.
The names of the arrays in files are GAPONet's (`real_dof_positions`, …); see `haloid.gap.dataset.files`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from haloid.errors import HaloidError
from haloid.gap.crowd import Base
from haloid.recordings.recording import Recording


@dataclass(frozen=True)
class Motion:
    """One side of a pair: (T, n) each."""

    q_rad: np.ndarray
    dq_rad_s: np.ndarray
    ddq_rad_s2: np.ndarray
    tau_nm: np.ndarray
    """Of the motor, before the gears."""

    def __getitem__(self, rows: slice) -> Motion:
        return Motion(self.q_rad[rows], self.dq_rad_s[rows], self.ddq_rad_s2[rows], self.tau_nm[rows])


@dataclass(frozen=True)
class Pair:
    name: str
    unit: int
    """Which robot of its kind."""
    kind: str
    """"single", "pair" or "whole": how many joints move; "log" of a user's own."""
    rate_hz: float
    payload_kg: float
    """In each hand."""
    moving: np.ndarray
    """(n,) which joints move."""
    target_rad: np.ndarray
    """(T, n)"""
    real: Motion
    sim: Motion
    temperature_c: np.ndarray
    """(T, n) of the real motors; NaN where they were not measured."""

    def __len__(self) -> int:
        return len(self.target_rad)

    def recording(self, base: Base) -> Recording:
        """The real side, as a recording of the robot without what it carries."""
        return Recording(
            name=self.name,
            robot=base.robot,
            clamp=base.clamp,
            joint_names=base.joint_names,
            time_s=np.arange(len(self)) / self.rate_hz,
            q_rad=self.real.q_rad,
            target_rad=self.target_rad,
            kp=np.array([base.gains.kp[name] for name in base.joint_names]),
            kd=np.array([base.gains.kd[name] for name in base.joint_names]),
            dq_rad_s=self.real.dq_rad_s,
            payload=f"{self.payload_kg:g} kg",
        )


@dataclass(frozen=True)
class Dataset:
    base: Base
    pairs: tuple[Pair, ...]
    note: str = ""
    settings: dict = field(default_factory=dict)
    """What it was generated with."""

    @property
    def frames(self) -> int:
        return sum(map(len, self.pairs))

    def of(
        self, *, units: set[int] | None = None, rate_hz: float | None = None, most_kg: float | None = None
    ) -> Dataset:
        """The pairs of these robots, at this rate, with at most this payload."""
        kept = tuple(
            pair
            for pair in self.pairs
            if (units is None or pair.unit in units)
            and (rate_hz is None or pair.rate_hz == rate_hz)
            and (most_kg is None or pair.payload_kg <= most_kg + 1e-9)
        )
        if not kept:
            there = {name: sorted({getattr(p, name) for p in self.pairs}) for name in ("unit", "rate_hz", "payload_kg")}
            raise HaloidError(
                f"no sequence of the dataset fits (robots {sorted(units) if units else 'all'}, rate "
                f"{rate_hz or 'any'}, payload up to {'any' if most_kg is None else f'{most_kg:g} kg'}); it has robots "
                f"{there['unit']}, rates {there['rate_hz']} Hz and payloads {there['payload_kg']} kg"
            )
        return replace(self, pairs=kept)


def q_dis_rad(sim_rad: np.ndarray, real_rad: np.ndarray) -> np.ndarray:
    """(n,) the area between two trajectories (T, n) for each second: GAPONet's Q_dis, whatever the rate."""
    return np.mean(np.abs(sim_rad - real_rad), axis=0)
