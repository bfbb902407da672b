"""Doubts: what came out, and why it should not be trusted, by the names of the joints and parameters.

Comes in: the fits of both stages. Goes out: sentences, each with what was found, what was expected and what to do.

- a joint whose readings no model explains: residuals beyond its noise that last from row to row (a jammed joint, links
  that touch, a clamp that slips);
- a stretch of a recording that is missed far more than the rest, though the joints as a whole are not;
- where nothing else is said: fragments that disagree, so that their squares were divided by a dispersion;
- a robot far outside its prior: a wrong gain of a joint looks like a wrong mass or CoM of what it carries;
- friction and stiffness of a floor: a foot that slips or lifts makes jumps that no derivative sees;
- a base that stage 2 moved away from stage 1's estimate. With δ the move, Σ₁ stage 1's covariance and Σ₂ stage 2's,
  χ² = δᵀ Σ₁⁻¹ δ has the mean k = tr(1 − Σ₁⁻¹Σ₂) and the variance 2·tr((1 − Σ₁⁻¹Σ₂)²) if one robot made both. A
  dispersion would hide here what the model leaves out of the loaded robot, so every row of stage 2 counts for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np
from scipy.special import chdtri

from haloid.engines.physics import LINK_KINDS
from haloid.identify.data.dataset import Dataset
from haloid.identify.problem.unknowns import Unknowns
from haloid.identify.solvers.fit import Fit
from haloid.recordings.recording import Recording

_LASTING = 0.3
"""Autocorrelation of a joint's residuals, from row to row, that noise does not have."""
_MISSED_NOISES, _LEAST_NOISE_RAD = 1.3, 1e-4
"""A joint is missed when its residuals are this many times its noise, which counts as at least this much."""
_UNUSUAL, _UNUSUAL_STDS, _FALSE_ALARMS = 1.3, 5.0, 1e-4
"""Fragments missed this many times the usual (their median), by so many standard deviations of what they scatter, and
further than independent noise does in any fragment, but for this share of fits."""
_NORMAL_MAD = 0.6745
_FAR_STDS = 4.0
"""A parameter this many prior standard deviations from the data sheet."""
_DRAGGED_STDS = 5.0
"""A χ² this many standard deviations beyond its mean."""
_ROUGH_FLOOR = ("floor_friction", "floor_stiffness")
_NAMED = 3


def misfit(fit: Fit, dataset: Dataset, stage: str) -> list[str]:
    """About joints that the best model misses."""
    residuals = fit.problem.readings(fit.z, fit.states) - fit.problem.fragments.readings
    rms = np.sqrt(np.mean(residuals**2, axis=(0, 1)))
    noise = np.maximum(dataset.noise_by_joint_rad, _LEAST_NOISE_RAD)
    missed = (rms > _MISSED_NOISES * noise) & (_lag1_by_joint(residuals) > _LASTING)
    if not missed.any():
        return []
    joints = fit.unknowns.base.joints
    worst = sorted(np.flatnonzero(missed), key=lambda j: -rms[j] / noise[j])
    shown = _listed([f"{joints[j]} by {1e3 * rms[j]:.2g} mrad (its noise is {1e3 * noise[j]:.2g})" for j in worst])
    return [
        f"{stage}: no model explains the readings of {shown}. Does a joint jam, do links touch, does the clamp slip, "
        "or are the gains of a joint not those of the recording? The error bars do not cover this. For simulated data, "
        "give --timestep as simulated"
    ]


def unusual_stretches(fit: Fit, recordings: Sequence[Recording], stage: str) -> list[str]:
    """About stretches in which the robot was not the one it is elsewhere."""
    fragments = fit.problem.fragments
    squares = np.mean((fit.problem.readings(fit.z, fit.states) - fragments.readings) ** 2, axis=1)  # (B, n)
    squares = squares / np.maximum(np.mean(squares, axis=0), 1e-300)
    size, count = squares.mean(axis=1), fragments.readings[0].size
    usual = np.median(size)
    scatter = np.median(np.abs(size - usual)) / _NORMAL_MAD
    by_chance = usual * chdtri(count, _FALSE_ALARMS / len(size)) / count  # χ² beyond which so few are
    unusual = size > max(_UNUSUAL**2 * usual, usual + _UNUSUAL_STDS * scatter, by_chance)
    found = []
    for i, recording in enumerate(recordings):
        which = unusual & (fragments.recording_index == i)
        if not which.any():
            continue
        from_s, to_s = (recording.time_s[fragments.start_row[which] + n] for n in (0, fragments.rows))
        joint = fit.unknowns.base.joints[int(np.argmax(squares[which].mean(axis=0)))]
        found.append(
            f"{stage}: {recording.title} is missed {np.sqrt(size[which].max() / usual):.1f} times as far as usual "
            f"between {from_s.min():.1f} and {to_s.max():.1f} s (in {which.sum()} of "
            f"{np.sum(fragments.recording_index == i)} fragments), most at {joint}. Did the clamp slip, did links "
            "touch, or did a joint jam there? Leave that part out and compare"
        )
    return found


def disagreement(fit: Fit, stage: str) -> list[str]:
    """About recordings that no single robot explains, where nothing tells which part of them it is."""
    dispersion = fit.problem.dispersion
    if dispersion <= 1:
        return []
    return [
        f"{stage}: its fragments disagree about the robot {dispersion:.1f} times as much as noise lets them (in "
        "variance). A clamp that slips slowly, a joint that warms up, or friction that the model does not have looks "
        "like this. Rows count so many times less for it, but error bars may still be too narrow"
    ]


