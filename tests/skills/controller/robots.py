"""A G1 on a floor, standing, and a closed loop of the controller with it."""

from functools import cache

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from haloid.motions.own import own_motion
from haloid.skills.controller.contacts import sole_spheres
from haloid.skills.controller.tables import ControllerTables
from haloid.skills.task.robot import tracked_robot
from haloid.trajectories.motion import Motion, motion_of
from haloid.trajectories.mujoco_states import ModelStates, states_of


@cache
def robot_on_floor() -> mujoco.MjModel:
    return tracked_robot("g1").model


def standing_qpos(model: mujoco.MjModel) -> np.ndarray:
    """mjlab's pose with bent knees, the lowest sole at z = 0."""
    qpos = np.zeros(model.nq)
    qpos[3], qpos[7:] = 1.0, tracked_robot("g1").default_joint_pos_rad
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    soles = sole_spheres(model)
    qpos[2] = (model.geom_size[soles, 0] - data.geom_xpos[soles, 2]).max()
    return qpos


@cache
def clip(name: str, first: int, last: int) -> Motion:
    """Frames of one of the package's own motions."""
    return motion_of(motion_of(own_motion(name)).trajectory.rows(slice(first, last)))


def observed_error(data: mujoco.MjData, motion: Motion, reference: ModelStates, frame: int) -> np.ndarray:
    """(64,) e of the tables, without noise; needs current kinematics."""
    torso = motion.body_quat_wxyz[frame, motion.body_names.index("torso_link")]
    measured = Rotation.from_quat(data.body("torso_link").xquat, scalar_first=True)
    rotation = (measured.inv() * Rotation.from_quat(torso, scalar_first=True)).as_rotvec()
    velocity = reference.qvel[frame] - data.qvel
    return np.concatenate([rotation, velocity[3:6], reference.qpos[frame, 7:] - data.qpos[7:], velocity[6:]])


def tracked_heights_and_distances_m(
    model: mujoco.MjModel, motion: Motion, tables: ControllerTables, *, noise: float, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """(T − 1,) heights of the pelvis and mean distances of all bodies from the reference, tracking from frame 0.

    `noise` multiplies mjlab's observation noise.
    """
    generator = np.random.default_rng(seed)
    size = np.repeat([0.05, 0.2, 0.01, 0.5], [3, 3, 29, 29]) * noise
    reference, data = states_of(model, motion.trajectory), mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = reference.qpos[0], reference.qvel[0]
    mujoco.mj_forward(model, data)
    heights, distances = [], []
    bodies = [model.body(name).id for name in motion.body_names]
    last_target_rad = tables.last_target_rad[1]
    for frame in range(1, len(reference)):
        error = observed_error(data, motion, reference, frame) + size * generator.uniform(-1, 1, 64)
        error = np.concatenate([error, tables.last_target_rad[frame] - last_target_rad])
        last_target_rad = tables.target_rad[frame] + tables.gain[frame] @ error
        data.ctrl[:] = last_target_rad
        mujoco.mj_step(model, data, nstep=round(reference.step_s / model.opt.timestep))
        mujoco.mj_forward(model, data)
        heights.append(data.qpos[2])
        distances.append(np.linalg.norm(data.xpos[bodies] - motion.body_pos_w_m[frame], axis=1).mean())
    return np.array(heights), np.array(distances)
