"""Skills, what to follow: one or more motions as one table of frames that robots look up by index.

In: motions at the control rate. Out: a `Reference` in the order of the robot's joints and tracked bodies. Several
motions lie one after the other; a frame's index says which of them it belongs to.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haloid.errors import HaloidError
from haloid.skills.task.robot import TrackedRobot
from haloid.trajectories.motion import Motion

CONTROL_HZ = 50.0


@dataclass(frozen=True)
class Poses:
    """Joints and tracked bodies of many robots, or of the frames they should be in. First axis: robots or frames."""

    joint_pos: np.ndarray
    """(N, n) rad"""
    joint_vel: np.ndarray
    """(N, n) rad/s"""
    body_pos_w: np.ndarray
    """(N, bodies, 3) m, origins of the link frames."""
    body_quat_w: np.ndarray
    """(N, bodies, 4) wxyz"""
    body_lin_vel_w: np.ndarray
    """(N, bodies, 3) m/s"""
    body_ang_vel_w: np.ndarray
    """(N, bodies, 3) rad/s"""

    def at(self, rows: np.ndarray) -> "Poses":
        return Poses(*(getattr(self, name).take(rows, axis=0) for name in self.__dataclass_fields__))

    def __len__(self) -> int:
        return len(self.joint_pos)


@dataclass(frozen=True)
class Reference:
    frames: Poses
    names: tuple[str, ...]
    """Of the motions."""
    first: np.ndarray
    """(motions,) index of each motion's first frame."""
    last: np.ndarray
    """(motions,) index of each motion's last frame."""
    motion_of_frame: np.ndarray
    """(frames,)"""

    def __len__(self) -> int:
        return len(self.frames)

    def phase(self, frames: np.ndarray) -> np.ndarray:
        """(N,) how far these frames are in their motions: 0 at the start, 1 at the end."""
        motion = self.motion_of_frame[frames]
        first, last = self.first[motion], self.last[motion]
        return ((frames - first) / (last - first)).astype(np.float32)


def reference_of(robot: TrackedRobot, motions: Sequence[Motion], names: Sequence[str] = ()) -> Reference:
    """The motions in the robot's order of joints and bodies, in single precision."""
    if not motions:
        raise HaloidError("no motion to track; give at least one")
    for motion in motions:
        _check(robot, motion)
    parts = [_poses(robot, motion) for motion in motions]
    frames = Poses(*(np.concatenate([getattr(p, name) for p in parts]) for name in Poses.__dataclass_fields__))
    lengths = np.array([len(part) for part in parts])
    return Reference(
        frames=frames,
        names=tuple(names) or tuple(f"motion {row + 1}" for row in range(len(motions))),
        first=np.cumsum(lengths) - lengths,
        last=np.cumsum(lengths) - 1,
        motion_of_frame=np.repeat(np.arange(len(parts)), lengths),
    )


def _poses(robot: TrackedRobot, motion: Motion) -> Poses:
    joints = [motion.joint_names.index(name) for name in robot.joint_names]
    bodies = [motion.body_names.index(name) for name in robot.description.tracked_links]
    single = np.float32
    return Poses(
        joint_pos=motion.joint_pos_rad[:, joints].astype(single),
        joint_vel=motion.joint_vel_rad_s[:, joints].astype(single),
        body_pos_w=motion.body_pos_w_m[:, bodies].astype(single),
        body_quat_w=motion.body_quat_wxyz[:, bodies].astype(single),
        body_lin_vel_w=motion.body_lin_vel_w_m_s[:, bodies].astype(single),
        body_ang_vel_w=motion.body_ang_vel_w_rad_s[:, bodies].astype(single),
    )


def _check(robot: TrackedRobot, motion: Motion) -> None:
    if abs(motion.rate_hz - CONTROL_HZ) > 1e-6:
        raise HaloidError(
            f"the motion has {motion.rate_hz:g} frames per second and policies act at {CONTROL_HZ:g} Hz; "
            f"convert it first: haloid motions convert … --fps {CONTROL_HZ:g}"
        )
    missing = [name for name in robot.joint_names if name not in motion.joint_names]
    missing += [name for name in robot.description.tracked_links if name not in motion.body_names]
    if missing:
        raise HaloidError(f"the motion does not say where these are: {', '.join(missing)}. Was it made for this robot?")
    if len(motion.joint_pos_rad) < 2:
        raise HaloidError(f"a motion needs at least two frames; found {len(motion.joint_pos_rad)}")
