"""The root of a clamped robot: the joints alone determine where it is, since one link of the robot stands still.

In: a trajectory of joints and velocities, the clamped model (re-rooted, robots/clamp.py) and the root's name. Out: the
same trajectory with the root's pose and velocities, by forward kinematics (HALO III-A).
"""

from dataclasses import replace

import mujoco

from haloid.trajectories.kinematics import body_states
from haloid.trajectories.mujoco_states import qpos_of, qvel_of
from haloid.trajectories.rotations import apply_inverse
from haloid.trajectories.trajectory import Trajectory


def with_root(trajectory: Trajectory, clamped: mujoco.MjModel, root: str) -> Trajectory:
    bodies = body_states(clamped, qpos_of(clamped, trajectory), qvel_of(clamped, trajectory))
    row = bodies.row_of(root)
    quat_wxyz = bodies.quat_wxyz[:, row]
    return replace(
        trajectory,
        root_pos_w_m=bodies.pos_w_m[:, row],
        root_quat_wxyz=quat_wxyz,
        root_lin_vel_w_m_s=bodies.lin_vel_w_m_s[:, row],
        root_ang_vel_b_rad_s=apply_inverse(quat_wxyz, bodies.ang_vel_w_rad_s[:, row]),
    )
