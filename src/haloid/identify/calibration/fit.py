"""The fit of calibration: servos whose joints, each simulated on its own, read what was read.

Unknown of a joint are, as logarithms, kp and its other properties as kp sees them: damping/kp (the lag, s),
frictionloss/kp (the angle within which it sticks), armature/kp (s²) and effort/kp (the error at which it saturates).
In these the one direction that a joint without gravity cannot see, all forces larger by one factor, is kp alone. Priors
are wide, and scale with the servo instead of being those of one robot, but for two: servos given the same gain are
taken to be alike within 30 %, and rotors, which no firmware changes, to be the model's within 30 % where it names them
(slow motion does not show them, and fast motion needs them). A start is found on a log grid; the delay, in which
readings are least smooth, has a grid of its own. A joint that never moves, nor is asked to, is the prior's: its
readings have no weight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from haloid.identify.calibration.lone_joint import KINDS, LONGEST_DELAY_S, Windows, simulate

_LAG_S, _STICK_RAD, _ARMATURE_S2 = 0.05, 0.01, 0.002
_PRIOR_STD = np.array([0.3, 2.0, 2.0, 2.0, 0.7])
"""Of log kp about the servos' common factor, of the ratios about the typical values above, of log effort about the
model's."""
_ROTOR_STD = 0.3
"""Of log armature about the model's, where it has one."""
_FIRST_KP_STD = 3.0
_SATURATION_RAD = (0.003, 3.0)
"""The grid of gains: full torque at an error of 3 mrad to 3 rad."""
_BOUNDS = np.log(np.array([[1e-3, 1e5], [1e-4, 5.0], [1e-5, 1.0], [1e-7, 0.5], [1e-4, 1e3]]))
_NUDGE = 0.03
"""Wide enough to look across the edges of stick and slip."""
_ROWS_ALIKE = 20
"""Residuals of neighbouring rows are alike: this many count as one."""
_LEAST_LEFT_RAD = 1e-4
"""Nothing is weighted as if a servo were known better: a joint that jams is met exactly by any friction."""
_CLUSTER_S = 4.0
"""Residuals this far apart are taken to be independent."""
_WEIGHT_STD = 0.02
"""Of the links' weight about the model's: the scale that all forces of a joint are known by."""
_DAMPINGS = (0.1, 1.0, 10.0, 100.0)
COARSE_DELAYS_S = np.array([0.0, 0.01, 0.02, 0.035, 0.05])
_FINE_STEP_S = 0.005
_FINE_S = _FINE_STEP_S * np.arange(3)

Say = Callable[[str], None]


@dataclass(frozen=True)
class ServoFit:
    """The servos of all joints; arrays in the order of `joint_names`, columns in that of KINDS."""

    joint_names: tuple[str, ...]
    servos: np.ndarray
    """(n, 5)"""
    log_std: np.ndarray
    """(n, 5) standard deviations of their logarithms: White's sandwich with a few seconds of readings as a cluster, and
    what errors of the delay and of the links' weight do to them."""
    delay_s: np.ndarray
    """(n,)"""
    delay_std_s: np.ndarray
    moved: np.ndarray
    """(n,) whether the data shows anything of the joint's servo."""
    kp_seen: np.ndarray
    """(n,) whether the data shows kp better than the other servos do."""
    converged: bool
    iterations: int


@dataclass(frozen=True)
class _Prior:
    """½‖(B z − mean)/std‖² with B z = (kp, lag, stick, armature or armature/kp, effort), all logarithms."""

    mean: np.ndarray
    """(n, 5)"""
    std: np.ndarray
    rotor_known: np.ndarray
    """(n,)"""

    @property
    def _rows(self) -> np.ndarray:
        """(n, 5, 5) B/std"""
        rows = np.tile(np.eye(len(KINDS)), (len(self.mean), 1, 1))
        rows[:, 4, 0], rows[:, 3, 0] = 1.0, self.rotor_known
        return rows / self.std[:, :, None]

    def _error(self, z: np.ndarray) -> np.ndarray:
        return np.einsum("jab,...jb->...ja", self._rows, z) - self.mean / self.std

    def cost(self, z: np.ndarray) -> np.ndarray:
        return 0.5 * np.sum(self._error(z) ** 2, axis=-1)

    def gradient(self, z: np.ndarray) -> np.ndarray:
        return np.einsum("jab,...ja->...jb", self._rows, self._error(z))

    @property
    def information(self) -> np.ndarray:
        """(n, 5, 5)"""
        return np.swapaxes(self._rows, 1, 2) @ self._rows


