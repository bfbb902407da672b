"""The answer: an identification in plain numbers, each with its standard deviation.

Link values are the link's own effective ones, payload included. The payload itself is the difference between the
loaded and the calibrated link; its error bars come from both stages together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from haloid.engines.fragments import Fragments
from haloid.engines.physics import FLOOR_KINDS, INERTIA_AT, JOINT_KINDS, LINK_KINDS, Column
from haloid.identify.problem.residuals import JointResidual
from haloid.identify.results.identifiability import Blind, base_blind_spots, payload_blind_spots
from haloid.identify.solvers.fit import Fit, part, residuals_with
from haloid.identify.stages import Identification
from haloid.robots.inertia import LinkParameters, Payload, detach

NORMAL_95 = 1.959964
_WHITE_LAG1 = 0.2


Number = TypeVar("Number", float, np.ndarray)


@dataclass(frozen=True)
class Estimate(Generic[Number]):
    """A number, or several, with standard deviations; `std` is 0 for what was not identified."""

    value: Number
    std: Number
    nominal: Number
    """Of the data sheet; NaN where it has none."""

    @property
    def interval95(self) -> np.ndarray:
        """(..., 2) lower and upper end."""
        return np.stack([self.value - NORMAL_95 * self.std, self.value + NORMAL_95 * self.std], axis=-1)


@dataclass(frozen=True)
class PayloadEstimate:
    """What was attached to a link."""

    link: str
    mass_kg: Estimate[float]
    com_in_link_m: Estimate[np.ndarray]
    """NaN where nothing was attached."""
    inertia_about_com: Estimate[np.ndarray] | None = None
    """kg·m²: xx, yy, zz, xy, xz, yz about its own CoM, along the link's axes; None where it was not sought."""


@dataclass(frozen=True)
class Validation:
    """Predicted − read on held-out fragments (on all of them where none is held out), their initial states fitted."""

    fragments: Fragments
    identified_rad: np.ndarray
    """(B, N + 1, n)"""
    nominal_rad: np.ndarray


@dataclass(frozen=True)
class Answer:
    links: dict[str, dict[str, Estimate]]
    """mass, com (and inertia where it was sought) of every link that was identified."""
    joints: dict[str, dict[str, Estimate]]
    globals: dict[str, Estimate]
    payload: list[PayloadEstimate]
    rms_rad: dict[str, float]
    """train, heldout, nominal: of the loaded recordings, the initial states fitted each time."""
    lag1: float
    """Autocorrelation of the residuals from one control step to the next; 0 is white."""
    noise_rad: np.ndarray | None
    validation: Validation | None
    """None for an answer that was read from its file."""
    blind: list[Blind]
    """What the data cannot see: of the payload first, then of the base."""
    payload_blind: list[Blind]
    converged: bool
    doubts: tuple[str, ...] = ()
    """Why the answer should not be trusted, by the names of joints and parameters."""
    coverage95: float | None = None
    """Share of the held-out readings within 1.96 times their joint's noise of what the model says; None for the
    Cartesian loss, which has no noise by joint."""
    sensor_noise: dict[str, dict[str, float]] = field(default_factory=dict)
    """Of further sensors: by sensor, then by joint, or by link and axis."""

    @property
    def white(self) -> bool:
        return abs(self.lag1) < _WHITE_LAG1


def answer(found: Identification) -> Answer:
    """The answer of an identification."""
    stage2, count = found.stage2, found.payload_columns
    payload_blind = payload_blind_spots(stage2, count)
    base_blind = [] if found.stage1 is None else base_blind_spots(found.stage1)
    residuals = stage2.problem.readings(stage2.z, stage2.states) - stage2.problem.fragments.readings
    held = part(found.loaded, found.loaded.held_out if found.loaded.held_out.any() else ~found.loaded.held_out)
    settings, links = found.fit_settings, _links(found)
    validation = Validation(
        fragments=held.fragments,
        identified_rad=residuals_with(found.physics, held, stage2, settings),
        nominal_rad=residuals_with(found.nominal, held, stage2, settings),
    )
    return Answer(
        links=links,
        joints=_joints(found),
        globals=_globals(found),
        payload=[_payload(found, link) for link in found.settings.payload_links if link in links],
        rms_rad={
            "train": _rms(residuals),
            "heldout": _rms(validation.identified_rad),
            "nominal": _rms(validation.nominal_rad),
        },
        lag1=_lag1(residuals),
        noise_rad=stage2.noise_rad,
        validation=validation,
        blind=payload_blind + base_blind,
        payload_blind=payload_blind,
        converged=stage2.converged and (found.stage1 is None or found.stage1.converged),
        doubts=found.doubts,
        coverage95=_coverage95(validation.identified_rad, stage2.noise_rad),
        sensor_noise=_sensor_noise(found),
    )


