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

_STAND_RAD = {
    "hip_pitch": -0.2,
    "knee": 0.4,
    "ankle_pitch": -0.2,
    "shoulder_roll": 0.3,
    "elbow": 0.8,
}
"""A relaxed stand with flat feet and bent arms, by kind of joint; the right side's roll is mirrored; others are 0."""

_ROOM_RAD = 0.15
"""Distance from joint limits that leaves the excitation some room."""
_FREEDOM_RAD = 0.3
"""A departure from the stand that costs as much as a joint at its torque limit."""
_ANKLE_WEIGHT = 1e4


def stand(built: BuiltRobot) -> np.ndarray:
    """(n,) the relaxed stand, moved inside the joints' limits."""
    posture = np.zeros(len(built.joint_names))
    for column, name in enumerate(built.joint_names):
        kind = name.removeprefix("left_").removeprefix("right_").removesuffix("_joint")
        mirrored = name.startswith("right_") and kind.endswith("roll")
        posture[column] = _STAND_RAD.get(kind, 0.0) * (-1.0 if mirrored else 1.0)
    lower, upper = _bounds(built)
    return np.clip(posture, lower, upper)


def lean(built: BuiltRobot) -> np.ndarray:
    """(n,) the posture to excite around; balanced over the clamped foot where the robot stands on one."""
    posture = stand(built)
    ankles = clamped_ankles(built)
    if built.free_foot is not None or not ankles.any():
        return posture
    dynamics = LabDynamics(built)
    weight = np.where(ankles, _ANKLE_WEIGHT, 1.0) / built.limits.effort_nm

    def residual(q_rad: np.ndarray) -> np.ndarray:
        return np.concatenate([weight * dynamics.static_torque(q_rad), (q_rad - posture) / _FREEDOM_RAD])

    solution = least_squares(residual, posture, bounds=_bounds(built), x_scale=_FREEDOM_RAD)
    left_over_nm = np.abs(dynamics.static_torque(solution.x))[ankles].max()
    if left_over_nm > 0.1:
        raise HaloidError(
            f"no posture takes the load off the clamped ankle: {left_over_nm:.1f} N·m are left, "
            "expected under 0.1 N·m. Lighten or centre the load, use double support, or clamp the pelvis"
        )
    return solution.x


def clamped_ankles(built: BuiltRobot) -> np.ndarray:
    """(n,) True for the ankle joints that carry the robot: most of its mass is beyond them."""
    model = built.model
    whole_kg = float(np.sum(model.body_mass))
    bodies = [int(model.joint(name).id) for name in built.joint_names]
    beyond_kg = model.body_subtreemass[model.jnt_bodyid[bodies]]
    named = np.array(["ankle" in name for name in built.joint_names])
    return named & (beyond_kg > 0.5 * whole_kg)


def toppling_stiffness(built: BuiltRobot, posture_rad: np.ndarray) -> np.ndarray:
    """(n, n) N·m/rad, the derivative of the static torques; servo stiffness must outweigh its negative part."""
    dynamics, step = LabDynamics(built), 1e-6
    columns = [
        (dynamics.static_torque(posture_rad + step * unit) - dynamics.static_torque(posture_rad - step * unit))
        for unit in np.eye(len(posture_rad))
    ]
    return np.array(columns).T / (2 * step)


def _bounds(built: BuiltRobot) -> tuple[np.ndarray, np.ndarray]:
    lower, upper = built.limits.lower_rad, built.limits.upper_rad
    room = np.minimum(_ROOM_RAD, 0.45 * (upper - lower))
    return lower + room, upper - room