def decode(z: np.ndarray) -> np.ndarray:
    """(..., 5) coordinates to servos."""
    z = np.clip(z, _BOUNDS[:, 0], _BOUNDS[:, 1])
    values = z.copy()
    values[..., 1:] += z[..., :1]
    return np.exp(values)


def fit_servos(
    windows: Windows,
    few: Windows,
    effort_nm: np.ndarray,
    armature: np.ndarray,
    recorded_kp: np.ndarray,
    *,
    shared_delay: bool = False,
    say: Say | None = None,
) -> ServoFit:
    """Finds the servos, roughly from `few` short windows and then from all `windows`.

    `effort_nm` (n,) are the model's limits, infinite where it has none; `armature` (n,) its rotors in kg·m², 0 where it
    names none.
    """
    say = say or (lambda _: None)
    n = len(windows.joint_names)
    limited = np.isfinite(effort_nm)
    effort = np.where(limited, effort_nm, 1e3 * recorded_kp)
    say("looking for gains")
    z, sigma = _grid(few, effort, np.where(limited, effort, recorded_kp * 0.1))
    wide = _prior(z[:, 0], effort, np.zeros(n), _FIRST_KP_STD)
    starts = np.repeat(z[None], len(COARSE_DELAYS_S), axis=0)
    delays = np.repeat(COARSE_DELAYS_S[:, None], n, axis=1)
    coarse = _levenberg_marquardt(few, starts, delays, wide, sigma, 8, "coarse", say)
    best = _choose(coarse.cost, few.moved, shared_delay)
    z, delay = coarse.z[best, np.arange(n)], delays[best, np.arange(n)]
    common = _common_factor(z[:, 0] - np.log(recorded_kp), coarse.information[best, np.arange(n)])
    prior = _prior(common + np.log(recorded_kp), effort, armature, _PRIOR_STD[0])
    sigma = _left(windows, z, delay)
    near = _levenberg_marquardt(windows, z[None], delay[None], prior, sigma, 4, "near", say)
    z = near.z[0]
    sigma = _left(windows, z, delay)  # of a good fit: data that a model meets well must outweigh the prior
    latest = LONGEST_DELAY_S - 2 * windows.timestep_s - _FINE_S[-1]
    delays = np.clip(delay - _FINE_STEP_S, 0.0, latest) + _FINE_S[:, None]
    fine = _levenberg_marquardt(
        windows, np.repeat(z[None], len(_FINE_S), axis=0), delays, prior, sigma, 6, "delay", say
    )
    best = _choose(fine.cost, windows.moved, shared_delay)
    delay = delays[best, np.arange(n)]
    last = _levenberg_marquardt(windows, fine.z[best, np.arange(n)][None], delay[None], prior, sigma, 8, "last", say)
    return _concluded(windows, last, delay, fine, delays, prior, shared_delay)


def _prior(log_kp: np.ndarray, effort: np.ndarray, armature: np.ndarray, kp_std: float) -> _Prior:
    n, known = len(effort), armature > 0
    typical = np.log([_LAG_S, _STICK_RAD, _ARMATURE_S2])
    mean = np.column_stack([log_kp, np.tile(typical, (n, 1)), np.log(effort)])
    std = np.tile([kp_std, *_PRIOR_STD[1:]], (n, 1))
    mean[known, 3], std[known, 3] = np.log(armature[known]), _ROTOR_STD
    return _Prior(mean, std, known)


def _grid(windows: Windows, effort: np.ndarray, torque_nm: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n, 5) the best servo of a log grid for every joint, and (n,) the scale of what it leaves."""
    gains = 1 / np.geomspace(*_SATURATION_RAD, 13)
    lags, sticks = np.array([0.02, 0.06, 0.2]), np.array([0.002, 0.01, 0.05])
    guesses = np.array([(g, lag, stick) for g in gains for lag in lags for stick in sticks])
    z = np.empty((len(guesses), len(effort), len(KINDS)))
    z[..., 0] = np.log(guesses[:, :1] * torque_nm)
    z[..., 1], z[..., 2] = np.log(guesses[:, 1:2]), np.log(guesses[:, 2:3])
    z[..., 3] = np.log(_ARMATURE_S2)
    z[..., 4] = np.log(effort) - z[..., 0]
    error = simulate(windows, decode(z), np.full(z.shape[:2], 0.02)) - windows.read_rad
    squares = _mean_square(error, windows)
    best = np.argmin(squares, axis=0)
    joint = np.arange(len(effort))
    return z[best, joint], _scale_of(squares[best, joint], windows)


@dataclass(frozen=True)
class _Descent:
    z: np.ndarray
    """(S, n, 5)"""
    cost: np.ndarray
    """(S, n)"""
    information: np.ndarray
    """(S, n, 5, 5) with the prior's."""
    scores: np.ndarray
    """(S, C, n, 5) each cluster's gradient."""
    iterations: int
    converged: bool


