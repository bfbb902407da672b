"""The search for a payload: from the bare robot to a point near the solution of stage 2.

In: fragments of the loaded robot and the columns of its payload links. Out: the full problem in units of its noise, and
the robot, the initial states and the iterations there.
"""

from __future__ import annotations

import numpy as np

from haloid.engines.engine import Engine
from haloid.engines.physics import Column, Physics
from haloid.engines.workers import Workers
from haloid.identify.data.dataset import Dataset
from haloid.identify.problem.body import as_points, body_prior
from haloid.identify.problem.priors import payload_prior
from haloid.identify.problem.problem import Problem
from haloid.identify.problem.unknowns import Unknowns
from haloid.identify.solvers.fit import FitSettings, Report, Trace, approach, released

_LOST, _LEAST_NOISE_RAD = 3.0, 1e-4
"""A search for bodies that misses the readings by this many times their noise (or this) is started in another way."""


def payload_approach(
    engine: Engine,
    dataset: Dataset,
    base: Physics,
    columns: list[Column],
    size_m: float,
    settings: FitSettings,
    trace: Trace,
    report: Report | None = None,
    workers: Workers | None = None,
) -> tuple[Problem, Physics, np.ndarray, int]:
    """The payload's problem and a robot near its solution.

    Bodies are points at first, whose inertia is then released. Where that leaves far more than the noise, as a long bar
    may, the search begins again with the inertia free, and the better of the two is taken.
    """

    def search(first: list[Column]) -> tuple[Problem, np.ndarray, np.ndarray, int, Trace]:
        steps: Trace = []
        alone = Unknowns(base, first, payload_prior(base, first))
        problem, z, states, iterations = approach(engine, dataset, alone, settings, steps, report, workers)
        told = [(phase, cost, base.with_values(first, values).values(columns)) for phase, cost, values in steps]
        near = alone.physics(z)
        if any(column.kind == "inertia" for column in columns):
            near = as_points(base, near, columns) if len(first) < len(columns) else near
            body = Unknowns(near, columns, body_prior(base, near, columns, size_m))
            problem, z, states, more = released(problem, body, states, settings, told, report, "inertia free")
            iterations += more
        return problem, z, states, iterations, told

    found = search([column for column in columns if column.kind != "inertia"])
    missed = _missed_rad(found)
    if missed > _LOST * max(dataset.noise_rad, _LEAST_NOISE_RAD) and any(c.kind == "inertia" for c in columns):
        again = search(columns)
        found = min(found, again, key=_missed_rad)
    problem, z, states, iterations, told = found
    trace += told
    return problem, problem.unknowns.physics(z), states, iterations


def _missed_rad(found: tuple[Problem, np.ndarray, np.ndarray, int, Trace]) -> float:
    problem, z, states = found[:3]
    return float(np.sqrt(np.mean((problem.readings(z, states) - problem.fragments.readings) ** 2)))