def _sensor_noise(found: Identification) -> dict[str, dict[str, float]]:
    residual, noise = found.stage2.problem.residual, {}
    left = residual.sensor_noise.tolist() if isinstance(residual, JointResidual) else []
    for sensor in found.stage2.problem.fragments.sensors:
        channels = sensor.channels(found.physics.joints)
        noise.setdefault(sensor.name, {}).update(zip(channels, left, strict=False))
        left = left[len(channels) :]
    return noise


def _coverage95(residuals_rad: np.ndarray, noise_rad: np.ndarray | None) -> float | None:
    return None if noise_rad is None else float(np.mean(np.abs(residuals_rad) <= NORMAL_95 * noise_rad))


def _estimates(found: Identification) -> dict[str, tuple[float, float]]:
    """Value and standard deviation by column name: stage 2's, which hold stage 1's as far as they are still free."""
    values: dict[str, tuple[float, float]] = {}
    for fit in (found.stage1, found.stage2):
        if fit is not None:
            for column, value, std in zip(fit.unknowns.columns, fit.values, fit.std, strict=True):
                values[column.name] = (float(value), float(std))
    return values


def _links(found: Identification) -> dict[str, dict[str, Estimate]]:
    known, nominal, final = _estimates(found), found.nominal, found.physics
    links: dict[str, dict[str, Estimate]] = {}
    for name in final.links:
        link, before = final.link(name), nominal.link(name)
        if f"{name}.mass" not in known and f"{name}.com.x" not in known:
            continue
        std = [known.get(f"{name}.com.{axis}", (0.0, 0.0))[1] for axis in "xyz"]
        links[name] = {
            "mass": _scalar(link.mass_kg, known.get(f"{name}.mass", (0.0, 0.0))[1], before.mass_kg),
            "com": Estimate(link.com_in_link_m, np.array(std), before.com_in_link_m),
        }
        parts = ("xx", "yy", "zz", "xy", "xz", "yz")
        if f"{name}.inertia.xx" in known:
            links[name]["inertia"] = Estimate(
                link.inertia_about_com[INERTIA_AT],
                np.array([known[f"{name}.inertia.{p}"][1] for p in parts]),
                before.inertia_about_com[INERTIA_AT],
            )
    return links


def _joints(found: Identification) -> dict[str, dict[str, Estimate]]:
    known, joints = _estimates(found), {}
    for index, name in enumerate(found.physics.joints):
        kinds = [kind for kind in JOINT_KINDS if f"{name}.{kind}" in known]
        if kinds:
            joints[name] = {
                kind: _scalar(*known[f"{name}.{kind}"], getattr(found.nominal, kind)[index]) for kind in kinds
            }
    return joints


def _globals(found: Identification) -> dict[str, Estimate]:
    known = _estimates(found)
    return {
        kind: _scalar(*known[kind], getattr(found.nominal, kind)) for kind in ("delay", *FLOOR_KINDS) if kind in known
    }


def _scalar(value: float, std: float, nominal: float) -> Estimate[float]:
    return Estimate(float(value), float(std), float(nominal))