def _levenberg_marquardt(
    windows: Windows,
    z: np.ndarray,
    delay_s: np.ndarray,
    prior: _Prior,
    sigma: np.ndarray,
    iterations: int,
    what: str,
    say: Say,
) -> _Descent:
    """Every start and joint descends by itself, four step lengths tried at once; differences are central and wide."""
    starts, n, p = z.shape
    z, damping = z.copy(), np.full((starts, n), 1e-2)
    residual = _residual(windows, z, delay_s, sigma)
    cost = _cost(residual, z, prior)
    converged = False
    for iteration in range(1, iterations + 2):
        jacobian = _jacobian(windows, z, delay_s, sigma)  # (S, p, W, L, n)
        information = np.einsum("sawtj,sbwtj->sjab", jacobian, jacobian, optimize=True) + prior.information
        scores = _scores(jacobian, residual, max(1, round(_CLUSTER_S / (windows.steps * windows.timestep_s))))
        if iteration > iterations or converged:
            break
        gradient = scores.sum(axis=1) + prior.gradient(z)
        scale = np.einsum("sjaa->sja", information)
        tried = np.stack([_step(z, information, scale, gradient, damping * factor) for factor in _DAMPINGS], axis=1)
        late = np.repeat(delay_s, len(_DAMPINGS), axis=0)
        flat = tried.reshape(-1, n, p)
        residuals = _residual(windows, flat, late, sigma)
        costs = _cost(residuals, flat, prior).reshape(starts, -1, n)
        residuals = residuals.reshape(starts, len(_DAMPINGS), *residual.shape[1:])
        before = cost.sum(axis=1).min()
        for s, j in np.ndindex(starts, n):
            k = int(np.argmin(costs[s, :, j]))
            if costs[s, k, j] < cost[s, j]:
                z[s, j], cost[s, j], residual[s, ..., j] = tried[s, k, j], costs[s, k, j], residuals[s, k, ..., j]
                damping[s, j] = np.clip(damping[s, j] * _DAMPINGS[k], 1e-6, 1e4)
            else:
                damping[s, j] = min(damping[s, j] * 30, 1e5)
        converged = cost.sum(axis=1).min() > before * (1 - 1e-3)
        say(f"{what}, iteration {iteration}, cost {cost.sum(axis=1).min():.5g}")
    return _Descent(z, cost, information, scores, iteration - 1, converged)


def _scores(jacobian: np.ndarray, residual: np.ndarray, rows: int) -> np.ndarray:
    """(S, C, n, 5) gradients of clusters of this many rows of a window."""
    parts = [slice(start, start + rows) for start in range(0, residual.shape[2], rows)]
    summed = [
        np.einsum("sawtj,swtj->swja", jacobian[:, :, :, part], residual[:, :, part], optimize=True) for part in parts
    ]
    return np.concatenate(summed, axis=1)


def _step(
    z: np.ndarray, information: np.ndarray, scale: np.ndarray, gradient: np.ndarray, damping: np.ndarray
) -> np.ndarray:
    matrix = information + (damping[..., None] * scale)[..., None] * np.eye(z.shape[-1])
    step = -np.linalg.solve(matrix, gradient[..., None])[..., 0]
    return np.clip(z + np.clip(step, -1.0, 1.0), _BOUNDS[:, 0], _BOUNDS[:, 1])


