"""Export of a reconstructed motion as the npz that mjlab and BeyondMimic read, in MJCF order, names inside.

In: a `Motion`. Out: NAME.npz with mjlab's keys (link-origin velocities, quaternions wxyz) plus `joint_names` and
`body_names`. mjlab itself plays every file at 50 frames per second, whatever its `fps`.
"""

from pathlib import Path

import numpy as np

from haloid.outputs import atomic_file
from haloid.trajectories.motion import Motion


def write_motion(motion: Motion, path: Path) -> Path:
    """Writes the motion whole or not at all; returns the file, which ends in .npz."""
    file = path if path.suffix == ".npz" else path.with_name(f"{path.name}.npz")
    with atomic_file(file) as beside, beside.open("wb") as stream:
        np.savez(
            stream,
            fps=np.array([motion.rate_hz]),
            joint_pos=motion.joint_pos_rad.astype(np.float32),
            joint_vel=motion.joint_vel_rad_s.astype(np.float32),
            body_pos_w=motion.body_pos_w_m.astype(np.float32),
            body_quat_w=motion.body_quat_wxyz.astype(np.float32),
            body_lin_vel_w=motion.body_lin_vel_w_m_s.astype(np.float32),
            body_ang_vel_w=motion.body_ang_vel_w_rad_s.astype(np.float32),
            joint_names=np.array(motion.joint_names),
            body_names=np.array(motion.body_names),
        )
    return file
