"""Motions, checks: what a robot could not do, and what looks like a mistake of the clip.

In: `Frames` as a file states them. Out: findings, each with what it is, where, when, how much, the limit and what to do
about it; errors are what makes a clip useless, warnings what makes it harder to track.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import mujoco
import numpy as np
from scipy.ndimage import median_filter
from scipy.spatial.transform import Rotation

from haloid.motions.frames import Frames, motion_of
from haloid.motions.joint_order import on_robot

SHORTEST_S = 1.0
MOTOR_SPEED_RAD_S: dict[str, float] = {
    **dict.fromkeys(("hip_pitch", "hip_yaw", "waist_yaw"), 32.0),
    **dict.fromkeys(("hip_roll", "knee"), 20.0),
    **dict.fromkeys(("ankle_pitch", "ankle_roll", "waist_roll", "waist_pitch"), 37.0),
    **dict.fromkeys(("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_roll"), 37.0),
    **dict.fromkeys(("wrist_pitch", "wrist_yaw"), 22.0),
}
"""Of the G1's motors, by what the joint's name contains (mjlab: 7520-14, 7520-22, 5020, 4010)."""
LIMIT_SLACK_RAD = 0.02
"""Beyond a joint's range by up to this is rounding and soft limits: a warning."""
JUMP_RAD, JUMP_M, JUMP_ROOT_RAD = 0.3, 0.08, 0.35
"""A step between two frames is a jump if it is larger than this …"""
JUMP_RATIO = 5.0
"""… and so many times those around it."""
NEIGHBOURS = 9
"""Steps that a step is compared with."""


@dataclass(frozen=True)
class Finding:
    what: str
    where: str
    """The joint or body; empty for the whole clip."""
    start_s: float
    end_s: float
    amount: float
    limit: float
    unit: str
    advice: str
    severity: Literal["error", "warning"] = "error"


def check(frames: Frames, model: mujoco.MjModel) -> list[Finding]:
    """All findings, errors first; a clip with frames that are no numbers is checked for nothing else."""
    from haloid.motions.check_ground import ground_findings

    findings = [*_numbers(frames), *_length(frames)]
    if not any(finding.severity == "error" for finding in findings):
        frames = on_robot(frames, model)
        findings += [*_limits(frames, model), *_speeds(frames), *_jumps(frames)]
        findings += ground_findings(motion_of(frames, model), model)
    return sorted(findings, key=lambda finding: finding.severity)


def spans(mask: np.ndarray) -> list[tuple[int, int]]:
    """First and last row of every run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return [(int(start), int(stop) - 1) for start, stop in zip(edges[::2], edges[1::2], strict=True)]


def _numbers(frames: Frames) -> Iterator[Finding]:
    rows = np.column_stack([frames.root_pos_w_m, frames.root_quat_wxyz, frames.joint_pos_rad])
    broken = ~np.isfinite(rows).all(axis=1)
    if broken.any():
        at = np.flatnonzero(broken) / frames.fps
        yield Finding(
            "values that are no numbers", "", at[0], at[-1], float(broken.sum()), 0, "frames", "Cut these frames out."
        )
    off = np.abs(np.linalg.norm(np.nan_to_num(frames.root_quat_wxyz), axis=1) - 1)
    off[broken] = 0
    if (off > 1e-3).any():
        at = np.flatnonzero(off > 1e-3) / frames.fps
        yield Finding(
            "root quaternions are not of length 1",
            "",
            at[0],
            at[-1],
            off.max(),
            1e-3,
            "",
            "Check the columns: the root's rotation may stand elsewhere. Small errors are scaled away.",
            "error" if off.max() > 0.05 else "warning",
        )


def _length(frames: Frames) -> Iterator[Finding]:
    length_s = max(len(frames) - 1, 0) / frames.fps
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


def _limits(frames: Frames, model: mujoco.MjModel) -> Iterator[Finding]:
    for column, name in enumerate(frames.joint_names):
        joint = model.joint(name)
        if not model.jnt_limited[joint.id]:
            continue
        low, high = joint.range
        angle = frames.joint_pos_rad[:, column]
        beyond = np.maximum(low - angle, angle - high)
        if beyond.max() > 1e-4:
            at = np.flatnonzero(beyond > 1e-4) / frames.fps
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


def _speeds(frames: Frames) -> Iterator[Finding]:
    speeds = np.abs(np.diff(frames.joint_pos_rad, axis=0)) * frames.fps
    for column, name in enumerate(frames.joint_names):
        limit = next((limit for part, limit in MOTOR_SPEED_RAD_S.items() if part in name), np.inf)
        speed = speeds[:, column]
        if speed.max() > limit:
            at = np.flatnonzero(speed > limit) / frames.fps
            advice = "Slow the clip down, or smooth the joint; check the rate (--fps-in)."
            yield Finding("faster than the motor", name, at[0], at[-1], speed.max(), limit, "rad/s", advice)


def _jumps(frames: Frames) -> Iterator[Finding]:
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
            at_s = worst / frames.fps
            severity = "warning" if where else "error"
            yield Finding(what, where, at_s, at_s + 1 / frames.fps, float(step[worst]), limit, unit, advice, severity)