def _residual(windows: Windows, z: np.ndarray, delay_s: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """(S, W, L, n); a guess whose joint runs away has a residual that is large, not infinite."""
    error = (simulate(windows, decode(z), delay_s) - windows.read_rad) * windows.valid[:, :, None]
    return np.nan_to_num(np.clip(error, -10.0, 10.0), nan=10.0) / sigma


def _jacobian(windows: Windows, z: np.ndarray, delay_s: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    starts, n, p = z.shape
    nudged = (z[:, None] + _NUDGE * np.concatenate([np.eye(p), -np.eye(p)])[None, :, None]).reshape(-1, n, p)
    readings = _residual(windows, nudged, np.repeat(delay_s, 2 * p, axis=0), sigma)
    readings = readings.reshape(starts, 2 * p, *readings.shape[1:])
    return (readings[:, :p] - readings[:, p:]) / (2 * _NUDGE)


def _cost(residual: np.ndarray, z: np.ndarray, prior: _Prior) -> np.ndarray:
    return 0.5 * np.sum(residual**2, axis=(1, 2)) + prior.cost(z)


def _mean_square(error: np.ndarray, windows: Windows) -> np.ndarray:
    """(K, n) with runaways as large numbers."""
    square = np.nan_to_num(np.clip(error, -10.0, 10.0), nan=10.0) ** 2 * windows.valid[:, :, None]
    return square.sum(axis=(1, 2)) / windows.valid.sum()


def _left(windows: Windows, z: np.ndarray, delay_s: np.ndarray) -> np.ndarray:
    """(n,) the scale of what these servos leave of the readings."""
    error = simulate(windows, decode(z)[None], delay_s[None]) - windows.read_rad
    return _scale_of(_mean_square(error, windows)[0], windows)


def _scale_of(square: np.ndarray, windows: Windows) -> np.ndarray:
    """(n,) what residuals are divided by; infinite where a joint does not move."""
    return np.where(windows.moved, np.sqrt(np.maximum(square, _LEAST_LEFT_RAD**2) * _ROWS_ALIKE), np.inf)


def _choose(cost: np.ndarray, moved: np.ndarray, shared: bool) -> np.ndarray:
    """(n,) which of the starts (S, n) each joint takes: its own best, or the one that is best for all."""
    return np.where(moved & (not shared), np.argmin(cost, axis=0), np.argmin(cost.sum(axis=1)))


def _common_factor(log_factor: np.ndarray, information: np.ndarray) -> float:
    """The gains' common factor on what was recorded, each joint weighted by how well it knows its own."""
    variance = np.array([np.linalg.inv(matrix)[0, 0] for matrix in information])
    weight = 1 / (variance + _PRIOR_STD[0] ** 2)
    return float(np.sum(weight * log_factor) / np.sum(weight))


def _concluded(
    windows: Windows,
    last: _Descent,
    delay: np.ndarray,
    fine: _Descent,
    delays: np.ndarray,
    prior: _Prior,
    shared: bool,
) -> ServoFit:
    """`fine` are the servos fitted at each of `delays`: how they follow the delay tells what its error does to them."""
    n = len(windows.joint_names)
    to_log = np.eye(len(KINDS))
    to_log[1:, 0] = 1.0  # log damping = log lag + log kp, and so on
    profile = np.repeat(fine.cost.sum(axis=1)[:, None], n, axis=1) if shared else fine.cost
    half_step_s = windows.timestep_s / 2  # a simulated servo acts on what it reads by so much earlier than a real one
    delay_std = np.hypot(half_step_s, [profile_std(delays[:, j], profile[:, j]) for j in range(n)])
    log_std, seen = np.empty((n, len(KINDS))), np.empty(n, bool)
    for j in range(n):
        inverse = np.linalg.inv(last.information[0, j])
        score = last.scores[0, :, j]
        score = score[np.any(score != 0, axis=1)]
        small_sample = len(score) / max(1, len(score) - len(KINDS))
        covariance = inverse @ (small_sample * score.T @ score + prior.information[j]) @ inverse
        by_delay = (fine.z[-1, j] - fine.z[0, j]) / (delays[-1, j] - delays[0, j])
        covariance += delay_std[j] ** 2 * np.outer(by_delay, by_delay)
        covariance[0, 0] += _WEIGHT_STD**2  # heavier links: all forces larger by one factor, which is kp alone
        log_std[j] = np.sqrt(np.diag(to_log @ covariance @ to_log.T))
        seen[j] = inverse[0, 0] < 0.5 * _PRIOR_STD[0] ** 2
    return ServoFit(
        windows.joint_names,
        decode(last.z[0]),
        log_std,
        delay,
        delay_std,
        windows.moved,
        seen,
        last.converged,
        last.iterations,
    )


def profile_std(delay_s: np.ndarray, cost: np.ndarray) -> float:
    """From the cost over the delays that were tried: its curvature, or its slope where no delay is the best; at least
    the step between them."""
    curve = np.polyfit(delay_s - delay_s[np.argmin(cost)], cost, 2)
    known = max(np.sqrt(max(2 * curve[0], 0.0)), abs(curve[1]), 1 / LONGEST_DELAY_S)
    return max(_FINE_STEP_S / np.sqrt(12), 1 / known)
