"""D-optimal excitation: the motion that tells the most about the payload links and that both robots can follow.

    maximise over the middle posture and the Fourier coefficients of every joint
        ½ Σ_robots log det information / p    (robots: without payload, with the heaviest; p parameters)
    subject to amplitude, joint limits, velocity and torque of every joint for both robots

by L-BFGS on the surrogate information of `excite.information` and a quadratic penalty that grows from one pass to the
next, from several random multi-sines. What the penalty leaves over is removed by scaling the motion down: the result
keeps every limit at every control step and touches nothing. The same seed and passes give the same motion; the result
depends on the machine only if the time budget runs out before the passes do.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from haloid.errors import HaloidError
from haloid.excite.clearance import Clearance
from haloid.excite.feasible import feasible
from haloid.excite.fourier import FourierSeries
from haloid.excite.information import KNOT_ROWS, PayloadInformation
from haloid.excite.scenario import Scenario
from haloid.lab.excitation import Reference

_LIMIT_SHARE = 0.94
"""The penalty begins at this share of a limit: it is soft, and the limits must hold between the knots too."""
_START_SHARE = 0.4
"""Random motions start at this share of their amplitudes, near what the torques allow."""


@dataclass(frozen=True)
class Search:
    """How long and how widely to search."""

    starts: int = 1
    """Random multi-sines to start from."""
    penalties: tuple[float, ...] = (30.0, 300.0, 3000.0)
    """Weights of the limits, one pass of the optimiser each; the last has to hold them."""
    iterations: int = 150
    """Of a pass."""
    budget_s: float = np.inf
    """Seconds after which the best motion so far is returned."""
    posture_rad: float = 1.0
    """How far the middle of a joint's motion may be from the balanced posture; 0 keeps that posture."""


@dataclass(frozen=True)
class Design:
    reference: Reference
    score: float
    """½ log det information / p by the surrogate, mean of both robots: a nat is a factor e per parameter."""
    start_scores: tuple[float, ...]
    """Of the random multi-sines, scaled into the limits."""
    out_of_time: bool


class _OutOfTimeError(Exception):
    pass


def optimal_reference(
    scenario: Scenario, search: Search, seed: int, say: Callable[[str], None] = lambda text: None
) -> Design:
    """The best feasible motion found."""
    problem = _Problem(scenario, search)
    rng = np.random.default_rng(seed)
    best: tuple[float, Reference] | None = None
    start_scores, out_of_time = [], False
    deadline_s = time.monotonic() + search.budget_s
    for start in range(search.starts):
        x = problem.random_start(rng)
        candidates = [x]
        for number, weight in enumerate(search.penalties):
            if out_of_time:
                break
            label = f"start {start + 1} of {search.starts}, pass {number + 1} of {len(search.penalties)}"
            x, out_of_time = problem.improve(x, weight, deadline_s, label, say)
            candidates.append(x)
        for index, candidate in enumerate(candidates):
            try:
                reference = feasible(scenario, problem.reference(candidate))
            except HaloidError:
                if index == 0:  # not even the balanced posture can be held
                    raise
                continue
            score = problem.score(reference)
            if index == 0:
                start_scores.append(score)
            if best is None or score > best[0]:
                best = score, reference
        if out_of_time:
            break
    assert best is not None
    return Design(best[1], best[0], tuple(start_scores), out_of_time)


