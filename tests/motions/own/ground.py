"""What the ground bears in a motion, by MuJoCo's inverse dynamics: independent of how the motions are made."""

from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.spatial import ConvexHull

from haloid.robots.load import load_spec
from haloid.trajectories.motion import angular_velocity_in_body
from haloid.trajectories.trajectory import FloatingTrajectory

SIDES = ("left", "right")
MODEL = load_spec("g1").compile()
SOLES = {
    side: [MODEL.geom(f"{side}_foot_{end}_{edge}").id for end in ("heel", "toe") for edge in ("inner", "outer")]
    for side in SIDES
}


@dataclass(frozen=True)
class Ground:
    soles_m: np.ndarray
    """(T, 2, 4, 3) lowest points of the sole spheres, by side."""
    ankles_m: np.ndarray
    """(T, 2, 3)"""
    com_m: np.ndarray
    angular_momentum: np.ndarray
    force_n: np.ndarray
    """(T, 3) that the ground must bear."""
    zmp_xy_m: np.ndarray
    touching: list[tuple[str, str]]
    """Pairs of the robot's own geometries that touch."""

    @property
    def is_down(self) -> np.ndarray:
        """(T, 2): all four points of the sole on the ground, to 0.1 mm."""
        return np.all(np.abs(self.soles_m[..., 2]) < 1e-4, axis=2)

    def inside_m(self, row: int) -> float:
        """How far inside the convex hull of the soles on the ground the zero-moment point is; negative outside."""
        points = self.soles_m[row][self.is_down[row]].reshape(-1, 3)[:, :2]
        hull = ConvexHull(points)
        return float(-(hull.equations[:, :2] @ self.zmp_xy_m[row] + hull.equations[:, 2]).max())


def ground_of(frames: FloatingTrajectory) -> Ground:
    step_s = 1 / frames.rate_hz
    qpos = np.concatenate([frames.root_pos_w_m, frames.root_quat_wxyz, frames.joint_pos_rad], axis=1)
    turning = angular_velocity_in_body(frames.root_quat_wxyz, step_s)
    straight = np.gradient(np.delete(qpos, range(3, 7), axis=1), step_s, axis=0)
    qvel = np.concatenate([straight[:, :3], turning, straight[:, 3:]], axis=1)
    qacc = np.gradient(qvel, step_s, axis=0)
    data, rows = mujoco.MjData(MODEL), []
    touching = []
    for row in range(len(frames)):
        data.qpos[:], data.qvel[:], data.qacc[:] = qpos[row], qvel[row], qacc[row]
        mujoco.mj_inverse(MODEL, data)
        mujoco.mj_subtreeVel(MODEL, data)
        geoms = [data.contact[at].geom for at in range(data.ncon)]
        touching += [(MODEL.geom(a).name, MODEL.geom(b).name) for a, b in geoms]
        soles = np.array([data.geom_xpos[SOLES[side]] for side in SIDES]) - [0.0, 0.0, 0.005]
        ankles = np.array([data.body(f"{side}_ankle_roll_link").xpos for side in SIDES])
        force = data.qfrc_inverse[:3].copy()
        moment = data.xmat[1].reshape(3, 3) @ data.qfrc_inverse[3:6] + np.cross(data.xpos[1], force)
        zmp = np.array([-moment[1], moment[0]]) / force[2]
        rows.append((soles, ankles, data.subtree_com[1].copy(), data.subtree_angmom[1].copy(), force, zmp))
    return Ground(*(np.array(column) for column in zip(*rows, strict=True)), touching=touching)
