"""A motion for tests, in which everything moves."""

import numpy as np
from scipy.spatial.transform import Rotation

from haloid.robots.load import load_spec, scalar_joints
from haloid.trajectories.motion import Motion, motion_of
from haloid.trajectories.trajectory import FloatingTrajectory

FRAMES = 180


def lively_motion() -> Motion:
    """3.6 s in which every joint moves and the root turns, tilts and travels; no robot could do it, any can be told."""
    time_s = np.arange(FRAMES) / 50.0
    model = load_spec("g1").compile()
    names = scalar_joints(model)
    ranges = np.array([model.joint(name).range for name in names])
    phase = np.linspace(0.0, 5.0, len(names))
    wave = np.sin(2.0 * time_s[:, None] + phase)
    angles = np.stack([0.1 * np.sin(time_s), 0.2 * np.sin(1.5 * time_s), 2.5 * time_s], axis=1)
    return motion_of(
        FloatingTrajectory(
            rate_hz=50.0,
            joint_names=names,
            root_pos_w_m=np.stack([0.3 * time_s, 0.1 * np.sin(time_s), 0.76 + 0.05 * np.sin(3 * time_s)], axis=1),
            root_quat_wxyz=Rotation.from_euler("xyz", angles).as_quat(scalar_first=True),
            joint_pos_rad=ranges.mean(axis=1) + 0.2 * np.ptp(ranges, axis=1) * wave,
        )
    )
