"""Prediction: the Cramér–Rao bound of a reference, by playing it on the lab robot without noise.

This is the exact figure, from the analytic engine's Jacobian; the design maximises a surrogate of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from haloid.identify.inspection.bound import Bound, cramer_rao_bound
from haloid.identify.settings import Settings
from haloid.lab.excitation import Reference
from haloid.lab.record import record
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.robots.inertia import read_links

PayloadModel = Literal["body", "halo"]


def settings_for(payload_links: tuple[str, ...], reference: Reference, payload_model: PayloadModel) -> Settings:
    """An identification in one stage whose fragments cover the whole motion once."""
    settings = Settings(payload_links, payload_model, stages="one", held_out=0.0)
    return replace(settings, fragments=len(reference.time_s) // settings.rows)


def predicted_bound(
    robot: LabRobot,
    reference: Reference,
    payload_links: tuple[str, ...],
    noise_rad: float,
    payload_model: PayloadModel = "body",
) -> Bound:
    """The bound for one run of `reference` on `robot`, its payload included."""
    clean, _ = record(robot, Sensors(quantise=False, measure_velocity=True), reference)
    settings = settings_for(payload_links, reference, payload_model)
    return cramer_rao_bound(clean, read_links(robot.built.model), settings, noise_rad)
