"""Predicted precision: how well one recording could tell the mass and CoM of the payload links.

In: a recording, its payload links and its noise. Out: the standard deviations that an identification in one stage
would report from all usable fragments, if the robot is as its data sheet says and only the payload links' mass, CoM
and inertia and every fragment's initial state are unknown: the inverse Fisher information near the best fit, since the
CoM of a heavier link is known better. The residuals of that fit show whether robot and recording belong
together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from haloid.engines.analytic import AnalyticEngine
from haloid.engines.engine import Engine
from haloid.engines.physics import Physics
from haloid.engines.simulate import Simulator
from haloid.identify.data.dataset import DataError, Dataset, build_simulator, evenly_spaced, prepare
from haloid.identify.problem.body import body_prior
from haloid.identify.problem.priors import PAYLOAD_STD
from haloid.identify.problem.unknowns import Unknowns, choose_columns
from haloid.identify.settings import Settings, payload_patterns
from haloid.identify.solvers.fit import Fit, FitSettings, conclude, part
from haloid.identify.solvers.levenberg_marquardt import Solution
from haloid.identify.solvers.payload_search import payload_approach
from haloid.recordings.recording import Recording

FRAGMENT_S = 0.4
"""Length of the fragments, but never fewer rows than an identification cuts by default."""
_MOST_FRAGMENTS = 60
"""This many fragments are looked at, evenly spread; the rest are assumed to tell as much."""
_ITERATIONS = 10
"""At most this many for each horizon on the way to the load."""
_BEST_ENCODER_RAD = 1e-5
"""No encoder is better; a recording that shows no noise at all promises no more."""
_UNSEEN_SHARE = 0.5
"""A deviation beyond this share of the prior's is the prior's, not the data's."""


@dataclass(frozen=True)
class LinkPrecision:
    """Standard deviations to expect; a quantity in `unseen` has that of the prior, since the data says nothing."""

    link: str
    mass_kg: float
    """For which they hold: about the link's own, load included."""
    mass_std_kg: float
    com_std_m: tuple[float, float, float]
    """In the link's frame."""
    unseen: tuple[str, ...]
    """Of mass, com.x, com.y, com.z."""


@dataclass(frozen=True)
class Precision:
    links: tuple[LinkPrecision, ...]
    fragments: int
    """How many the recording holds."""
    rows: int
    """Control steps of each."""
    engine: str
    misfit_rad: float | None
    """How far (rms) the robot of the data sheet with the best load misses the readings; None where none was sought."""


def fragment_rows(control_dt_s: float) -> int:
    return max(Settings(()).rows, round(FRAGMENT_S / control_dt_s))


def predict_precision(recording: Recording, payload_links: tuple[str, ...], noise_rad: float) -> Precision:
    """Raises `DataError` where the recording has no usable fragment."""
    rows = fragment_rows(recording.control_dt_s)
    simulator = build_simulator(recording)
    engine = AnalyticEngine(simulator)
    every = prepare(
        [recording],
        simulator,
        rows=rows,
        fragments_per_recording=len(recording.time_s),
        held_out_share=0.0,
    )
    total = every.fragments.count
    some = part(every, np.isin(np.arange(total), evenly_spaced(total, _MOST_FRAGMENTS)))
    fit = _looked_at(engine, simulator, some, payload_links, noise_rad)
    information = fit.information * total / some.fragments.count + fit.unknowns.prior.information
    if not np.isfinite(information).all():
        raise DataError(
            f"{recording.name} drives the nominal robot beyond what can be simulated; check the gains, the joints' "
            "signs and the clamp"
        )
    unit = 1 / np.sqrt(np.diag(information))
    std = unit * np.sqrt(np.diag(np.linalg.inv(information * np.outer(unit, unit))))
    by_name = dict(zip((column.name for column in fit.unknowns.columns), std, strict=True))
    links = tuple(_of_link(link, by_name, fit.physics) for link in payload_links)
    return Precision(links, total, rows, engine.name, _misfit_rad(fit))


def _looked_at(
    engine: Engine,
    simulator: Simulator,
    dataset: Dataset,
    payload_links: tuple[str, ...],
    noise_rad: float,
) -> Fit:
    """The problem of one stage near its solution."""
    nominal = simulator.nominal
    columns = choose_columns(nominal, payload_patterns(Settings(payload_links)))
    noise_rad = max(noise_rad, _BEST_ENCODER_RAD)
    settings = FitSettings(noise_rad=noise_rad, iterations=_ITERATIONS)
    size_m = Settings(()).payload_size_m
    problem, near, states, _ = payload_approach(engine, dataset, nominal, columns, size_m, settings, [])
    unknowns = Unknowns(near, columns, body_prior(nominal, near, columns, size_m))
    problem, z = replace(problem, unknowns=unknowns), unknowns.encode(near.values(columns))
    linearised = problem.linearise(z, states)
    return conclude(problem, Solution(z, states, linearised.cost, 0, True, linearised), [], white=True)


def _misfit_rad(fit: Fit) -> float:
    missed = fit.problem.readings(fit.z, fit.states) - fit.problem.fragments.readings
    return float(np.sqrt(np.mean(missed**2)))


def _of_link(link: str, std: dict[str, float], physics: Physics) -> LinkPrecision:
    own = {name: float(std[f"{link}.{name}"]) for name in ("mass", "com.x", "com.y", "com.z")}
    return LinkPrecision(
        link=link,
        mass_kg=float(physics.mass[physics.link_index(link)]),
        mass_std_kg=own["mass"],
        com_std_m=(own["com.x"], own["com.y"], own["com.z"]),
        unseen=tuple(name for name, value in own.items() if value > _UNSEEN_SHARE * PAYLOAD_STD[name.split(".")[0]]),
    )
