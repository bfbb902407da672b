"""Rotation matrices and frames from MuJoCo's quaternions."""

import mujoco
import numpy as np


def rotation_of(quat_wxyz: np.ndarray) -> np.ndarray:
    """(3, 3)"""
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, np.asarray(quat_wxyz, float))
    return rotation.reshape(3, 3)


def frame_of(pos_m: np.ndarray, quat_wxyz: np.ndarray) -> np.ndarray:
    """(4, 4), homogeneous."""
    frame = np.eye(4)
    frame[:3, :3], frame[:3, 3] = rotation_of(quat_wxyz), pos_m
    return frame
