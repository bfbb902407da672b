"""Feasibility, the check: which joint or foot a motion asks too much of, when and by how much.

In: a robot with its load and a motion. Out: findings (motions/finding.py) about torque, support, friction and free
fall; ranges and speeds of joints are for motions/check.py. What training mends by itself, by moving the pelvis
(controller/rebalance.py), is a warning; what remains after that is an error.
"""

import logging
from collections.abc import Iterator
from dataclasses import replace

import mujoco
import numpy as np

from haloid.motions.finding import Finding, spans
from haloid.robots.description import Robot
from haloid.robots.load import actuated_joints
from haloid.skills.controller.contacts import SoleContacts
from haloid.skills.controller.inverse_dynamics import FRICTION
from haloid.skills.controller.rebalance import rebalanced
from haloid.skills.feasibility.demands import Demands, demands_of
from haloid.trajectories.mujoco_states import ModelStates

_LOG = logging.getLogger(__name__)

TORQUE_SLACK = 1.05
"""Of the limit: up to this, the servo lacks a few per cent for a moment, and a robot gets through."""
OUTSIDE_M = (0.005, 0.02)
"""How far outside the soles the zero-moment point is a warning, and an error."""
NOT_FALLING_G = (0.25, 0.5)
"""The same for flight without free fall; 0.5 g over 0.1 s is 0.5 m/s of speed from nowhere."""
FRICTION_SLACK = 1.1
MEND = "Convert with --feasible, which moves, lowers and slows it."
_TORQUE, _SUPPORT, _SLIP = "more torque than the motor has", "tips over the edge of its soles", "slips"
_FLIGHT = "neither touches the ground nor falls freely"


def feasibility_findings(model: mujoco.MjModel, robot: Robot, reference: ModelStates) -> list[Finding]:
    """What `model`, a robot on a floor (task/robot.py), lacks for following `reference`; errors first."""
    demands = demands_of(model, reference)
    findings = findings_of(model, robot, demands, reference.step_s)
    if any(finding.severity == "error" for finding in findings):
        moved = rebalanced(model, robot, reference, demands.contacts)
        findings = _after_rebalancing(model, robot, findings, reference, moved)
    return sorted(findings, key=lambda finding: finding.severity)


def warn_of_infeasible(model: mujoco.MjModel, robot: Robot, reference: ModelStates, name: str) -> None:
    """Log what training on `reference`, as it will be followed, is going to miss."""
    findings = findings_of(model, robot, demands_of(model, reference), reference.step_s)
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        _LOG.warning(
            "%s asks for more than the robot has: %s. Training goes on, and may fail there; "
            "haloid motions convert %s --feasible mends what can be mended",
            name,
            "; ".join(in_words(finding) for finding in errors),
            name,
        )


def in_words(finding: Finding) -> str:
    """One finding on one line."""
    where = f"{finding.where} " if finding.where else ""
    when = f"{finding.start_s:.2f} to {finding.end_s:.2f} s"
    return f"{where}{finding.what} ({finding.amount:.3g} {finding.unit}, limit {finding.limit:.3g}, {when})"


def _after_rebalancing(
    model: mujoco.MjModel, robot: Robot, before: list[Finding], reference: ModelStates, moved: ModelStates
) -> list[Finding]:
    """Errors that moving the pelvis takes away become warnings."""
    shift_m = float(np.linalg.norm(moved.qpos[:, :2] - reference.qpos[:, :2], axis=1).max())
    if shift_m == 0.0:
        return before
    remaining = findings_of(model, robot, demands_of(model, moved), reference.step_s)
    errors = {(finding.what, finding.where) for finding in remaining if finding.severity == "error"}
    advice = f"Training mends it: it moves the pelvis by up to {100 * shift_m:.1f} cm."
    return [
        finding
        if (finding.what, finding.where) in errors or finding.severity == "warning"
        else replace(finding, severity="warning", advice=advice)
        for finding in before
    ] + [finding for finding in remaining if _is_new(finding, before)]


def _is_new(finding: Finding, before: list[Finding]) -> bool:
    return finding.severity == "error" and (finding.what, finding.where) not in {(f.what, f.where) for f in before}


def findings_of(model: mujoco.MjModel, robot: Robot, demands: Demands, step_s: float) -> list[Finding]:
    """Everything over a limit, for the reference as it is."""
    feet = _feet(model, robot, demands.contacts)
    on_ground = feet != ""
    outside_m, friction = (np.where(on_ground, values, 0.0) for values in (demands.outside_m, demands.friction))
    outside = _over(_SUPPORT, outside_m, OUTSIDE_M, "m outside", feet, step_s)
    slips = _over(_SLIP, friction, (FRICTION, FRICTION_SLACK * FRICTION), "of friction", feet, step_s)
    flight = _over(_FLIGHT, demands.not_falling_g, NOT_FALLING_G, "g", np.full(len(feet), ""), step_s)
    return [*_torques(model, demands.torque_of_limit, step_s), *outside, *slips, *flight]


def _torques(model: mujoco.MjModel, of_limit: np.ndarray, step_s: float) -> Iterator[Finding]:
    for column, joint in enumerate(actuated_joints(model)):
        ratio = of_limit[:, column]
        if ratio.max() > 1.0:
            at_s = np.flatnonzero(ratio > 1.0) * step_s
            limit_nm = float(model.actuator_forcerange[column, 1])
            severity = "error" if ratio.max() > TORQUE_SLACK else "warning"
            torque_nm = float(ratio.max()) * limit_nm
            yield Finding(_TORQUE, joint, at_s[0], at_s[-1], torque_nm, limit_nm, "N·m", MEND, severity)


def _over(
    what: str, values: np.ndarray, limits: tuple[float, float], unit: str, feet: np.ndarray, step_s: float
) -> Iterator[Finding]:
    """One finding per foot, about the span with the greatest value; `limits` are those of a warning and of an error."""
    for foot in dict.fromkeys(feet.tolist()):
        found = np.where(feet == foot, values, 0.0)
        if found.max() > limits[0]:
            start, stop = max(spans(found > limits[0]), key=lambda span: found[span[0] : span[1] + 1].max())
            severity = "error" if found.max() > limits[1] else "warning"
            limit = 0.0 if what == _SUPPORT else limits[0]
            yield Finding(what, foot, start * step_s, stop * step_s, float(found.max()), limit, unit, MEND, severity)


def _feet(model: mujoco.MjModel, robot: Robot, contacts: SoleContacts) -> np.ndarray:
    """(T,) the foot that bears the robot in each frame, or both; empty in flight."""
    of_geom = model.geom_bodyid[contacts.geom_ids]
    names = []
    for resting in contacts.resting:
        standing = [foot for foot in robot.feet.values() if np.any(resting[of_geom == model.body(foot).id])]
        names.append(standing[0] if len(standing) == 1 else "both feet" if standing else "")
    return np.array(names)
