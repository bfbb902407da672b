"""Error bars of a fit whose residuals are not independent.

The joint loss: encoder noise is independent, but what the model leaves out lasts from row to row. Then the
fragments' scores s_b = G_bᵀ r_b scatter more than independent residuals can, and the variance of a parameter with u
= H⁻¹e is not uᵀ H u but Σ_b (u·s_b)² (clustered by fragment; B fragments, so their mean is subtracted and B/(B − 1)
applied). The data's information about the parameter is divided by that ratio where it is beyond chance, before the
prior is added; independent residuals keep their error bars.

Where the fragments as a whole scatter more than by chance (`Scatter`), rows count too much against the prior, too: the
squares are divided by the dispersion φ = Σ_b s̃_bᵀ A⁻¹ s̃_b / k (a quasi-likelihood), with A = Σ A_b the fragments'
information, over the k directions in which it exceeds the prior's. It is 1 on average for independent residuals, also
where the prior is wrong: s_b are taken at the data's own optimum, and s̃_b = (1 − A_b A⁻¹)^(−½) s_b gives back what
the fit, which follows its own fragments, took from their residuals (Bell and McCaffrey, 2002).

The Cartesian loss: one encoder moves many bodies, so that body positions err together; counting each as a measurement
claims far too much. The estimate solves Σ_b G_bᵀ r_b = 0 with G_b = J_θ − J_x E⁻¹ Cᵀ, the slope of the residuals with
the initial states eliminated; its covariance is H⁻¹ S H⁻¹ (White, 1982), with H the reduced normal equations and S the
covariance of that sum when the encoders alone are noisy, Cov(r_b) = K Σ_q Kᵀ, and the priors are what they say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haloid.identify.problem.problem import Linearised, Problem
from haloid.identify.problem.residuals import JointResidual

_CHUNK = 8
_CHANCE = 3.5
"""Standard deviations of the ratio, √(2/B), that are chance."""


_ROUNDING = 1e-13
"""Of the largest eigenvalue: smaller ones, and negative ones, are zeros with rounding errors."""


def inverse_root(matrix: np.ndarray, *, seen_only: bool = False) -> np.ndarray:
    """R with R Rᵀ = H⁻¹, for parameters of very different size, which are brought to one.

    H is singular where coordinates are: the factor of a body as thin as a bar can be turned and gives the same body.
    Such directions are taken to be barely known, or, with `seen_only`, to have no variance.
    """
    unit = 1 / np.sqrt(np.diag(matrix))
    values, axes = np.linalg.eigh(matrix * np.outer(unit, unit))
    least = _ROUNDING * values[-1]
    root = unit[:, None] * axes / np.sqrt(np.maximum(values, least))
    return root[:, values > least] if seen_only else root


def discount(linearised: Linearised, reduced: np.ndarray, information: np.ndarray) -> np.ndarray:
    """(P,) how many times less a reading says about each parameter than if residuals were independent; 1 or more.

    `reduced` is H, initial states eliminated, and `information` the data's part of it; in the solver's coordinates.
    """
    count = len(linearised.scores)
    if count < 2:
        return np.ones(len(reduced))
    root = inverse_root(reduced, seen_only=True)
    covariance = root @ root.T
    gains = np.linalg.solve(linearised.e, linearised.state_gradient[..., None])[..., 0]
    scores = linearised.scores - np.einsum("bpx,bx->bp", linearised.c, gains)
    moves = (scores - scores.mean(axis=0)) @ covariance
    by_fragment = np.sum(moves**2, axis=0) * count / (count - 1)
    by_rows = np.einsum("ip,pq,iq->i", covariance, information, covariance, optimize=True)
    ratio = by_fragment / np.maximum(by_rows, 1e-300)
    return np.where((ratio > 1 + _CHANCE * np.sqrt(2 / count)) & (by_rows > 0), ratio, 1.0)


_SEEN_SHARE = 0.5
"""Of the information about a direction, from which it is the data that decides."""
_MOST_LEVERAGE = 0.95
"""What one fragment alone decides leaves no residual to be given back."""


@dataclass(frozen=True)
class Scatter:
    """How far the fragments pull apart, over what independent residuals would make them."""

    dispersion: float
    """φ, in units of the one that the problem already has."""
    chance: float
    """Its standard deviation, where residuals are independent."""
    by_parameter: np.ndarray
    """(P,) the same ratio of each parameter's variance; 1 where the data says nothing."""

    @property
    def beyond_chance(self) -> bool:
        return self.dispersion > 1 + _CHANCE * self.chance


