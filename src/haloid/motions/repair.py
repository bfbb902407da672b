"""Motions, repair: where a foot stands, its sole becomes flat, still and exactly on the ground.

In: a trajectory, such as a human clip in which feet float, slide or stand on their toes. Out: `Repaired`. The clip is
put on the ground, and then as high as its standing ankles would be over flat soles, so that the legs keep their bend.
While a foot stands (`stance.py`) it has one pose: its mean place and heading, without roll and pitch. The correction
fades in and out around the phase, over 0.1 s or, where it is large, as long as keeps it slow. The legs follow by
inverse kinematics; the pelvis is lowered further where a leg would be too short.
"""

from dataclasses import dataclass, replace

import mujoco
import numpy as np
from scipy.ndimage import gaussian_filter1d, maximum_filter1d
from scipy.spatial.transform import Rotation

from haloid.motions.ground import SMOOTHING_S, ground
from haloid.motions.leg_kinematics import SIDES, LegKinematics
from haloid.motions.stance import stance_phases, without_gaps
from haloid.motions.surface import surface_of
from haloid.robots.description import describe
from haloid.robots.entries import DEFAULT_ROBOT
from haloid.robots.load import load_spec, scalar_joints
from haloid.robots.sole import joints_about
from haloid.trajectories.motion import continuous_quats
from haloid.trajectories.mujoco_states import floating_root
from haloid.trajectories.trajectory import FloatingTrajectory

FADE_S = (0.1, 0.3)
"""The shortest and the longest fade."""
FADE_RAD_S, FADE_M_S = 5.0, 0.8
"""How fast a correction may fade at most, unless the fade would then be longer than the longest."""
_STEEPEST = 1.875
_REACH = 0.985
"""Of the stretched leg's length: the knee stays a little bent."""
_LOWERING_S = 0.1
"""How long before and after the pelvis is lowered for a frame that needs it."""


@dataclass(frozen=True)
class Repaired:
    """A clip that a robot can stand in, and how much was changed."""

    frames: FloatingTrajectory
    contacts: np.ndarray
    """(T, 2) whether the left and the right foot stand."""
    greatest_change_m: float
    """Of a foot's position relative to the pelvis."""
    greatest_change_rad: float
    """Of a joint's angle."""
    greatest_lowering_m: float
    """Of the pelvis, because a leg would have been too short."""
    greatest_miss_m: float
    """Of a standing foot that could not be brought to its place within the joints' ranges; 0 if all could."""
    greatest_miss_rad: float


def repair(frames: FloatingTrajectory, robot: str = DEFAULT_ROBOT, close_gaps: bool = False) -> Repaired:
    """`close_gaps`: where no foot stands and the robot does not fall either, the feet stand longer."""
    model, description = load_spec(robot).compile(), describe(robot)
    legs = LegKinematics(model, description)
    grounded = ground(frames, model, "contact")
    qpos = _qpos_of(grounded, model)
    poses = {side: np.array([np.concatenate(legs.foot_pose(side, row)) for row in qpos]) for side in SIDES}
    sole_in_foot_m = {side: _sole_in_foot_m(model, description.feet[side]) for side in SIDES}
    phases = {side: stance_phases(_soles_w_m(poses[side], sole_in_foot_m[side]), frames.rate_hz) for side in SIDES}
    if close_gaps:
        phases = without_gaps(phases, grounded.root_pos_w_m[:, 2], frames.rate_hz)
    contacts = np.zeros((len(frames), len(SIDES)), bool)
    for column, side in enumerate(SIDES):
        for start, stop in phases[side]:
            contacts[start:stop, column] = True
    raise_m = _raise_m(poses, sole_in_foot_m, contacts, frames.rate_hz)
    for pose in (qpos, *poses.values()):
        pose[:, 2] += raise_m
    wanted = {side: _standing(poses[side], phases[side], sole_in_foot_m[side], frames.rate_hz) for side in SIDES}
    moved = {side: np.abs(wanted[side] - poses[side]).max(axis=1) > 1e-9 for side in SIDES}
    feet_w_m = {side: wanted[side][:, :3] for side in SIDES}
    lowering_m = lowering_for_legs_m(legs, qpos, feet_w_m, moved, frames.rate_hz)
    solved, miss = _solve(legs, qpos, poses, wanted, lowering_m, contacts)
    named = [legs.model.joint(name).qposadr[0] for name in frames.joint_names]
    new_frames = replace(grounded, root_pos_w_m=solved[:, :3], joint_pos_rad=solved[:, named])
    moved_m = [np.linalg.norm(wanted[side][:, :3] - poses[side][:, :3], axis=1).max() for side in SIDES]
    return Repaired(
        frames=new_frames,
        contacts=contacts,
        greatest_change_m=float(max(moved_m)),
        greatest_change_rad=float(np.abs(new_frames.joint_pos_rad - frames.joint_pos_rad).max()),
        greatest_lowering_m=float(lowering_m.max()),
        greatest_miss_m=miss[0],
        greatest_miss_rad=miss[1],
    )


