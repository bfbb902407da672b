"""Posture: how the robot stands before it is shaken.

In: the lab robot. Out: joint angles near a relaxed stand. On one clamped foot it leans until the clamped ankle carries
no static torque, which takes the centre of mass over it; payloads are held close rather than at arm's length. The
lab leans the *true* robot: an operator trims it by hand until it stands well, and the recording only keeps targets.
"""

import numpy as np
from scipy.optimize import least_squares

from haloid.errors import HaloidError
from haloid.lab.built import BuiltRobot
from haloid.lab.dynamics import LabDynamics
from haloid.robots.sole import joints_about

_ROOM_RAD = 0.12
"""Distance from joint limits that leaves the excitation some room."""
_FREEDOM_RAD = 0.3
"""A departure from the stand that counts as one."""
_EFFORT_WEIGHT = 2.0
"""What a joint at its torque limit counts against that."""
_ANKLE_WEIGHT = 1e3
"""The same for the clamped ankle, which thereby carries next to nothing."""


def stand(built: BuiltRobot) -> np.ndarray:
    """(n,) the relaxed stand, moved inside the joints' limits."""
    posture = np.array([built.description.excitation_pose.get(name, 0.0) for name in built.joint_names])
    lower, upper = _bounds(built)
    return np.clip(posture, lower, upper)


def lean(built: BuiltRobot) -> np.ndarray:
    """(n,) the posture to excite around: balanced over the clamped foot; in double support easy on every joint."""
    posture = stand(built)
    ankles = clamped_ankles(built)
    dynamics = LabDynamics(built)
    lower, upper = _bounds(built)
    if built.free_foot is None:
        moves, weight = np.eye(len(posture)), np.where(ankles, _ANKLE_WEIGHT, _EFFORT_WEIGHT) / built.limits.effort_nm
        move_bounds = (lower - posture, upper - posture)
    else:
        moves, weight = _both_feet_flat(built), _EFFORT_WEIGHT / built.limits.effort_nm
        move_bounds = (-_FREEDOM_RAD, _FREEDOM_RAD)

    def residual(move: np.ndarray) -> np.ndarray:
        static_nm = dynamics.static_torque(posture + moves @ move)
        return np.concatenate([weight * static_nm, move / _FREEDOM_RAD])

    solution = least_squares(residual, np.zeros(moves.shape[1]), bounds=move_bounds, x_scale=_FREEDOM_RAD)
    leaning = posture + moves @ solution.x
    left_over_nm = np.abs(dynamics.static_torque(leaning))[ankles].max(initial=0.0)
    if built.free_foot is None and left_over_nm > 0.1:
        raise HaloidError(
            f"no posture takes the load off the clamped ankle: {left_over_nm:.1f} N·m are left, expected under "
            "0.1 N·m. Lighten or centre the load, use double support or clamp the pelvis"
        )
    return leaning


def _both_feet_flat(built: BuiltRobot) -> np.ndarray:
    """(n, m) moves that leave both soles on the floor: hips and ankles pitch against each other, waist and arms."""
    units = np.eye(len(built.joint_names))
    fore_aft = np.zeros(len(units))
    for leg in built.description.legs.values():
        pitching = joints_about(built.model, leg, axis=1)
        fore_aft[built.joint_names.index(pitching[0])] = -1.0
        fore_aft[built.joint_names.index(pitching[-1])] = 1.0
    free = [unit for limb, unit in zip(built.limbs, units, strict=True) if limb != "legs"]
    return np.array([fore_aft, *free]).T


def clamped_ankles(built: BuiltRobot) -> np.ndarray:
    """(n,) True for the ankle joints that carry the robot: most of its mass is beyond them."""
    model = built.model
    whole_kg = float(np.sum(model.body_mass))
    joints = [model.joint(name).id for name in built.joint_names]
    beyond_kg = model.body_subtreemass[model.jnt_bodyid[joints]]
    named = np.array([name in built.description.ankles for name in built.joint_names])
    return named & (beyond_kg > 0.5 * whole_kg)


def _bounds(built: BuiltRobot) -> tuple[np.ndarray, np.ndarray]:
    lower, upper = built.limits.lower_rad, built.limits.upper_rad
    room = np.minimum(_ROOM_RAD, 0.45 * (upper - lower))
    return lower + room, upper - room