def beyond_prior(stage1: Fit, model: mujoco.MjModel) -> list[str]:
    """About a robot far from its data sheet."""
    prior, columns = stage1.unknowns.prior, stage1.unknowns.columns
    std = 1 / np.sqrt(np.maximum(np.diag(prior.information), 1e-300))
    away = (stage1.by_rows.values - prior.mean) / std
    far = sorted((i for i in range(len(columns)) if abs(away[i]) > _FAR_STDS), key=lambda i: -abs(away[i]))
    if not far:
        return []
    shown = _listed([f"{columns[i].name} ({away[i]:+.1f} standard deviations)" for i in far])
    joints = dict.fromkeys(_joint_of(model, columns[i].owner, columns[i].kind) for i in far)
    suspects = _listed([joint for joint in joints if joint])
    return [
        f"stage 1: the robot would be far from its data sheet: {shown}. A wrong gain or a jam of {suspects} looks like "
        "this; if the robot is known that badly, its payload is found, but its own parameters are not"
    ]


def rough_floor(stage1: Fit) -> list[str]:
    """About what is found of a floor and is wrong by more than its error bars: in the lab a friction of 0.7 came out as
    0.93 ± 0.06, and a stiffness of 1.4, with height and friction free too, as 2.5 ± 0.3."""
    columns = stage1.unknowns.columns
    rough = [i for i, column in enumerate(columns) if column.kind in _ROUGH_FLOOR]
    if not rough:
        return []
    found = " and ".join(f"{columns[i].name} {stage1.values[i]:.2f}" for i in rough)
    return [
        f"stage 1: {found} may be off by several times the error bars: a foot that slips or lifts makes jumps that no "
        "derivative sees. Leave this out of --base-parameters unless the fit is poor without it"
    ]


@dataclass(frozen=True)
class Drag:
    """How far stage 2 moved the robot away from stage 1's estimate."""

    chi2: float
    mean: float
    """Expected of it, if one robot made both."""
    spread: float
    shown: str
    """What moved the most."""
    dispersion: float = 1.0
    """Of the variances as fitted, over those of a fit in which every row counts."""
    factor: float = 1.0
    """Of all variances as fitted: with error bars this much wider the stages agree."""

    @property
    def beyond_chance(self) -> bool:
        return self.chi2 > self.mean + _DRAGGED_STDS * self.spread

    def __str__(self) -> str:
        return (
            f"stage 2: the loaded recordings moved the robot itself away from what the unloaded ones said "
            f"(χ² {self.chi2:.0f}, expected {self.mean:.0f} ± {self.spread:.0f}): {self.shown}. Something else changed "
            f"with the load, or the model leaves something out. All error bars are {self._wider:.1f} times "
            "wider for it. Compare with --base frozen, which leaves the robot as stage 1 found it"
        )

    @property
    def _wider(self) -> float:
        return float(np.sqrt(self.dispersion * self.factor))


def drag_of(stage2: Fit, payload_columns: int) -> Drag | None:
    """What the loaded recordings did to a base that the unloaded ones had found; None where there is none."""
    rest = list(range(payload_columns, len(stage2.unknowns.columns)))
    if not rest:
        return None
    fitted = _drag(stage2.unknowns, stage2.values, stage2.information, rest)
    factor = fitted.chi2 / max(fitted.mean, 1.0) if fitted.beyond_chance else 1.0
    by_rows = _drag(stage2.unknowns, stage2.by_rows.values, stage2.by_rows.information, rest)
    return replace(by_rows, dispersion=stage2.problem.dispersion, factor=factor)


def _drag(unknowns: Unknowns, values: np.ndarray, data_information: np.ndarray, rest: list[int]) -> Drag:
    prior, columns = unknowns.prior, unknowns.columns
    information = prior.information[np.ix_(rest, rest)]
    move = values[rest] - prior.mean[rest]
    after = np.linalg.inv(data_information + prior.information)[np.ix_(rest, rest)]
    left = np.eye(len(rest)) - information @ after
    chi2, mean = float(move @ information @ move), max(float(np.trace(left)), 0.0)
    spread = np.sqrt(2 * max(float(np.trace(left @ left)), 1.0))
    before = np.linalg.inv(information)
    expected = np.sqrt(np.maximum(np.diag(before - after), 1e-6 * np.diag(before)))
    worst = np.argsort(-np.abs(move) / expected)[:_NAMED]
    shown = ", ".join(f"{columns[rest[i]].name} {prior.mean[rest[i]]:.3g} to {values[rest[i]]:.3g}" for i in worst)
    return Drag(chi2, mean, float(spread), shown)


def _lag1_by_joint(residuals: np.ndarray) -> np.ndarray:
    """(n,) within fragments (B, N + 1, n); the first rows hold the fit of the state."""
    later, earlier = residuals[:, 3:], residuals[:, 2:-1]
    return np.sum(later * earlier, axis=(0, 1)) / np.maximum(np.sum(residuals[:, 2:] ** 2, axis=(0, 1)), 1e-300)


def _joint_of(model: mujoco.MjModel, owner: str, kind: str) -> str:
    """The joint itself, or the one that a link hangs on."""
    if kind not in LINK_KINDS:
        return owner
    body = model.body(owner).id
    while body > 0 and model.body_jntnum[body] == 0:
        body = int(model.body_parentid[body])
    return model.joint(int(model.body_jntadr[body])).name if body > 0 else ""


def _listed(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