def scatter(information: np.ndarray, scores: np.ndarray, h: np.ndarray) -> Scatter:
    """Of fragments' information (B, P, P) and scores (B, P), and of H = Σ A_b + prior."""
    root = inverse_root(h)
    share, axes = np.linalg.eigh(root.T @ information.sum(axis=0) @ root)
    seen = share > _SEEN_SHARE
    if not seen.any():
        return Scatter(1.0, 0.0, np.ones(len(h)))
    along = root @ axes[:, seen] / np.sqrt(share[seen])
    each = along.T @ information @ along  # adds up to 1
    pulls = scores @ along
    pulls = pulls - each @ pulls.sum(axis=0)
    leverage, turn = np.linalg.eigh(each)
    leverage = np.clip(leverage, 0.0, _MOST_LEVERAGE)[..., None]
    pulls = (turn @ (turn.swapaxes(1, 2) @ pulls[..., None] / np.sqrt(1 - leverage)))[..., 0]
    moved = along * share[seen]
    by_rows, by_fragment = np.sum(moved**2, axis=1), np.sum((pulls @ moved.T) ** 2, axis=0)
    count = int(seen.sum())
    return Scatter(
        dispersion=float(np.sum(pulls**2)) / count,
        chance=float(np.sqrt(2 * np.sum(leverage**2))) / count,
        by_parameter=np.where(by_rows > 0, by_fragment / np.maximum(by_rows, 1e-300), 1.0),
    )


def score_covariance(problem: Problem, z: np.ndarray, states: np.ndarray, linearised: Linearised) -> np.ndarray:
    """(P, P) S, in the solver's coordinates."""
    n = states.shape[1] // 2
    physics, slope, residual = problem.unknowns.physics(z), problem.unknowns.slope(z), problem.residual
    noise_rad = _encoder_noise(problem, z, states)
    gains = np.linalg.solve(linearised.e, linearised.c.swapaxes(1, 2))  # (B, 2n, P)
    total = linearised.prior_information + np.einsum("bxp,x,bxq->pq", gains, 1 / problem.states.std**2, gains)
    for which in np.array_split(np.arange(problem.fragments.count), -(-problem.fragments.count // _CHUNK)):
        fragments = problem.fragments.chosen(which)
        found = problem.engine.jacobian(
            physics, problem.unknowns.columns, fragments, states[which, :n], states[which, n:]
        )
        by_state = residual.slope(found.readings, found.by_state)
        by_parameter = residual.slope(found.readings, found.by_parameter) @ slope - by_state @ gains[which]
        total = total + _through_encoders(problem, found.readings, by_parameter, noise_rad)
    return total


def _through_encoders(
    problem: Problem, readings: np.ndarray, by_parameter: np.ndarray, noise_rad: np.ndarray
) -> np.ndarray:
    """Σ_b G_bᵀ K Σ_q Kᵀ G_b, row by row since a reading moves the bodies of its own row alone."""
    count, rows, n = readings.shape
    each = np.broadcast_to(np.eye(n), (count, rows, n, n))
    kinematic = problem.residual.slope(readings, each).reshape(count, rows, -1, n)
    by_row = by_parameter.reshape(count, rows, kinematic.shape[2], -1)
    felt = (kinematic * noise_rad).swapaxes(-1, -2) @ by_row
    return np.einsum("btnp,btnq->pq", felt, felt, optimize=True)


def _encoder_noise(problem: Problem, z: np.ndarray, states: np.ndarray) -> np.ndarray:
    readings = problem.readings(z, states)
    plain = JointResidual(np.ones(readings.shape[2]))
    return plain.reweighted(readings, problem.fragments, len(z), problem.robust is not None).noise_rad
