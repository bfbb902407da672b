"""Skills, where episodes start: in frames of the reference, more often where the policy fails, and disturbed.

Adaptive sampling (BeyondMimic, mjlab): a motion's frames lie in bins of about a second; a bin's failure level is the
moving average f ← α·failures + (1 − α)·f of every control step, and a bin is drawn with probability ∝ f + 0.1/bins. All
motions get as many starts, or one that always fails would take those of the others. The states of the frames are the
reference's, or those of a controller that knows the robot's load.
"""

import numpy as np

from haloid.skills.task.reference import CONTROL_HZ, Reference
from haloid.trajectories.mujoco_states import ModelStates
from haloid.trajectories.rotations import apply, apply_inverse, from_roll_pitch_yaw, multiply

UNIFORM_RATIO = 0.1
ALPHA = 0.001
POSE_RANGE = np.array([0.05, 0.05, 0.01, 0.1, 0.1, 0.2])
"""Half widths at reset: x, y, z (m), roll, pitch, yaw (rad)."""
VELOCITY_RANGE = np.array([0.5, 0.5, 0.2, 0.52, 0.52, 0.78])
"""Half widths at reset and of pushes: m/s and rad/s, in the world's axes."""
JOINT_RANGE_RAD = 0.1


def starts_of(reference: Reference) -> ModelStates:
    """In the frames themselves."""
    frames = reference.frames
    root_quat = frames.body_quat_w[:, 0]
    spin_b = apply_inverse(root_quat, frames.body_ang_vel_w[:, 0])
    return ModelStates(
        step_s=1.0 / CONTROL_HZ,
        qpos=np.concatenate([frames.body_pos_w[:, 0], root_quat, frames.joint_pos], axis=1),
        qvel=np.concatenate([frames.body_lin_vel_w[:, 0], spin_b, frames.joint_vel], axis=1),
    )


def disturbed(
    starts: ModelStates,
    frames: np.ndarray,
    joint_limits_rad: np.ndarray,
    random: np.random.Generator,
    *,
    joints: float,
    root: float,
) -> tuple[np.ndarray, np.ndarray]:
    """(N, nq) and (N, nv) states near the starts of these frames; `joints` and `root` are parts of mjlab's ranges."""
    qpos, qvel, number = starts.qpos[frames], starts.qvel[frames], len(frames)
    pose = random.uniform(-1, 1, (number, 6)) * POSE_RANGE * root
    velocity = random.uniform(-1, 1, (number, 6)) * VELOCITY_RANGE * root
    quat = multiply(from_roll_pitch_yaw(pose[:, 3:]), qpos[:, 3:7])
    angles = qpos[:, 7:] + random.uniform(-1, 1, (number, qpos.shape[1] - 7)) * JOINT_RANGE_RAD * joints
    angles = np.clip(angles, joint_limits_rad[:, 0], joint_limits_rad[:, 1])
    spin_b = apply_inverse(quat, apply(qpos[:, 3:7], qvel[:, 3:6]) + velocity[:, 3:])
    return (
        np.concatenate([qpos[:, :3] + pose[:, :3], quat, angles], axis=1),
        np.concatenate([qvel[:, :3] + velocity[:, :3], spin_b, qvel[:, 6:]], axis=1),
    )


class AdaptiveSampling:
    """Draws the frames to start from, given the frames at which episodes failed."""

    def __init__(self, reference: Reference, adaptive: bool = True) -> None:
        self._reference = reference
        self._adaptive = adaptive
        self._frames = reference.last - reference.first + 1
        self._bins = (self._frames // CONTROL_HZ).astype(int) + 1
        self._first_bin = np.cumsum(self._bins) - self._bins
        self._motion_of_bin = np.repeat(np.arange(len(self._bins)), self._bins)
        self.bins = int(self._bins.sum())
        """Of all motions."""
        self.failure_level = np.zeros(self.bins)
        self._failures_now = np.zeros(self.bins)

    def failed_at(self, frames: np.ndarray) -> None:
        """Take note of the frames at which episodes failed in this control step."""
        frames = np.clip(frames, 0, len(self._reference) - 1)
        motions = self._reference.motion_of_frame[frames]
        within = (frames - self._reference.first[motions]) * self._bins[motions] // self._frames[motions]
        self._failures_now = np.bincount(self._first_bin[motions] + within, minlength=self.bins).astype(float)

    def end_step(self) -> None:
        self.failure_level = ALPHA * self._failures_now + (1 - ALPHA) * self.failure_level
        self._failures_now = np.zeros(self.bins)

    @property
    def probabilities(self) -> np.ndarray:
        """(bins,)"""
        level = self.failure_level * self._adaptive
        weight = level + UNIFORM_RATIO / self._bins[self._motion_of_bin]
        of_motion = np.add.reduceat(weight, self._first_bin)[self._motion_of_bin]
        return weight / (of_motion * len(self._bins))

    def draw(self, random: np.random.Generator, number: int) -> np.ndarray:
        """(number,) frames to start from; never the last frame of a motion, after which nothing is left to do."""
        rows = random.choice(self.bins, size=number, p=self.probabilities)
        motions = self._motion_of_bin[rows]
        part = (rows - self._first_bin[motions] + random.random(number)) / self._bins[motions]
        return self._reference.first[motions] + (part * (self._frames[motions] - 1)).astype(int)