def _qpos_of(frames: FloatingTrajectory, model: mujoco.MjModel) -> np.ndarray:
    """(T, nq) in the model's order; joints that the frames do not name are 0."""
    qpos = np.tile(model.qpos0, (len(frames), 1))
    root = model.jnt_qposadr[model.body_jntadr[floating_root(model)]]
    qpos[:, [model.joint(name).qposadr[0] for name in scalar_joints(model)]] = 0.0
    qpos[:, root : root + 3] = frames.root_pos_w_m
    qpos[:, root + 3 : root + 7] = continuous_quats(frames.root_quat_wxyz)
    qpos[:, [model.joint(name).qposadr[0] for name in frames.joint_names]] = frames.joint_pos_rad
    return qpos


def _sole_in_foot_m(model: mujoco.MjModel, foot: str) -> np.ndarray:
    """(points, 3) the soles' lowest points in the foot's link, when it is level."""
    surface = surface_of(model)
    rows = surface.of(model.body(foot).id)
    return surface.in_body_m[rows] - surface.radius_m[rows, None] * [0.0, 0.0, 1.0]


def _soles_w_m(poses: np.ndarray, sole_in_foot_m: np.ndarray) -> np.ndarray:
    """(T, points, 3)"""
    turns = Rotation.from_quat(poses[:, 3:], scalar_first=True).as_matrix()
    return poses[:, None, :3] + np.einsum("tij,pj->tpi", turns, sole_in_foot_m)


def _raise_m(
    poses: dict[str, np.ndarray], sole_in_foot_m: dict[str, np.ndarray], contacts: np.ndarray, fps: float
) -> np.ndarray:
    """(T,) what to add to the heights so that the lower of the standing ankles is as high as over a flat sole."""
    above_m = np.stack([poses[side][:, 2] + sole_in_foot_m[side][:, 2].min() for side in SIDES], axis=1)
    lower_m = np.where(contacts, above_m, np.inf).min(axis=1)
    standing = np.flatnonzero(contacts.any(axis=1))
    if not standing.size:
        return np.zeros(len(contacts))
    raise_m = np.interp(np.arange(len(contacts)), standing, -lower_m[standing])
    return gaussian_filter1d(raise_m, SMOOTHING_S * fps, mode="nearest")


def _standing(poses: np.ndarray, phases: list[tuple[int, int]], sole_in_foot_m: np.ndarray, fps: float) -> np.ndarray:
    """(T, 7) poses of a foot that stands in its phases, and otherwise moves as it did."""
    turns = Rotation.from_quat(poses[:, 3:], scalar_first=True)
    moves_m, turns_rad = np.zeros((2, len(poses), 3))
    middle_m = sole_in_foot_m.mean(axis=0)
    soles_m = poses[:, :3] + turns.apply(middle_m)
    forward = turns.apply([1.0, 0.0, 0.0])
    rows = np.arange(len(poses))
    for start, stop in phases:
        heading = forward[start:stop].mean(axis=0)
        flat = Rotation.from_euler("z", np.arctan2(heading[1], heading[0]))
        place_m = soles_m[start:stop].mean(axis=0) - flat.apply(middle_m)
        place_m[2] = -sole_in_foot_m[:, 2].min()
        nearest = np.clip(rows, start, stop - 1)
        move_m, turn_rad = place_m - poses[nearest, :3], (flat * turns.inv()).as_rotvec()[nearest]
        fade_s = _STEEPEST * np.maximum(_length(move_m) / FADE_M_S, _length(turn_rad) / FADE_RAD_S)
        away_s = np.abs(rows - nearest) / fps
        weight = _smooth_step(np.clip(1 - away_s / np.clip(fade_s, *FADE_S), 0.0, 1.0))[:, None]
        moves_m += weight * move_m
        turns_rad += weight * turn_rad
    turned = Rotation.from_rotvec(turns_rad) * turns
    new_poses = np.concatenate([poses[:, :3] + moves_m, turned.as_quat(scalar_first=True)], axis=1)
    sunk_m = -_soles_w_m(new_poses, sole_in_foot_m)[..., 2].min(axis=1)
    new_poses[:, 2] += np.maximum(sunk_m, 0.0)
    return new_poses


