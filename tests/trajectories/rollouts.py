"""A small valid rollout of two joints on a floating base, two episodes."""

from dataclasses import replace

import numpy as np

from haloid.trajectories.rollout import Episode, Rollout
from haloid.trajectories.trajectory import Trajectory

ROWS = 12


def small_rollout(**changes) -> Rollout:
    random = np.random.default_rng(0)
    quat = random.normal(size=(ROWS, 4))
    trajectory = Trajectory(
        rate_hz=50.0,
        joint_names=("hip", "knee"),
        joint_pos_rad=random.normal(size=(ROWS, 2)),
        root_pos_w_m=random.normal(size=(ROWS, 3)),
        root_quat_wxyz=quat / np.linalg.norm(quat, axis=1, keepdims=True),
        joint_vel_rad_s=random.normal(size=(ROWS, 2)),
        root_lin_vel_w_m_s=random.normal(size=(ROWS, 3)),
        root_ang_vel_b_rad_s=random.normal(size=(ROWS, 3)),
        target_rad=random.normal(size=(ROWS, 2)),
    )
    states = {name: changes.pop(name) for name in list(changes) if hasattr(trajectory, name)}
    fields = {
        "robot": "leg",
        "trajectory": replace(trajectory, **states),
        "time_s": np.concatenate([np.arange(7), np.arange(5)]) / 50,
        "action": random.normal(size=(ROWS, 2)),
        "action_meaning": "target_rad itself",
        "episodes": (Episode(0, 7), Episode(7, 12, fell_row=10)),
        "simulator": "mujoco 3.11.0, step 0.005 s",
        "model_sha256": "ab" * 32,
        "observation": random.normal(size=(ROWS, 5)).astype(np.float32),
        "torque_nm": random.normal(size=(ROWS, 2)),
        "foot_force_n": random.normal(size=(ROWS, 1, 3)),
        "foot_names": ("foot",),
        "payload": np.full((ROWS, 1), 2.5),
        "payload_names": ("foot_mass_kg",),
        "facts": {"seed": 3},
    }
    return Rollout(**(fields | changes))
