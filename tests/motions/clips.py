"""Clips that tests know everything about, and where real ones may lie."""

from pathlib import Path

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from haloid.robots.description import describe
from haloid.robots.load import load_spec, scalar_joints
from haloid.trajectories.trajectory import FloatingTrajectory

G1_JOINTS, G1_JOINTS_23 = describe("g1").joints, describe("g1-23").joints

REAL_MOTIONS = Path(__file__).parents[3] / "shared" / "data" / "motions"


def g1() -> mujoco.MjModel:
    return load_spec("g1").compile()


def standing(
    model: mujoco.MjModel, frames: int = 100, fps: float = 50.0, height_m: float = 0.793
) -> FloatingTrajectory:
    """All joints 0: the soles are flat, and on the ground at the model's own height."""
    joints = scalar_joints(model)
    return FloatingTrajectory(
        rate_hz=fps,
        joint_names=joints,
        root_pos_w_m=np.tile([0.0, 0.0, height_m], (frames, 1)),
        root_quat_wxyz=np.tile([1.0, 0.0, 0.0, 0.0], (frames, 1)),
        joint_pos_rad=np.zeros((frames, len(joints))),
    )


def swaying(model: mujoco.MjModel, frames: int = 90, fps: float = 30.0, seed: int = 0) -> FloatingTrajectory:
    """Smooth sines of every joint and of the root, all different; no joint is at rest, so no two can be confused."""
    random, time_s, joints = np.random.default_rng(seed), np.arange(frames) / fps, scalar_joints(model)
    phase, rate_hz = random.uniform(0, 2 * np.pi, len(joints)), random.uniform(0.2, 0.6, len(joints))
    angles_rad = 0.2 * np.sin(2 * np.pi * rate_hz * time_s[:, None] + phase)
    turn = np.column_stack([0.1 * np.sin(time_s), 0.2 * np.cos(time_s), 0.9 * time_s])
    return FloatingTrajectory(
        rate_hz=fps,
        joint_names=joints,
        root_pos_w_m=np.column_stack([0.3 * time_s, 0.1 * np.sin(2 * time_s), 0.8 + 0.02 * np.cos(3 * time_s)]),
        root_quat_wxyz=Rotation.from_rotvec(turn).as_quat(scalar_first=True),
        joint_pos_rad=angles_rad,
    )


def write_csv(frames: FloatingTrajectory, path: Path) -> Path:
    xyzw = frames.root_quat_wxyz[:, [1, 2, 3, 0]]
    np.savetxt(path, np.column_stack([frames.root_pos_w_m, xyzw, frames.joint_pos_rad]), delimiter=",", fmt="%.9f")
    return path
