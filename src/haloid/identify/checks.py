"""Checks of an identification's inputs and results: what cannot be right is refused with a message."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from haloid.engines.simulate import Simulator
from haloid.identify.data.dataset import DataError
from haloid.identify.solvers.fit import Fit
from haloid.recordings.recording import Recording
from haloid.robots.inertia import find_link

_STRANGE_MASS_STDS = 8.0
"""A base link whose mass is this many prior standard deviations from nominal carries something."""
_STRANGE_MISFIT, _LEAST_MISFIT_RAD = 20.0, 1e-4
"""Residuals this many times the noise that smoothing the readings shows (or this) cannot be of the same robot."""
_HOPELESS_SHARE = 0.5
"""Error bars of a mass beyond this share of the mass (and 0.5 kg) say nothing."""


def check_inputs(
    unloaded: Sequence[Recording], loaded: Sequence[Recording], stages: str, payload_links: Sequence[str]
) -> None:
    if not loaded:
        raise DataError("no loaded recording was given; give at least one with --loaded")
    if not payload_links:
        raise DataError("no payload link was given; name the links that carry the load with --payload-links")
    if len(set(payload_links)) != len(payload_links):
        raise DataError(f"a payload link is named twice in {', '.join(payload_links)}")
    if stages == "two" and not unloaded:
        raise DataError(
            "two stages need unloaded recordings to calibrate the robot with; give them with --unloaded, "
            "or use --stages one to start from the nominal robot"
        )
    for recording in unloaded:
        if recording.payload != "none":
            raise DataError(
                f"{recording.title} was given as unloaded but says payload '{recording.payload}'; give it with "
                "--loaded, or, if the robot carried nothing, convert it with --payload none or set "
                '"payload": "none" in its json'
            )
    for recording in loaded:
        if recording.payload == "none":
            raise DataError(
                f"{recording.title} was given as loaded but says payload 'none'; "
                'give it with --unloaded, or set "payload": "unknown" in its json if the robot carried a load'
            )
    both = {str(r.source) for r in unloaded if r.source} & {str(r.source) for r in loaded if r.source}
    if both:
        raise DataError(f"{sorted(both)[0]} was given both as loaded and as unloaded")


def check_links(simulator: Simulator, payload_links: Sequence[str]) -> None:
    model = simulator.model
    for link in payload_links:
        body = find_link(model, link)
        if model.body_weldid[body] == 0:
            raise DataError(
                f"the payload link '{link}' is the clamped link, whose load no joint feels; clamp another link"
            )


def check_unloaded(stage1: Fit, smoothing_noise_rad: float) -> None:
    """A stage 1 that misses the readings, or is far outside its prior, was given a loaded robot (or another one)."""
    if stage1.noise_rad is not None and smoothing_noise_rad > 0:
        left = float(np.median(stage1.noise_rad))
        if left > _STRANGE_MISFIT * max(smoothing_noise_rad, _LEAST_MISFIT_RAD):
            raise DataError(
                f"the unloaded recordings do not fit the unloaded robot: the best model misses the readings by "
                f"{1e3 * left:.1f} mrad, and their noise is about {1e3 * smoothing_noise_rad:.2f} mrad. Were loaded "
                "recordings given as unloaded, or is it another robot, clamp or gain set?"
            )
    std = 1 / np.sqrt(np.maximum(np.diag(stage1.unknowns.prior.information), 1e-300))
    values = stage1.by_rows.values
    offset = values - stage1.unknowns.prior.mean
    masses = [i for i, column in enumerate(stage1.unknowns.columns) if column.kind == "mass"]
    if not masses or not np.all(std[masses] < 1e100):
        return
    worst = max(masses, key=lambda i: abs(offset[i]) / std[i])
    if abs(offset[worst]) > _STRANGE_MASS_STDS * std[worst]:
        column, total = stage1.unknowns.columns[worst], float(np.sum(offset[masses]))
        raise DataError(
            f"the unloaded recordings do not fit the unloaded robot: {column.owner} would weigh "
            f"{values[worst]:.2f} kg instead of {stage1.unknowns.prior.mean[worst]:.2f} kg (all links together "
            f"{total:+.2f} kg). Were loaded recordings given as unloaded, or is it another robot or gain set?"
        )


def check_informative(stage2: Fit, payload_columns: int) -> None:
    """At least one payload mass must be known to better than half of itself."""
    masses = [i for i, column in enumerate(stage2.unknowns.columns[:payload_columns]) if column.kind == "mass"]
    limits = {i: max(_HOPELESS_SHARE * stage2.values[i], 0.5) for i in masses}
    if masses and all(stage2.std[i] > limits[i] for i in masses):
        best = min(masses, key=lambda i: stage2.std[i] / limits[i])
        raise DataError(
            f"the loaded recordings say almost nothing about the payload: even {stage2.unknowns.columns[best].owner} "
            f"is known only to ± {1.96 * stage2.std[best]:.1f} kg. Move arms and waist more, record longer, "
            "or name fewer payload links"
        )
