"""Motions, checks: what a robot could not do, and what looks like a mistake in the clip.

In: a trajectory as a file states it. Out: findings, each with what it is, where, when, how much, the limit and what to
do about it; errors are what makes a clip useless, warnings what makes it harder to track.
"""

from collections.abc import Iterator

import mujoco
import numpy as np
from scipy.ndimage import median_filter
from scipy.spatial.transform import Rotation

from haloid.motions.check_ground import ground_findings
from haloid.motions.finding import Finding
from haloid.motions.readers.joint_order import on_robot
from haloid.robots.description import describe
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.robots.load import load_spec
from haloid.trajectories.motion import motion_of
from haloid.trajectories.trajectory import FloatingTrajectory

SHORTEST_S = 1.0
LIMIT_SLACK_RAD = 0.02
"""Beyond a joint's range by up to this is rounding and soft limits: a warning."""
JUMP_RAD, JUMP_M, JUMP_ROOT_RAD = 0.3, 0.08, 0.35
"""A step between two frames is a jump if it is larger than this,"""
JUMP_RATIO = 5.0
"""and this many times those around it."""
NEIGHBOURS = 9
"""Steps that a step is compared with."""


def check(frames: FloatingTrajectory, robot: str = DEFAULT_ROBOT) -> list[Finding]:
    """All findings, errors first; a clip with frames that are not numbers is not checked further."""
    model = load_spec(robot).compile()
    findings = [*_numbers(frames), *_length(frames)]
    if not any(finding.severity == "error" for finding in findings):
        frames = on_robot(frames, model)
        findings += [*_limits(frames, model), *_speeds(frames, describe(robot).speed_limits_rad_s), *_jumps(frames)]
        findings += ground_findings(motion_of(frames, model), model)
    return sorted(findings, key=lambda finding: finding.severity)


def _numbers(frames: FloatingTrajectory) -> Iterator[Finding]:
    rows = np.column_stack([frames.root_pos_w_m, frames.root_quat_wxyz, frames.joint_pos_rad])
    broken = ~np.isfinite(rows).all(axis=1)
    if broken.any():
        at = np.flatnonzero(broken) / frames.rate_hz
        yield Finding(
            "values that are not numbers", "", at[0], at[-1], float(broken.sum()), 0, "frames", "Cut these frames out."
        )
    off = np.abs(np.linalg.norm(np.nan_to_num(frames.root_quat_wxyz), axis=1) - 1)
    off[broken] = 0
    if (off > 1e-3).any():
        at = np.flatnonzero(off > 1e-3) / frames.rate_hz
        yield Finding(
            "root quaternions are not of length 1",
            "",
            at[0],
            at[-1],
            off.max(),
            1e-3,
            "",
            "Check the columns: the root's rotation may be in others. Small errors are scaled away.",
            "error" if off.max() > 0.05 else "warning",
        )


def _length(frames: FloatingTrajectory) -> Iterator[Finding]:
    length_s = max(len(frames) - 1, 0) / frames.rate_hz
    if length_s < SHORTEST_S:
        yield Finding(
            "too short",
            "",
            0.0,
            length_s,
            length_s,
            SHORTEST_S,
            "s",
            "Check the rate (--fps-in), or give a longer clip.",
            "error" if len(frames) < 3 else "warning",
        )


def _limits(frames: FloatingTrajectory, model: mujoco.MjModel) -> Iterator[Finding]:
    for column, name in enumerate(frames.joint_names):
        joint = model.joint(name)
        if not model.jnt_limited[joint.id]:
            continue
        low, high = joint.range
        angle = frames.joint_pos_rad[:, column]
        beyond = np.maximum(low - angle, angle - high)
        if beyond.max() > 1e-4:
            at = np.flatnonzero(beyond > 1e-4) / frames.rate_hz
            worst = int(beyond.argmax())
            yield Finding(
                "beyond the joint's range",
                name,
                at[0],
                at[-1],
                angle[worst],
                high if angle[worst] > high else low,
                "rad",
                "Retarget with the robot's limits, or clip the joint.",
                "error" if beyond.max() > LIMIT_SLACK_RAD else "warning",
            )


def _speeds(frames: FloatingTrajectory, limits_rad_s: dict[str, float]) -> Iterator[Finding]:
    speeds = np.abs(np.diff(frames.joint_pos_rad, axis=0)) * frames.rate_hz
    for column, name in enumerate(frames.joint_names):
        limit = limits_rad_s.get(name, np.inf)
        speed = speeds[:, column]
        if speed.max() > limit:
            at = np.flatnonzero(speed > limit) / frames.rate_hz
            advice = "Slow the clip down, or smooth the joint; check the rate (--fps-in)."
            yield Finding("faster than the motor", name, at[0], at[-1], speed.max(), limit, "rad/s", advice)


def _jumps(frames: FloatingTrajectory) -> Iterator[Finding]:
    advice = "Cut the clip here: frames are missing or two clips were joined."
    rotation = Rotation.from_quat(frames.root_quat_wxyz, scalar_first=True)
    turned_rad = (rotation[:-1].inv() * rotation[1:]).magnitude()
    moved_m = np.linalg.norm(np.diff(frames.root_pos_w_m, axis=0), axis=1)
    joints_rad = np.abs(np.diff(frames.joint_pos_rad, axis=0))
    joints = enumerate(frames.joint_names)
    for what, where, step, limit, unit in (
        ("the root's position jumps", "", moved_m, JUMP_M, "m"),
        ("the root's rotation jumps", "", turned_rad, JUMP_ROOT_RAD, "rad"),
        *(("the joint jumps", name, joints_rad[:, column], JUMP_RAD, "rad") for column, name in joints),
    ):
        usual = median_filter(step, NEIGHBOURS, mode="nearest")
        jumps = np.flatnonzero((step > limit) & (step > JUMP_RATIO * usual))
        if jumps.size:
            worst = jumps[step[jumps].argmax()]
            at_s = worst / frames.rate_hz
            severity = "warning" if where else "error"
            yield Finding(
                what, where, at_s, at_s + 1 / frames.rate_hz, float(step[worst]), limit, unit, advice, severity
            )
