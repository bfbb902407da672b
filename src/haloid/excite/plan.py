"""Plans: a reference as a file that a robot can play and every reader of recordings can read.

A plan is a recording of a run that has not happened yet: `q:` and `dq:` are the reference, `target:` the position
targets that make the unloaded robot follow it (feed-forward included), and further columns `ddq:` hold its
accelerations, from which a robot that knows its load better can compute targets of its own.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from haloid.errors import HaloidError
from haloid.lab.excitation import Reference
from haloid.lab.play import feed_forward_targets
from haloid.lab.robot import LabRobot
from haloid.recordings.files.read import read_recording
from haloid.recordings.recording import Recording
from haloid.robots.entries import KNOWN_ROBOTS

_ACCELERATION = "ddq:"
_PERIOD_TOLERANCE = 1e-6


class PlanError(HaloidError):
    """A recording that cannot be played, or not by this robot."""


def plan_of(robot: LabRobot, reference: Reference, name: str, note: str) -> Recording:
    """The plan of `reference` for `robot` as it is, without payload."""
    built = robot.built
    return Recording(
        name=name,
        robot=robot.robot if robot.robot in KNOWN_ROBOTS else str(Path(robot.robot).resolve()),
        clamp=robot.clamp,
        joint_names=reference.joint_names,
        time_s=reference.time_s,
        q_rad=reference.q_rad,
        dq_rad_s=reference.dq_rad_s,
        target_rad=feed_forward_targets(built, reference),
        kp=built.kp,
        kd=built.kd,
        support=robot.support,
        payload="none",
        note=f"plan, not yet played: {note}",
        extra={_ACCELERATION + joint: reference.ddq_rad_s2[:, i] for i, joint in enumerate(reference.joint_names)},
    )


def read_plan(path: Path, robot: LabRobot) -> Reference:
    """The reference of a plan, checked to be one for this robot."""
    plan = read_recording(path)
    columns = [_ACCELERATION + joint for joint in plan.joint_names]
    missing = [column for column in columns if column not in plan.extra]
    if plan.dq_rad_s is None or missing:
        found = "no dq: columns" if plan.dq_rad_s is None else f"no column {missing[0]}"
        raise PlanError(
            f"{path} is not a plan: it has {found}; expected q:, dq: and ddq: of every joint, as `haloid excite` "
            "writes them. Give a file that `haloid excite` wrote"
        )
    built = robot.built
    if plan.clamp != robot.clamp or plan.joint_names != built.joint_names:
        raise PlanError(
            f"{path} is a plan for {plan.robot} clamped at {plan.clamp}; expected one for {robot.robot} clamped at "
            f"{robot.clamp}. Play it with --robot and --clamp as it was designed"
        )
    if abs(plan.control_dt_s - built.control_dt_s) > _PERIOD_TOLERANCE:
        raise PlanError(
            f"{path} has a row every {plan.control_dt_s:g} s; expected {built.control_dt_s:g} s, the control period of "
            "the robot. Design it again"
        )
    accelerations = np.column_stack([plan.extra[column] for column in columns])
    return Reference(plan.joint_names, plan.time_s, plan.q_rad, plan.dq_rad_s, accelerations)