def _payload(found: Identification, link: str) -> PayloadEstimate:
    """Mass, CoM and inertia of what was added (parallel-axis theorem), with both stages' uncertainty."""
    loaded, loaded_cov, base, base_cov, cross = _loaded_and_base(found, link)

    def payload(loaded: np.ndarray, base: np.ndarray) -> np.ndarray:
        return _vector(detach(_parameters(loaded), _parameters(base)))

    value = payload(loaded, base)
    steps = 1e-7 * np.eye(len(value))
    by_loaded = np.array([(payload(loaded + step, base) - value) / 1e-7 for step in steps]).T
    by_base = np.array([(payload(loaded, base + step) - value) / 1e-7 for step in steps]).T
    covariance = by_loaded @ loaded_cov @ by_loaded.T + by_base @ base_cov @ by_base.T
    mixed = by_loaded @ cross @ by_base.T
    std = np.sqrt(np.maximum(np.diag(covariance + mixed + mixed.T), 0.0))
    sought = any(c.owner == link and c.kind == "inertia" for c in found.stage2.unknowns.columns)
    return PayloadEstimate(
        link,
        _scalar(value[0], std[0], 0.0),
        Estimate(value[1:4], std[1:4], np.full(3, np.nan)),
        Estimate(value[4:], std[4:], np.full(6, np.nan)) if sought else None,
    )


def _loaded_and_base(
    found: Identification, link: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(mass, CoM, inertia) of the loaded and of the bare link, their covariances and the covariance between them.

    Stage 2 no longer holds the bare link, but it updates the rest of the robot, with which stage 1 found the bare link
    correlated: given the rest r, the bare link is b = μ_b + K (r − μ_r) with K = Σ_br Σ_r⁻¹, and Σ_b − K Σ_r Kᵀ of its
    variance is left.
    """
    stage2, stage1 = found.stage2, found.stage1
    loaded, loaded_cov, at = _pick(stage2, link)
    size = len(loaded)
    if stage1 is None:
        return loaded, loaded_cov, _vector(found.nominal.link(link)), np.zeros((size, size)), np.zeros((size, size))
    base, base_cov, bare_at = _pick(stage1, link)
    rest = [i for i in range(found.payload_columns, len(stage2.unknowns.columns))]
    index1 = {column.name: i for i, column in enumerate(stage1.unknowns.columns)}
    rest1 = [index1[stage2.unknowns.columns[i].name] for i in rest]
    bare_rest = np.zeros((size, len(rest)))
    for k, i in enumerate(bare_at):
        if i is not None:
            bare_rest[k] = stage1.covariance[i, rest1]
    rest_prior = stage2.unknowns.prior.information[np.ix_(rest, rest)]
    gain = bare_rest @ rest_prior
    base = base + gain @ (stage2.values[rest] - stage1.values[rest1])
    rest_cov = stage2.covariance[np.ix_(rest, rest)]
    base_cov = base_cov - gain @ bare_rest.T + gain @ rest_cov @ gain.T
    cross = np.zeros((size, size))
    for k, i in enumerate(at):
        if i is not None:
            cross[k] = stage2.covariance[i, rest] @ gain.T
    return loaded, loaded_cov, base, base_cov, cross


def _pick(fit: Fit, link: str) -> tuple[np.ndarray, np.ndarray, list[int | None]]:
    """The link's ten parameters, their covariance (0 where they were not sought), and where they are in the fit."""
    index = {column.name: i for i, column in enumerate(fit.unknowns.columns)}
    at = [index.get(Column(kind, link, part).name) for kind, parts in LINK_KINDS.items() for part in parts]
    covariance = np.zeros((len(at), len(at)))
    for r, i in enumerate(at):
        for c, j in enumerate(at):
            if i is not None and j is not None:
                covariance[r, c] = fit.covariance[i, j]
    return _vector(fit.physics.link(link)), covariance, at


def _vector(body: LinkParameters | Payload) -> np.ndarray:
    assert body.inertia_about_com is not None
    return np.array([body.mass_kg, *body.com_in_link_m, *body.inertia_about_com[INERTIA_AT]])


def _parameters(vector: np.ndarray) -> LinkParameters:
    xx, yy, zz, xy, xz, yz = vector[4:]
    return LinkParameters(vector[0], vector[1:4], np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))


def _rms(residuals: np.ndarray) -> float:
    return float(np.sqrt(np.mean(residuals**2)))


def _lag1(residuals: np.ndarray) -> float:
    """Of residuals (B, N + 1, n), within fragments, each joint in its own units; the first rows hold the state fit."""
    unit = residuals / np.maximum(np.sqrt(np.mean(residuals**2, axis=(0, 1))), 1e-12)
    return float(np.mean(unit[:, 3:] * unit[:, 2:-1]) / np.mean(unit[:, 2:] ** 2))
