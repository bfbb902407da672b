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
from haloid.identify.data import DataError, build_simulator
from haloid.identify.precision import Precision, predict_precision, timestep_for
from haloid.identify.usable import (
    asked_torque_nm,
    at_stop,
    joint_order,
    noise_of,
    out_of_model,
    pieces,
    saturated,
    scatter_rad,
    smoothed,
)
from haloid.recordings.recording import Recording

FORMAT = "haloid-inspection-1"
_USUAL_LINKS = {"g1": ("torso_link", "left_wrist_yaw_link", "right_wrist_yaw_link")}
"""Where a known robot carries things."""
_LEAST_LINK_KG = 1e-6
"""A lighter link is a frame, not a body."""


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
    gaps: int
    lost_rows: int
    usable_share: float
    """Of the rows: no joint at its stop, no servo at its limit."""
    noise_rad: float
    joints: tuple[JointFacts, ...]
    """In the recording's order, the robot's own."""
    payload_links: tuple[str, ...]
    links_from: str
    """named, robot (where a known robot carries things) or leaves (the last links of the robot's chains)."""
    precision: Precision | None
    why_no_precision: str = ""

    def to_json(self) -> dict:
        """Plain values, SI units, every key with its unit."""
        return {"format": FORMAT, **asdict(self)}


def inspect_recording(recording: Recording, payload_links: Sequence[str] = ()) -> Inspection:
    """Without `payload_links`, those of a known robot, or the last links of the robot's chains."""
    simulator = build_simulator(recording, timestep_for(recording.control_dt_s))
    links, links_from = tuple(payload_links), "named"
    if not links:
        links, links_from = _likely_links(recording, simulator)
    check_links(simulator, links)
    noise = noise_of(scatter_rad(recording, joint_order(recording, simulator)))
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
        gaps=len(pieces(recording)) - 1,
        lost_rows=_lost_rows(recording),
        usable_share=1 - float(out_of_model(recording, simulator).mean()),
        noise_rad=noise,
        joints=_joint_facts(recording, simulator),
        payload_links=links,
        links_from=links_from,
        precision=precision,
        why_no_precision=why,
    )


def _likely_links(recording: Recording, simulator: Simulator) -> tuple[tuple[str, ...], str]:
    """Links that a payload is likely on and whose load some joint feels."""
    model, nominal = simulator.model, simulator.nominal
    felt = [link for link in nominal.links if model.body_weldid[model.body(link).id] != 0]
    usual = [link for link in _USUAL_LINKS.get(recording.robot, ()) if link in felt]
    if usual:
        return tuple(usual), "robot"
    bodies = [link for link in felt if nominal.mass[nominal.link_index(link)] > _LEAST_LINK_KG]
    carriers = {above for link in bodies for above in _links_above(simulator, link)}
    return tuple(link for link in bodies if link not in carriers), "leaves"


def _links_above(simulator: Simulator, link: str) -> list[str]:
    model, above = simulator.model, []
    body = int(model.body_parentid[model.body(link).id])
    while body > 0:
        above.append(model.body(body).name)
        body = int(model.body_parentid[body])
    return above


def _lost_rows(recording: Recording) -> int:
    steps = np.diff(recording.time_s)[[piece.start - 1 for piece in pieces(recording)[1:]]]
    return int(np.sum(np.round(steps / recording.control_dt_s) - 1))


def _joint_facts(recording: Recording, simulator: Simulator) -> tuple[JointFacts, ...]:
    order = joint_order(recording, simulator)
    q = recording.q_rad[:, order]
    smooth, velocity, _ = smoothed(recording, order)
    scatter = scatter_rad(recording, order)
    stops, limits = at_stop(recording, simulator), saturated(recording, simulator)
    asked = np.abs(asked_torque_nm(recording, simulator)).max(axis=0)
    facts = {}
    for i, name in enumerate(simulator.dof_joints):
        effort_nm = float(simulator.effort_limit[i])
        facts[name] = JointFacts(
            name=name,
            low_rad=float(q[:, i].min()),
            high_rad=float(q[:, i].max()),
            rms_rad=float(smooth[:, i].std()),
            fastest_rad_s=float(np.abs(velocity[:, i]).max()),
            torque_share=float(asked[i]) / effort_nm if 0 < effort_nm < np.inf else None,
            saturated_share=float(limits[:, i].mean()),
            at_stop_share=float(stops[:, i].mean()),
            noise_rad=noise_of(scatter[:, i]),
        )
    return tuple(facts[name] for name in recording.joint_names)