class _Problem:
    """The penalised objective over x: the joints' middles, then their coefficients, in units of their ranges."""

    def __init__(self, scenario: Scenario, search: Search) -> None:
        self.scenario = scenario
        excitation, limits = scenario.excitation, scenario.limits
        self.names, n = scenario.joint_names, len(scenario.joint_names)
        built = scenario.nominal.built
        self.series = FourierSeries.of(excitation, built.control_dt_s)
        self.views = [
            PayloadInformation(r.built, scenario.payload_links, scenario.posture_rad) for r in scenario.robots
        ]
        self.parameters = 4 * len(scenario.payload_links)
        step = self.views[0].fragment_knots
        self.rows = np.arange(0, len(self.series.time_s), KNOT_ROWS)
        self.rows = self.rows[: (len(self.rows) - 1) // step * step + 1]
        if len(self.rows) < step + 1:
            raise HaloidError(
                f"{excitation.duration_s:g} s are shorter than one fragment; design a motion of at least 2 s"
            )
        self.knots = self.series.basis[:, self.rows]
        self.posture = scenario.posture_rad
        self.lower, self.upper = (
            limits.lower_rad + excitation.limit_margin_rad,
            limits.upper_rad - excitation.limit_margin_rad,
        )
        self.amplitude = np.minimum(scenario.amplitude_rad, np.maximum((self.upper - self.lower) / 2, 0.0))
        self.amplitude = np.where(self.views[0].carries, self.amplitude, 0.0)  # other joints reveal nothing
        orders = np.tile(np.arange(1, self.series.count // 2 + 1), 2)
        self.scale = self.amplitude / np.sqrt(orders)[:, None]
        self.clearance = Clearance(built, self.posture)
        self.freedom = np.full(n, search.posture_rad)
        self.iterations = search.iterations

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n,) middles and (2K, n) coefficients, rad."""
        n = len(self.names)
        return self.posture + self.freedom * x[:n], self.scale * x[n:].reshape(-1, n)

    def reference(self, x: np.ndarray) -> Reference:
        return self.series.reference(self.names, *self.split(x))

    def random_start(self, rng: np.random.Generator) -> np.ndarray:
        """A random multi-sine of full amplitude in the balanced posture."""
        n = len(self.names)
        count = self.series.count
        coefficients = rng.standard_normal((count, n))
        moved = self.series.basis[0] @ (self.scale * coefficients)
        peak = np.abs(moved).max(axis=0) / np.maximum(self.amplitude, 1e-6)
        return np.concatenate([np.zeros(n), (_START_SHARE * coefficients / np.maximum(peak, 1e-6)).ravel()])

    def improve(
        self, x: np.ndarray, weight: float, deadline_s: float, label: str, say: Callable[[str], None]
    ) -> tuple[np.ndarray, bool]:
        """One pass of the optimiser; True if time ran out."""
        latest, iteration = x, 0

        def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
            if time.monotonic() > deadline_s:
                raise _OutOfTimeError
            return self.cost(x, weight)

        def keep(x: np.ndarray) -> None:
            nonlocal latest, iteration
            latest, iteration = x.copy(), iteration + 1
            say(f"{label}, iteration {iteration} of {self.iterations}")

        bounds = [(-1.0, 1.0)] * len(self.names) + [(None, None)] * (len(x) - len(self.names))
        options = {"maxiter": self.iterations, "maxcor": 20}
        try:
            found = minimize(objective, x, jac=True, method="L-BFGS-B", bounds=bounds, options=options, callback=keep)
            return found.x, False
        except _OutOfTimeError:
            return latest, True

    def cost(self, x: np.ndarray, weight: float) -> tuple[float, np.ndarray]:
        """−score + weight · mean squared excess over the limits, and its gradient."""
        scenario, excitation = self.scenario, self.scenario.excitation
        middle, coefficients = self.split(x)
        moved, dq, ddq = self.knots @ coefficients
        q = middle + moved
        by_velocity, by_acceleration = scenario.hold_ripple
        ripple_nm = by_velocity * dq + by_acceleration * ddq
        slope = np.zeros((3, *q.shape))
        cost = 0.0
        for view in self.views:
            seen = view.evaluate(q, dq, ddq)
            share = 1 / (2 * self.parameters * len(self.views))
            cost -= share * seen.log_det
            slope -= share * seen.log_det_slope
            for held in (-1.0, 0.0, 1.0):
                allowed = scenario.allowed_nm if held == 0.0 else scenario.allowed_with_ripple_nm
                excess, excess_slope = _excess((seen.torque_nm + held * ripple_nm) / allowed)
                by_torque = weight * excess_slope / allowed
                cost += weight * excess
                slope += np.einsum("kn,dknm->dkm", by_torque, seen.torque_slope, optimize=True)
                slope[1] += held * by_velocity * by_torque
                slope[2] += held * by_acceleration * by_torque
        lack, lack_slope = self.clearance.lack(q)
        cost += weight * lack
        slope[0] += weight * lack_slope
        fast, fast_slope = _excess(dq / excitation.velocity_limit_rad_s)
        slope[1] += weight * fast_slope / excitation.velocity_limit_rad_s
        half_range = np.maximum((self.upper - self.lower) / 2, 1e-3)
        centre = np.where(np.isfinite(half_range), (self.upper + self.lower) / 2, 0.0)
        near, near_slope = _excess(np.where(np.isfinite(half_range), (q - centre) / half_range, 0.0))
        slope[0] += weight * near_slope / half_range
        reach = np.maximum(self.amplitude, 1e-6)
        far, far_slope = _excess(moved / reach)
        by_moved = slope[0] + weight * far_slope / reach
        cost += weight * (fast + near + far)
        by_coefficient = sum(b.T @ s for b, s in zip(self.knots, (by_moved, slope[1], slope[2]), strict=True))
        by_middle = slope[0].sum(axis=0)
        return cost, np.concatenate([self.freedom * by_middle, (self.scale * by_coefficient).ravel()])

    def score(self, reference: Reference) -> float:
        rows = self.rows
        motion = reference.q_rad[rows], reference.dq_rad_s[rows], reference.ddq_rad_s2[rows]
        log_dets = [view.evaluate(*motion).log_det for view in self.views]
        return float(np.mean(log_dets)) / (2 * self.parameters)


def _excess(share: np.ndarray) -> tuple[float, np.ndarray]:
    """Mean over the rows of the squared excess of |share| over its limit, summed over the joints, and its slope."""
    beyond = np.maximum(np.abs(share) - _LIMIT_SHARE, 0.0)
    return float(np.sum(beyond**2)) / len(share), 2 * beyond * np.sign(share) / len(share)
