"""Own motions, the engine: a plan becomes frames in which the feet are in place and the ground reaction is, too.

In: a `Plan`. Out: a trajectory. The legs follow by inverse kinematics, the pelvis by the centre of mass c, and c by the
planned zero-moment point p: c − h c'' = p with h = c_z / (g + c_z''), a boundary value problem. What the limbs' angular
momentum L about the centre of mass adds, p = c − h c'' + (−L_y', L_x') / m(g + c_z''), is measured on the whole robot
and taken out by solving for the error and repeating (Kajita et al. 2003, the dynamics filter).
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.linalg import solve_banded
from scipy.spatial.transform import Rotation

from haloid.errors import HaloidError
from haloid.motions.leg_kinematics import SIDES, LegKinematics
from haloid.motions.own.flight import turn_to_keep_momentum
from haloid.motions.own.keyframes import (
    FPS,
    FreeLeg,
    Plan,
    Stand,
    curve,
    times_of,
)
from haloid.robots.load import scalar_joints
from haloid.trajectories.motion import angular_velocity_in_body
from haloid.trajectories.trajectory import FloatingTrajectory

GRAVITY_M_S2 = 9.81

_FILTER_ROUNDS = 20
_ZMP_TOLERANCE_M = 1e-3
_TURN_TOLERANCE_RAD = 2e-3
_COM_TOLERANCE_M = 1e-7


def frames_of_plan(plan: Plan, stand: Stand) -> FloatingTrajectory:
    """The robot's frames: legs by inverse kinematics, the pelvis where the ground reaction acts at the plan's point."""
    legs = LegKinematics(stand.model, stand.robot)
    times_s = times_of(plan.duration_s)
    planned_xy_m = curve(plan.zmp_xy_m, times_s)
    take_off_s, landing_s = plan.flight_s or (np.inf, np.inf)
    in_flight = (times_s > take_off_s - 0.5 / FPS) & (times_s < landing_s + 0.5 / FPS)
    com_xy_m = com_of_zmp(planned_xy_m, np.full(len(times_s), 0.07), in_flight, 1.0 / FPS)
    turn_rad = np.zeros((len(times_s), 3))
    for _ in range(_FILTER_ROUNDS):
        qpos = _poses(plan, stand, legs, times_s, com_xy_m, Rotation.from_rotvec(turn_rad))
        momenta = momenta_of(legs.model, qpos)
        zmp_xy_m, height_s2 = zmp_of(momenta)
        missing_m = np.where(in_flight[:, None], 0.0, planned_xy_m - zmp_xy_m)
        missing_turn_rad = turn_to_keep_momentum(legs.model, qpos, momenta.angular, in_flight, times_s)
        if np.abs(missing_m).max() < _ZMP_TOLERANCE_M and np.abs(missing_turn_rad).max() < _TURN_TOLERANCE_RAD:
            break
        turn_rad = turn_rad + missing_turn_rad
        com_xy_m = com_xy_m + com_of_zmp(missing_m, height_s2, in_flight, 1.0 / FPS)
    else:
        off_mm = 1e3 * np.abs(missing_m).max()
        raise HaloidError(f"the zero-moment point stays {off_mm:.1f} mm off the planned path; plan a slower motion")
    return FloatingTrajectory(
        rate_hz=FPS,
        joint_names=scalar_joints(legs.model),
        joint_pos_rad=qpos[:, 7:],
        root_pos_w_m=qpos[:, :3],
        root_quat_wxyz=qpos[:, 3:7],
    )


def com_of_zmp(zmp_xy_m: np.ndarray, height_s2: np.ndarray, in_flight: np.ndarray, step_s: float) -> np.ndarray:
    """(T, 2) path c of the centre of mass with c − h c'' = p, in flight c'' = 0; at the ends c = p."""
    ratio = np.where(in_flight, 1.0, height_s2 / step_s**2)[1:-1]
    borne = np.where(in_flight, 0.0, 1.0)
    bands = np.ones((3, len(zmp_xy_m)))
    bands[0, :2], bands[2, -2:] = 0.0, 0.0
    bands[0, 2:], bands[1, 1:-1], bands[2, :-2] = -ratio, borne[1:-1] + 2 * ratio, -ratio
    return solve_banded((1, 1), bands, zmp_xy_m * borne[:, None])


@dataclass(frozen=True)
class Momenta:
    """Of the whole robot in every frame."""

    mass_kg: float
    com_m: np.ndarray
    """(T, 3)"""
    angular: np.ndarray
    """(T, 3) kg·m²/s about the centre of mass."""


def momenta_of(model: mujoco.MjModel, qpos: np.ndarray) -> Momenta:
    """Centre of mass and angular momentum of poses at `FPS` per second."""
    data, step_s = mujoco.MjData(model), 1.0 / FPS
    qvel = np.concatenate(
        [
            np.gradient(qpos[:, :3], step_s, axis=0),
            angular_velocity_in_body(qpos[:, 3:7], step_s),
            np.gradient(qpos[:, 7:], step_s, axis=0),
        ],
        axis=1,
    )
    com_m, angular_momentum = np.empty((2, len(qpos), 3))
    for row in range(len(qpos)):
        data.qpos[:], data.qvel[:] = qpos[row], qvel[row]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_subtreeVel(model, data)
        com_m[row], angular_momentum[row] = data.subtree_com[1], data.subtree_angmom[1]
    return Momenta(model.body_subtreemass[1], com_m, angular_momentum)


def zmp_of(momenta: Momenta) -> tuple[np.ndarray, np.ndarray]:
    """(T, 2) zero-moment point on the ground and (T,) h = c_z / (g + c_z''), by the rate of the momenta."""
    com_m, step_s = momenta.com_m, 1.0 / FPS
    acceleration = np.zeros_like(com_m)
    acceleration[1:-1] = (com_m[2:] - 2 * com_m[1:-1] + com_m[:-2]) / step_s**2
    rate = np.gradient(momenta.angular, step_s, axis=0)
    up = GRAVITY_M_S2 + acceleration[:, 2]
    height_s2 = com_m[:, 2] / up
    turning = np.stack([-rate[:, 1], rate[:, 0]], axis=1) / (momenta.mass_kg * up)[:, None]
    return com_m[:, :2] - height_s2[:, None] * acceleration[:, :2] + turning, height_s2


def _poses(
    plan: Plan, stand: Stand, legs: LegKinematics, times_s: np.ndarray, com_xy_m: np.ndarray, turn: Rotation
) -> np.ndarray:
    """(T, nq) whose centre of mass follows the path, the pelvis turned from its planned pose."""
    model = legs.model
    heights_m = curve(((0.0, stand.height_m),) if plan.height_m is None else plan.height_m, times_s)
    pelvis = turn * Rotation.from_euler("xyz", curve(plan.pelvis_rpy_rad, times_s))
    feet = {side: _foot_poses(plan, stand, side, times_s) for side in SIDES}
    current = model.qpos0.copy()
    current[2] = stand.height_m
    for name, angle in stand.robot.standing_pose.items():
        current[model.joint(name).qposadr] = angle
    of_legs = {joint for leg in legs.leg_joints.values() for joint in leg}
    upper_joints = [name for name in scalar_joints(model) if name not in of_legs]
    upper_address = [model.joint(name).qposadr[0] for name in upper_joints]
    upper = _upper_body(plan, dict(zip(upper_joints, current[upper_address], strict=True)), times_s)
    free: dict[str, np.ndarray] = {}
    pelvis_per_com = 1.2 * np.eye(3 if plan.height_is_com else 2)
    rows = np.empty((len(times_s), model.nq))
    for row, time_s in enumerate(times_s):
        if row > 1:
            current = 2 * rows[row - 1] - rows[row - 2]  # the motion is smooth, so this is a close guess
        current[3:7] = pelvis[row].as_quat(scalar_first=True)
        if not plan.height_is_com:
            current[2:3] = heights_m[row]
        current[upper_address] = upper[row]
        leg = plan.free_leg
        bound: list[str] = list(SIDES)
        if leg and leg.keys[0][0] <= time_s <= leg.keys[-1][0]:
            if not free:
                free[leg.side] = _free_angles(leg, legs, times_s, current)
            current[legs.addresses(leg.side)] = free[leg.side][row]
            bound.remove(leg.side)
        goal_m = np.append(com_xy_m[row], heights_m[row]) if plan.height_is_com else com_xy_m[row]
        current = _over(legs, current, goal_m, {side: feet[side][row] for side in bound}, pelvis_per_com)
        rows[row] = current
    return rows


def _over(
    legs: LegKinematics, qpos: np.ndarray, com_m: np.ndarray, feet: dict[str, np.ndarray], pelvis_per_com: np.ndarray
) -> np.ndarray:
    """`qpos` with the pelvis moved until the centre of mass is there (in x and y, or all three), the feet in place.

    Broyden's method: `pelvis_per_com`, how far the pelvis goes to move the centre of mass by 1, is learned in place.
    """
    qpos, axes = qpos.copy(), slice(len(com_m))
    step_m = before_m = np.zeros_like(com_m)
    for _ in range(40):
        for side, pose in feet.items():
            qpos = legs.reach(side, qpos, pose[:3], pose[3:])
        missing_m = com_m - legs.com_w_m(qpos)[axes]
        if np.abs(missing_m).max() < _COM_TOLERANCE_M:
            return qpos
        if np.abs(step_m).max() > 1e-6:
            expected_m = pelvis_per_com @ (before_m - missing_m)
            pelvis_per_com += np.outer(step_m - expected_m, step_m @ pelvis_per_com) / (step_m @ expected_m)
        step_m, before_m = pelvis_per_com @ missing_m, missing_m
        qpos[axes] += step_m
    raise HaloidError(
        f"the centre of mass cannot be brought to {com_m} m with the feet in place; plan a smaller motion"
    )


def _foot_poses(plan: Plan, stand: Stand, side: str, times_s: np.ndarray) -> np.ndarray:
    """(T, 7) positions and wxyz quaternions of a foot."""
    pose = plan.feet.get(side, np.tile(stand.foot(side), (len(times_s), 1)))
    return np.concatenate([pose[:, :3], Rotation.from_euler("xyz", pose[:, 3:]).as_quat(scalar_first=True)], axis=1)


def _upper_body(plan: Plan, standing: dict[str, float], times_s: np.ndarray) -> np.ndarray:
    """(T, n) angles of waist and arms, which are `standing` at first."""
    angles = dict(standing)
    keys = [(0.0, list(angles.values()))]
    for time_s, named in plan.joints:
        angles |= {joint: angle for joint, angle in named.items() if joint in standing}
        keys.append((time_s, list(angles.values())))
    return curve(keys, times_s)


def _free_angles(leg: FreeLeg, legs: LegKinematics, times_s: np.ndarray, lifted: np.ndarray) -> np.ndarray:
    """(T, 6) angles of a free leg, which begins and ends as it was `lifted`."""
    names, lifted_rad = legs.leg_joints[leg.side], lifted[legs.addresses(leg.side)]
    keys = []
    for time_s, named in leg.keys:
        angles = dict(zip(names, lifted_rad, strict=True)) | (named or {})
        keys.append((time_s, list(angles.values())))
    return curve(keys, times_s)
