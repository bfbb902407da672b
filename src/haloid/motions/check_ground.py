"""Motions, checks of the ground: sinking in, floating, and feet that slide while they stand.

In: a whole `Motion`. Out: findings. The ground is the plane z = 0; where a whole clip floats, feet are judged against
the clip's own lowest level.
"""

from collections.abc import Iterator

import mujoco
import numpy as np
from scipy.ndimage import median_filter

from haloid.motions.finding import Finding, spans
from haloid.motions.stance import Touch, touches
from haloid.motions.surface import Surface, surface_of
from haloid.trajectories.motion import Motion

PENETRATION_WARNING_M, PENETRATION_ERROR_M = 0.01, 0.05
FLOATING_CLIP_M = 0.02
"""A clip whose lowest point is never below this does not touch the ground."""
AIRBORNE_M, LONGEST_FLIGHT_S = 0.05, 0.7
"""Nothing below this height for longer than a high jump takes: floating."""
CONTACT = Touch(low_m=0.01, slow_vertical_m_s=0.3)
"""A sole's point is in contact when it is this low and hardly moves up or down."""
SLIDING_M_S, SLIDING_S = 0.25, 0.1
"""A foot slides when its contact moves faster than this, for this long."""


def ground_findings(motion: Motion, model: mujoco.MjModel) -> list[Finding]:
    surface = surface_of(model)
    points_w_m = surface.lowest_w_m(motion)
    lowest_m = points_w_m[..., 2].min(axis=1)
    level_m = lowest_m.min() if lowest_m.min() > FLOATING_CLIP_M else 0.0
    findings = [*_penetration(motion, model, surface, points_w_m), *_floating(motion, lowest_m)]
    for foot in surface.foot_ids:
        soles = points_w_m[:, surface.of(foot)] - [0.0, 0.0, level_m]
        findings += _sliding(model.body(foot).name, soles, motion.rate_hz)
    return findings


def _penetration(motion: Motion, model: mujoco.MjModel, surface: Surface, points_w_m: np.ndarray) -> Iterator[Finding]:
    for body in np.unique(surface.body_ids):
        depth_m = -points_w_m[:, surface.of(int(body)), 2].min(axis=1)
        if depth_m.max() > PENETRATION_WARNING_M:
            at = np.flatnonzero(depth_m > PENETRATION_WARNING_M) / motion.rate_hz
            yield Finding(
                "sinks into the ground",
                model.body(int(body)).name,
                at[0],
                at[-1],
                depth_m.max(),
                PENETRATION_WARNING_M,
                "m",
                "Convert with --repair or --ground clip.",
                "error" if depth_m.max() > PENETRATION_ERROR_M else "warning",
            )


def _floating(motion: Motion, lowest_m: np.ndarray) -> Iterator[Finding]:
    end_s = (len(lowest_m) - 1) / motion.rate_hz
    if lowest_m.min() > FLOATING_CLIP_M:
        advice = "Convert with --ground clip, or --ground contact if the height drifts."
        yield Finding("the whole clip floats", "", 0.0, end_s, lowest_m.min(), FLOATING_CLIP_M, "m", advice)
        return
    flights_s = [(first / motion.rate_hz, last / motion.rate_hz) for first, last in spans(lowest_m > AIRBORNE_M)]
    start_s, stop_s = max(flights_s, key=lambda flight: flight[1] - flight[0], default=(0.0, 0.0))
    if stop_s - start_s > LONGEST_FLIGHT_S:
        advice = "Convert with --ground contact."
        yield Finding("floats", "", start_s, stop_s, stop_s - start_s, LONGEST_FLIGHT_S, "s", advice)


def _sliding(foot: str, soles_w_m: np.ndarray, fps: float) -> Iterator[Finding]:
    """The slowest of the points in contact counts: a foot that rolls over its heel or toe does not slide."""
    velocity_m_s = np.gradient(soles_w_m, 1 / fps, axis=0)
    in_contact = touches(soles_w_m[..., 2], velocity_m_s, CONTACT)
    speed_m_s = np.where(in_contact, np.linalg.norm(velocity_m_s[..., :2], axis=2), np.inf).min(axis=1)
    speed_m_s[~in_contact.any(axis=1)] = 0.0
    sustained_m_s = median_filter(speed_m_s, max(1, 2 * int(SLIDING_S * fps / 2) + 1), mode="nearest")
    sliding = sustained_m_s > SLIDING_M_S
    if sliding.any():
        first, last = max(spans(sliding), key=lambda span: sustained_m_s[span[0] : span[1] + 1].max())
        yield Finding(
            "slides on the ground",
            foot,
            first / fps,
            last / fps,
            sustained_m_s.max(),
            SLIDING_M_S,
            "m/s",
            "Convert with --repair.",
            "warning",
        )
