"""A motion to look at: a robot of its own model that goes through the frames."""

from pathlib import Path

import numpy as np

from haloid.motions.load import load_motion
from haloid.robots.load import load_spec
from haloid.view.show import Show


def show_motion(source: str | Path, robot: str = "g1") -> Show:
    motion = load_motion(source, robot=robot)
    model = load_spec(robot).compile()
    root = np.concatenate([motion.body_pos_w_m[:, 0], motion.body_quat_wxyz[:, 0]], axis=1)
    path_m = float(np.linalg.norm(np.diff(root[:, :2], axis=0), axis=1).sum())
    return Show(
        title=Path(source).stem,
        about=(f"motion, {len(root)} frames at {motion.rate_hz:.0f} Hz", f"the root goes {path_m:.1f} m"),
        model=model,
        time_s=np.arange(len(root)) / motion.rate_hz,
        robots={"reference": floating_poses(model, root, motion.joint_names, motion.joint_pos_rad)},
        joint_names=motion.joint_names,
        curves_rad={"reference": motion.joint_pos_rad},
    )


def floating_poses(model, root: np.ndarray, joint_names: tuple[str, ...], angles_rad: np.ndarray) -> np.ndarray:
    """(T, nq) of a model whose first joint is free: (T, 7) root poses, xyz and wxyz, and named joints."""
    qpos = np.tile(model.qpos0, (len(angles_rad), 1))
    qpos[:, :7] = root
    qpos[:, [model.joint(name).qposadr[0] for name in joint_names]] = angles_rad
    return qpos