def _length(vectors: np.ndarray) -> np.ndarray:
    return np.linalg.norm(vectors, axis=1)


def _smooth_step(at: np.ndarray) -> np.ndarray:
    """From 0 to 1 without velocity and acceleration at the ends; at most `_STEEPEST` times a straight line's slope."""
    return at**3 * (10 + at * (6 * at - 15))


def lowering_for_legs_m(
    legs: LegKinematics, qpos: np.ndarray, feet_w_m: dict[str, np.ndarray], moved: dict[str, np.ndarray], fps: float
) -> np.ndarray:
    """(T,) how far the pelvis goes down so that both legs are long enough; where no foot was moved, nothing is needed.

    `feet_w_m` are (T, 3) by side, `moved` (T,) bool.
    """
    needed_m = np.zeros(len(qpos))
    for side in SIDES:
        hip_in_pelvis_m, length_m = _leg(legs, side)
        hips_m = qpos[:, :3] + Rotation.from_quat(qpos[:, 3:7], scalar_first=True).apply(hip_in_pelvis_m)
        apart_m = hips_m - feet_w_m[side]
        across_m = np.minimum(np.linalg.norm(apart_m[:, :2], axis=1), 0.9 * _REACH * length_m)
        too_high_m = apart_m[:, 2] - np.sqrt((_REACH * length_m) ** 2 - across_m**2)
        needed_m = np.maximum(needed_m, np.where(moved[side], too_high_m, 0.0))
    wide = maximum_filter1d(needed_m, 2 * round(_LOWERING_S * fps) + 1, mode="nearest")
    return gaussian_filter1d(wide, 0.5 * _LOWERING_S * fps, mode="nearest")


def _leg(legs: LegKinematics, side: str) -> tuple[np.ndarray, float]:
    """Where the hip is in the pelvis, abreast of the leg, and how long the stretched leg is from there to the foot."""
    foot_m, _ = legs.foot_pose(side, legs.model.qpos0)
    data, leg = legs.data, legs.leg_joints[side]
    pitch, roll = (data.joint(joints_about(legs.model, leg, axis)[0]).xanchor for axis in (1, 0))
    hip_m = np.array([pitch[0], roll[1], pitch[2]])
    return hip_m - data.xpos[legs.root], float(np.linalg.norm(hip_m - foot_m))


def _solve(
    legs: LegKinematics,
    qpos: np.ndarray,
    poses: dict[str, np.ndarray],
    wanted: dict[str, np.ndarray],
    lowering_m: np.ndarray,
    contacts: np.ndarray,
) -> tuple[np.ndarray, tuple[float, float]]:
    """Poses with the feet as wanted, and by how much standing feet miss: (m, rad)."""
    solved, misses = qpos.copy(), [(0.0, 0.0)]
    solved[:, 2] -= lowering_m
    for column, side in enumerate(SIDES):
        is_moved = np.abs(wanted[side] - poses[side]).max(axis=1) > 1e-9
        for row in np.flatnonzero(is_moved | (lowering_m > 1e-9)):
            solved[row], error = legs.nearest(side, solved[row], wanted[side][row, :3], wanted[side][row, 3:])
            if contacts[row, column]:
                misses.append((float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:]))))
    return solved, (max(miss[0] for miss in misses), max(miss[1] for miss in misses))
