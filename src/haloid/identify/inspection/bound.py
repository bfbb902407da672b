"""The Cramér–Rao bound: what a recording can tell about the payload links, at best.

In: a recording without noise, with velocities, and the true parameters. Out: the covariance no unbiased estimate can
beat, the inverse Fisher information of the fragments that an identification would cut, at the true parameters and
states, every fragment's initial state unknown. Of a payload that is a body, the inertia is unknown within its size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from haloid.engines.analytic import AnalyticEngine
from haloid.engines.physics import Physics
from haloid.errors import HaloidError
from haloid.identify.data.dataset import build_simulator, prepare
from haloid.identify.problem.body import inertia_information
from haloid.identify.problem.problem import Problem, StatePrior
from haloid.identify.problem.residuals import JointResidual
from haloid.identify.problem.unknowns import Prior, Unknowns, choose_columns
from haloid.identify.settings import Settings, payload_patterns
from haloid.recordings.recording import Recording
from haloid.robots.inertia import LinkParameters

_BLIND = 1e-12
"""Eigenvalue of the scaled information, relative to the largest, that counts as zero."""
_FREE = 1e6
"""Standard deviation of an initial state about which nothing is known: rad, rad/s."""


@dataclass(frozen=True)
class Bound:
    """The best that can be known; arrays are in the order of `names`."""

    names: tuple[str, ...]
    """Such as torso_link.com.x."""
    truth: np.ndarray
    """kg, m"""
    covariance: np.ndarray

    @property
    def std(self) -> np.ndarray:
        return np.sqrt(np.diag(self.covariance))

    @property
    def without_inertia(self) -> Bound:
        """Of the masses and CoMs, their inertias as unknown as they are."""
        kept = [i for i, name in enumerate(self.names) if ".inertia." not in name]
        names = tuple(self.names[i] for i in kept)
        return Bound(names, self.truth[kept], self.covariance[np.ix_(kept, kept)])

    @property
    def volume_per_parameter(self) -> float:
        return volume_per_parameter(self.covariance)


def volume_per_parameter(covariance: np.ndarray) -> float:
    """(det covariance)^(1/2p): the radius of a ball as large as the uncertainty ellipsoid of p parameters."""
    unit = np.sqrt(np.diag(covariance))
    _, log_det = np.linalg.slogdet(covariance / np.outer(unit, unit))
    return float(np.exp(np.mean(np.log(unit)) + log_det / (2 * len(unit))))


def cramer_rao_bound(
    clean: Recording, true_links: Mapping[str, LinkParameters], settings: Settings, noise_rad: float
) -> Bound:
    """The bound for `settings`' payload parameters, all other parameters known."""
    if clean.dq_rad_s is None:
        raise HaloidError(
            f"{clean.name} has no velocities; the bound is taken at the true states, so record it with velocities and "
            "without noise"
        )
    simulator = build_simulator(clean, settings.timestep_s)
    nominal = simulator.nominal
    columns = choose_columns(nominal, payload_patterns(settings))
    physics = _with_links(nominal, true_links)
    truth = physics.values(columns)
    by_size = inertia_information(nominal, physics, columns, settings.payload_size_m)
    unknowns = Unknowns(physics, columns, Prior(truth, by_size))
    dataset = prepare(
        [clean], simulator, rows=settings.rows, fragments_per_recording=settings.fragments, held_out_share=0.0
    )
    fragments = dataset.fragments
    assert fragments.velocities is not None
    states = np.concatenate([fragments.readings[:, 0], fragments.velocities[:, 0]], axis=1)
    problem = Problem(
        engine=AnalyticEngine(simulator),
        fragments=fragments,
        unknowns=unknowns,
        residual=JointResidual(np.full(len(nominal.joints), noise_rad)),
        states=StatePrior(states, np.full(states.shape[1], _FREE)),
    )
    z = unknowns.encode(truth)
    information, _ = problem.linearise(z, states).reduced()
    _refuse_blind(information, clean.name, [column.name for column in columns])
    slope = unknowns.slope(z)
    covariance = slope @ np.linalg.inv(information) @ slope.T
    return Bound(tuple(column.name for column in columns), truth, covariance)


def _refuse_blind(information: np.ndarray, recording: str, names: list[str]) -> None:
    unit = np.sqrt(np.maximum(np.diag(information), np.finfo(float).tiny))
    values, vectors = np.linalg.eigh(information / np.outer(unit, unit))
    if values[0] < _BLIND * values[-1]:
        worst = names[int(np.argmax(np.abs(vectors[:, 0])))]
        raise HaloidError(
            f"{recording} says nothing about {worst}, alone or together with others; a bound is for parameters that "
            "the data can see. Move more joints, or ask for fewer parameters"
        )


def _with_links(nominal: Physics, true_links: Mapping[str, LinkParameters]) -> Physics:
    columns = choose_columns(nominal, ("*.mass", "*.com", "*.inertia"))
    true = {name: true_links[name] for name in nominal.links}
    values = [_component(true[c.owner], c.kind, c.component) for c in columns]
    return nominal.with_values(columns, np.array(values))


def _component(link: LinkParameters, kind: str, component: str) -> float:
    if kind == "mass":
        return link.mass_kg
    if kind == "com":
        return float(link.com_in_link_m["xyz".index(component)])
    row, column = ("xyz".index(axis) for axis in component)
    return float(link.inertia_about_com[row, column])
