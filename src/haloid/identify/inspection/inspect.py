"""Inspection: what is in a recording, and what could be learnt from it, before anything is identified.

In: a recording and the links that carry its payload. Out: plain facts: how it was held and driven, time and gaps,
motion, stops and saturation joint by joint, noise, and the predicted precision of the payload links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from haloid.engines.simulate import Simulator
from haloid.identify.checks import check_links
from haloid.identify.data.dataset import DataError, build_simulator
from haloid.identify.data.usable import (
    Motion,
    at_stop,
    motion_of,
    noise_of,
    noise_rad,
    saturated,
)
from haloid.identify.inspection.precision import Precision, predict_precision
from haloid.identify.problem.unknowns import LEAST_LINK_KG
from haloid.recordings.recording import Recording
from haloid.robots.description import describe

FORMAT = "haloid-inspection-1"


@dataclass(frozen=True)
class JointFacts:
    name: str
    low_rad: float
    high_rad: float
    rms_rad: float
    """About its mean."""
    fastest_rad_s: float
    torque_share: float | None
    """The most that was asked of the motor, of its limit; None where it has none."""
    saturated_share: float
    """Of the rows."""
    at_stop_share: float
    noise_rad: float


@dataclass(frozen=True)
class Inspection:
    name: str
    robot: str
    clamp: str | None
    support: str
    actuation: str
    payload: str
    note: str
    rows: int
    duration_s: float
    rate_hz: float
    uneven_steps_s: tuple[float, float] | None
    """The shortest and the longest time between rows of an uneven loop; None: rows are even."""
    gaps: int
    lost_rows: int
    usable_share: float
    """Of the rows: no joint at its stop. A motor at its limit is part of the model."""
    noise_rad: float
    encoder_step_rad: float
    """The grid that readings lie on, the median of the joints'; 0 where they are not quantised."""
    joints: tuple[JointFacts, ...]
    """In the recording's order, the robot's own."""
    payload_links: tuple[str, ...]
    links_from: str
    """named, robot (where its description says it carries things) or leaves (the last links of the robot's chains)."""
    precision: Precision | None
    why_no_precision: str = ""

    def to_json(self) -> dict:
        """Plain values, SI units, every key with its unit."""
        return {"format": FORMAT, **asdict(self)}


def inspect_recording(recording: Recording, payload_links: Sequence[str] = ()) -> Inspection:
    """Without `payload_links`, those of the robot's description, or the last links of the robot's chains."""
    simulator = build_simulator(recording)
    motion = motion_of(recording, simulator)
    links, links_from = tuple(payload_links), "named"
    if not links:
        links, links_from = _likely_links(recording, simulator)
    check_links(simulator, links)
    noise = noise_rad(motion)
    precision, why = None, ""
    try:
        precision = predict_precision(recording, links, noise)
    except DataError as error:
        why = str(error)
    return Inspection(
        name=recording.name,
        robot=recording.robot,
        clamp=recording.clamp,
        support=recording.support,
        actuation=recording.actuation,
        payload=recording.payload,
        note=recording.note,
        rows=len(recording.time_s),
        duration_s=float(recording.time_s[-1] - recording.time_s[0]) + recording.control_dt_s,
        rate_hz=1 / recording.control_dt_s,
        uneven_steps_s=None if recording.is_even else _uneven_steps_s(motion),
        gaps=len(motion.pieces) - 1,
        lost_rows=_lost_rows(motion),
        usable_share=1 - float(at_stop(motion, simulator).any(axis=1).mean()),
        noise_rad=noise,
        encoder_step_rad=float(np.median(motion.least_noise_rad) * np.sqrt(12)),
        joints=_joint_facts(motion, simulator),
        payload_links=links,
        links_from=links_from,
        precision=precision,
        why_no_precision=why,
    )


def _likely_links(recording: Recording, simulator: Simulator) -> tuple[tuple[str, ...], str]:
    """Links that a payload is likely on and whose load some joint feels."""
    model, nominal = simulator.model, simulator.nominal
    felt = [link for link in nominal.links if model.body_weldid[model.body(link).id] != 0]
    usual = [link for link in describe(recording.robot).payload_links if link in felt]
    if usual:
        return tuple(usual), "robot"
    bodies = [link for link in felt if nominal.mass[nominal.link_index(link)] > LEAST_LINK_KG]
    carriers = {above for link in bodies for above in _links_above(simulator, link)}
    return tuple(link for link in bodies if link not in carriers), "leaves"


def _links_above(simulator: Simulator, link: str) -> list[str]:
    model, above = simulator.model, []
    body = int(model.body_parentid[model.body(link).id])
    while body > 0:
        above.append(model.body(body).name)
        body = int(model.body_parentid[body])
    return above


def _lost_rows(motion: Motion) -> int:
    recording = motion.recording
    steps = np.diff(recording.time_s)[[piece.start - 1 for piece in motion.pieces[1:]]]
    return int(np.sum(np.round(steps / recording.control_dt_s) - 1))


def _uneven_steps_s(motion: Motion) -> tuple[float, float]:
    steps = np.concatenate([np.diff(motion.recording.time_s[piece]) for piece in motion.pieces])
    return float(steps.min()), float(steps.max())


def _joint_facts(motion: Motion, simulator: Simulator) -> tuple[JointFacts, ...]:
    q, scatter = motion.q_rad, motion.scatter_rad
    stops, limits = at_stop(motion, simulator), saturated(motion, simulator)
    asked = np.abs(motion.asked_torque_nm).max(axis=0)
    facts = {}
    for i, name in enumerate(simulator.dof_joints):
        effort_nm = float(simulator.effort_limit[i])
        facts[name] = JointFacts(
            name=name,
            low_rad=float(q[:, i].min()),
            high_rad=float(q[:, i].max()),
            rms_rad=float(motion.smooth_rad[:, i].std()),
            fastest_rad_s=float(np.abs(motion.velocity_rad_s[:, i]).max()),
            torque_share=float(asked[i]) / effort_nm if 0 < effort_nm < np.inf else None,
            saturated_share=float(limits[:, i].mean()),
            at_stop_share=float(stops[:, i].mean()),
            noise_rad=max(noise_of(scatter[:, i]), float(motion.least_noise_rad[i])),
        )
    return tuple(facts[name] for name in motion.recording.joint_names)
