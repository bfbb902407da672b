"""The problem: a sum of squares over fragments, their unknown initial states eliminated.

    minimise over θ and every fragment's initial state x_b:
        1/φ · (½ Σ_b ρ(‖r_b(θ, x_b)‖²) + ½ Σ_b ‖x_b − x̄_b‖²_Λ) + ½ (θ − μ)ᵀ Π (θ − μ)
        (+ the paper's regularisers, Eqs. 8-9)

φ, the fragments' dispersion, is 1 where residuals are independent (`sandwich`).

Linearised, each fragment adds its own block of normal equations [[A, C], [Cᵀ, E]]; the states leave by the Schur
complement A − C E⁻¹ Cᵀ, so that the system to solve has only as many unknowns as there are parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from haloid.engines.engine import Engine
from haloid.engines.fragments import Fragments
from haloid.engines.physics import Column, Physics
from haloid.engines.workers import Workers
from haloid.identify.problem.residuals import Residual
from haloid.identify.problem.unknowns import Unknowns

_CHUNK = 8
"""Fragments linearised at a time, at most; bounds the memory and keeps the arrays in the cache."""


_BEYOND_ANY_ROBOT = 1e9
"""A step of the solver that makes any parameter this large, in its own unit, is not worth a rollout."""


@dataclass(frozen=True)
class StatePrior:
    """Where the initial states may lie: readings and velocities, (B, 2n)."""

    mean: np.ndarray
    std: np.ndarray
    """(2n,)"""


@dataclass(frozen=True)
class Linearised:
    """Normal equations at one point, in the solver's coordinates."""

    cost: float
    gradient: np.ndarray
    """(P,) by the parameters, before elimination."""
    a: np.ndarray
    c: np.ndarray
    """(B, P, 2n)"""
    e: np.ndarray
    """(B, 2n, 2n)"""
    state_gradient: np.ndarray
    """(B, 2n)"""
    prior_information: np.ndarray
    """(P, P) the part of `a` that is prior, not data."""
    scores: np.ndarray
    """(B, P) the data's gradient by the parameters, fragment by fragment."""

    def reduced(self, damping: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """(P, P) matrix and (P,) gradient with the states eliminated, Levenberg–Marquardt damping added."""
        e = _damped(self.e, damping)
        solved = np.linalg.solve(e, self.c.swapaxes(1, 2))
        a = _damped(self.a[None], damping)[0]
        matrix = a - np.einsum("bpx,bxq->pq", self.c, solved, optimize=True)
        return matrix, self.gradient - np.einsum("bxp,bx->p", solved, self.state_gradient)

    def state_step(self, parameter_step: np.ndarray, damping: float) -> np.ndarray:
        rhs = -self.state_gradient - parameter_step @ self.c
        return np.linalg.solve(_damped(self.e, damping), rhs[..., None])[..., 0]


def _damped(matrices: np.ndarray, damping: float) -> np.ndarray:
    if damping == 0.0:
        return matrices
    result = matrices.copy()
    i = np.arange(matrices.shape[-1])
    result[:, i, i] *= 1 + damping
    return result


@dataclass(frozen=True)
class Problem:
    engine: Engine
    fragments: Fragments
    unknowns: Unknowns
    residual: Residual
    states: StatePrior
    robust: float | None = None
    """Huber's threshold in units of the noise; None: plain least squares."""
    estimate_states: bool = True
    """Whether the initial states are unknowns; otherwise they stay at the prior's mean (the paper's way)."""
    workers: Workers | None = None
    """Where the fragments are linearised; None: here."""
    dispersion: float = 1.0
    """φ: how many rows count as one against the prior."""

    def cost(self, z: np.ndarray, states: np.ndarray) -> float:
        """The objective; infinity where no robot has these parameters or the rollout is not finite."""
        return self.costs([z], states)[0]

    def costs(self, zs: Sequence[np.ndarray], states: np.ndarray) -> list[float]:
        """The objective at several points, rolled out together."""
        n = states.shape[1] // 2
        state_cost = 0.5 * float(np.sum(((states - self.states.mean) / self.states.std) ** 2))
        with np.errstate(over="ignore", invalid="ignore"):
            values = [self.unknowns.decode(z) for z in zs]
        possible = [bool(np.all(np.abs(v) < _BEYOND_ANY_ROBOT)) for v in values]
        physics = [self.unknowns.physics(z) for z, is_possible in zip(zs, possible, strict=True) if is_possible]
        q0, v0 = (np.broadcast_to(x, (len(physics), *x.shape)) for x in (states[:, :n], states[:, n:]))
        rolled = iter(self.engine.predict_many(physics, self.fragments, q0, v0) if physics else ())
        costs = []
        for v, is_possible in zip(values, possible, strict=True):
            if not is_possible:
                costs.append(np.inf)
                continue
            with np.errstate(over="ignore", invalid="ignore"):
                residuals = self.residual.values(next(rolled), self.fragments)
                loss = 0.5 * float(np.sum(_huber(residuals, self.robust)[0]))
            data = (loss + state_cost) / self.dispersion
            costs.append(data + self.unknowns.prior.cost(v) if np.isfinite(loss) else np.inf)
        return costs

    def gradient(self, z: np.ndarray, states: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective and its derivative w.r.t. z at fixed states, in reverse mode where the engine has one."""
        if not self.engine.reverse:
            linearised = self.linearise(z, states)
            return linearised.cost, linearised.gradient
        n, losses = states.shape[1] // 2, []

        def by_readings(readings: np.ndarray) -> np.ndarray:
            values = self.residual.values(readings, self.fragments)
            loss, weight = _huber(values, self.robust)
            losses.append(0.5 * float(np.sum(loss)))
            each = np.broadcast_to(np.eye(n), (*readings.shape, n))  # a residual depends on the readings of its own row
            slope = self.residual.slope(readings, each).reshape(*readings.shape[:2], -1, n)
            return np.einsum("btrn,btr->btn", slope, (weight * values).reshape(slope.shape[:3]))

        physics, slope, values = self.unknowns.physics(z), self.unknowns.slope(z), self.unknowns.decode(z)
        by_columns = self.engine.gradient(
            physics, self.unknowns.columns, self.fragments, states[:, :n], states[:, n:], by_readings
        )
        prior = self.unknowns.prior
        data = losses[0] + 0.5 * float(np.sum(((states - self.states.mean) / self.states.std) ** 2))
        gradient = slope.T @ (by_columns / self.dispersion + prior.linearise(values)[0])
        return data / self.dispersion + prior.cost(values), gradient

    def fragment_costs(self, z: np.ndarray, states: np.ndarray) -> np.ndarray:
        """(K, B) what each fragment adds to the objective from K alternatives (K, B, 2n) of its initial state."""
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.all(np.abs(self.unknowns.decode(z)) < _BEYOND_ANY_ROBOT):
                return np.full(states.shape[:2], np.inf)
        n, physics = states.shape[2] // 2, self.unknowns.physics(z)
        rolled = self.engine.predict_many([physics] * len(states), self.fragments, states[..., :n], states[..., n:])
        with np.errstate(over="ignore", invalid="ignore"):
            losses = [_huber(self.residual.values(r, self.fragments), self.robust)[0].sum(axis=1) for r in rolled]
            costs = 0.5 * (np.array(losses) + np.sum(((states - self.states.mean) / self.states.std) ** 2, axis=2))
            costs /= self.dispersion
        return np.where(np.isfinite(costs), costs, np.inf)

    def linearise(self, z: np.ndarray, states: np.ndarray) -> Linearised:
        slope, share = self.unknowns.slope(z), 1 / self.dispersion
        chunks = self._chunks(z, states)
        a = share * (slope.T @ sum(chunk.a for chunk in chunks) @ slope)
        scores = share * np.concatenate([chunk.scores for chunk in chunks])
        gradient = slope.T @ scores.sum(axis=0)
        c = share * (slope.T @ np.concatenate([chunk.c for chunk in chunks]))
        e = share * np.concatenate([chunk.e for chunk in chunks])
        state_gradient = share * np.concatenate([chunk.state_gradient for chunk in chunks])

        values, state_information = self.unknowns.decode(z), share / self.states.std**2
        state_offset = states - self.states.mean
        prior_gradient, prior_information = self.unknowns.prior.linearise(values)
        prior_information = slope.T @ prior_information @ slope
        cost = share * sum(chunk.cost for chunk in chunks) + self.unknowns.prior.cost(values)
        cost += 0.5 * float(np.sum(state_information * state_offset**2))
        return Linearised(
            cost=cost,
            gradient=gradient + slope.T @ prior_gradient,
            a=a + prior_information,
            c=c,
            e=e + np.diag(state_information),
            state_gradient=state_gradient + state_information * state_offset,
            prior_information=prior_information,
            scores=scores @ slope,
        )

    def by_fragment(self, z: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(B, P, P) information of each fragment about z and (B, P) its gradient, its initial state eliminated."""
        chunks = self._chunks(z, states, one_by_one=True)
        slope, state_information = self.unknowns.slope(z), 1 / self.states.std**2
        c = np.concatenate([chunk.c for chunk in chunks])
        e = np.concatenate([chunk.e for chunk in chunks]) + np.diag(state_information)
        state_gradient = np.concatenate([chunk.state_gradient for chunk in chunks])
        state_gradient = state_gradient + state_information * (states - self.states.mean)
        gains = np.linalg.solve(e, np.concatenate([c.swapaxes(1, 2), state_gradient[..., None]], axis=2))
        information = np.concatenate([chunk.a for chunk in chunks]) - c @ gains[..., :-1]
        scores = np.concatenate([chunk.scores for chunk in chunks]) - (c @ gains[..., -1:])[..., 0]
        return slope.T @ information @ slope / self.dispersion, scores @ slope / self.dispersion

    def _chunks(self, z: np.ndarray, states: np.ndarray, *, one_by_one: bool = False) -> list[Linearised]:
        """The data's part by the columns, a few fragments at a time; `a` is their sum or (B, P, P), one by one."""
        physics, count = self.unknowns.physics(z), self.fragments.count
        workers = self.workers or Workers(self.engine, processes=1)
        parts = max(-(-count // _CHUNK), min(workers.processes, count))
        pieces = [
            _Piece(
                physics,
                self.unknowns.columns,
                self.fragments.chosen(which),
                states[which],
                self.residual,
                self.robust,
                self.estimate_states,
                one_by_one,
            )
            for which in np.array_split(np.arange(count), parts)
        ]
        return workers.map(_linearise_piece, pieces)

    def readings(self, z: np.ndarray, states: np.ndarray) -> np.ndarray:
        """(B, N + 1, n) predicted encoder readings."""
        return self.predicted(z, states)[..., : states.shape[1] // 2]

    def predicted(self, z: np.ndarray, states: np.ndarray) -> np.ndarray:
        """(B, N + 1, n + s) the same with those of the further sensors."""
        n = states.shape[1] // 2
        return self.engine.predict(self.unknowns.physics(z), self.fragments, states[:, :n], states[:, n:])

    def chosen(self, which: np.ndarray) -> Problem:
        """The same of the fragments at these indices (or where this mask is true)."""
        states = replace(self.states, mean=self.states.mean[which])
        return replace(self, fragments=self.fragments.chosen(which), states=states)

    def shortened(self, rows: int) -> Problem:
        return replace(self, fragments=self.fragments.shortened(rows))


@dataclass(frozen=True)
class _Piece:
    """A few fragments to linearise, with all that this takes."""

    physics: Physics
    columns: list[Column]
    fragments: Fragments
    states: np.ndarray
    residual: Residual
    robust: float | None
    estimate_states: bool
    one_by_one: bool


def _linearise_piece(engine: Engine, piece: _Piece) -> Linearised:
    """The data's part of the normal equations, by the columns themselves."""
    n, fragments, residual = piece.states.shape[1] // 2, piece.fragments, piece.residual
    found = engine.jacobian(piece.physics, piece.columns, fragments, piece.states[:, :n], piece.states[:, n:])
    values = residual.values(found.readings, fragments)
    loss, weight = _huber(values, piece.robust)
    root = np.sqrt(weight)[..., None]
    by_parameter = residual.slope(found.readings, found.by_parameter) * root
    by_state = residual.slope(found.readings, found.by_state) * (root if piece.estimate_states else 0.0)
    weighted = values * root[..., 0]
    flat = by_parameter if piece.one_by_one else by_parameter.reshape(values.size, len(piece.columns))
    state_transposed = by_state.swapaxes(1, 2)
    scores = (by_parameter.swapaxes(1, 2) @ weighted[..., None])[..., 0]
    return Linearised(
        cost=0.5 * float(np.sum(loss)),
        gradient=scores.sum(axis=0),
        a=flat.swapaxes(-1, -2) @ flat,
        c=by_parameter.swapaxes(1, 2) @ by_state,
        e=state_transposed @ by_state,
        state_gradient=(state_transposed @ weighted[..., None])[..., 0],
        prior_information=np.zeros((0, 0)),
        scores=scores,
    )


def _huber(values: np.ndarray, threshold: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Loss 2ρ(r) and the weight of r² that has the same gradient."""
    if threshold is None:
        return values**2, np.ones_like(values)
    size = np.abs(values)
    inside = size <= threshold
    loss = np.where(inside, values**2, 2 * threshold * size - threshold**2)
    return loss, np.where(inside, 1.0, threshold / np.maximum(size, threshold))
