"""Own motions, a jump: crouch, push, a quarter turn in the air, landing on both soles.

In flight the centre of mass falls freely, and no torque acts on the robot: the pelvis' yaw ψ and the feet's φ share one
momentum about the vertical, I ψ' + r I φ' = I ω. The feet start and end at rest, so ψ' = ω − r φ' with ψ' = ω at
take-off, which the robot brings from the ground by a twist of the hips, and at landing, where the hips twist on.
"""

import numpy as np
from scipy.interpolate import BPoly

from haloid.motions.leg_kinematics import SIDES
from haloid.motions.own.balance import GRAVITY_M_S2, frames_of_plan
from haloid.motions.own.keyframes import Plan, Stand, both, curve, times_of
from haloid.trajectories.trajectory import FloatingTrajectory

_CROUCH_S, _LOW_S, _PUSH_S, _TAKE_OFF_S, _LANDING_S = 0.8, 1.7, 1.8, 2.1, 2.32
_ABSORBED_S, _RISE_S, _UP_S, _DURATION_S = 2.62, 2.8, 3.9, 5.0
_STAND_COM_M, _LOW_COM_M, _TAKE_OFF_COM_M = 0.672, 0.542, 0.638
_TURN_RAD = np.pi / 2
_TWIST_RAD = 0.42
"""Of the pelvis against the feet, at take-off and, the other way, at landing."""
_WOUND_RAD = 0.2
"""Of the pelvis the other way before the push, and beyond the turn after the landing."""
_FEET_SHARE = 0.3
"""r: the feet's share in the momentum, roughly; `flight.py` does the rest."""
_FEET_UP_M = 0.034
_SPREAD = both(shoulder_pitch=0.3, shoulder_roll=0.5, elbow=0.6) | {"waist_pitch_joint": -0.45}
"""The chest stays upright over the leaning pelvis: the waist is weak, and the push and the landing press on it."""
_LEAN_RAD = 0.46
"""Of the pelvis; it stays in flight, where nothing could turn it."""


def yaw_jump(stand: Stand) -> FloatingTrajectory:
    arms = stand.arms | {"waist_pitch_joint": 0.0}
    times_s = times_of(_DURATION_S)
    flight_s = _LANDING_S - _TAKE_OFF_S
    feet_yaw = curve([(_TAKE_OFF_S, 0.0), (_LANDING_S, _TURN_RAD)], times_s)[:, 0]
    part = np.clip((times_s - _TAKE_OFF_S) / flight_s, 0.0, 1.0)
    feet_up_m = _FEET_UP_M * np.sin(np.pi * part) ** 2
    feet = {side: _turned(stand.foot(side), feet_yaw) for side in SIDES}
    for pose in feet.values():
        pose[:, 2] += feet_up_m

    fall = GRAVITY_M_S2 * flight_s / 2
    height_m = _through(
        [
            (_CROUCH_S, _STAND_COM_M, 0.0, 0.0),
            (_LOW_S, _LOW_COM_M, 0.0, 0.0),
            (_PUSH_S, _LOW_COM_M, 0.0, 0.0),
            (_TAKE_OFF_S, _TAKE_OFF_COM_M, fall, -GRAVITY_M_S2),
            (_LANDING_S, _TAKE_OFF_COM_M, -fall, -GRAVITY_M_S2),
            (_ABSORBED_S, _LOW_COM_M, 0.0, 0.0),
            (_RISE_S, _LOW_COM_M, 0.0, 0.0),
            (_UP_S, _STAND_COM_M, 0.0, 0.0),
        ],
        times_s,
    )
    rate = (_TURN_RAD * (1 + _FEET_SHARE) - 2 * _TWIST_RAD) / flight_s
    yaw = _through(
        [
            (_CROUCH_S, 0.0, 0.0, 0.0),
            (_LOW_S, -_WOUND_RAD, 0.0, 0.0),
            (_PUSH_S, -_WOUND_RAD, 0.0, 0.0),
            (_TAKE_OFF_S, _TWIST_RAD, rate, 0.0),
            (_LANDING_S, _TURN_RAD - _TWIST_RAD, rate, 0.0),
            (_ABSORBED_S, _TURN_RAD + _WOUND_RAD, 0.0, 0.0),
            (_RISE_S, _TURN_RAD + _WOUND_RAD, 0.0, 0.0),
            (_UP_S, _TURN_RAD, 0.0, 0.0),
        ],
        times_s,
    )
    flying = (times_s >= _TAKE_OFF_S) & (times_s <= _LANDING_S)
    yaw[flying] = _TWIST_RAD + rate * (times_s[flying] - _TAKE_OFF_S) - _FEET_SHARE * feet_yaw[flying]
    lean = curve([(_CROUCH_S, 0.0), (_LOW_S, _LEAN_RAD), (_RISE_S, _LEAN_RAD), (_UP_S, 0.0)], times_s)[:, 0]
    return frames_of_plan(
        Plan(
            duration_s=_DURATION_S,
            height_m=height_m[:, None],
            height_is_com=True,
            flight_s=(_TAKE_OFF_S, _LANDING_S),
            pelvis_rpy_rad=np.stack([np.zeros_like(yaw), lean, yaw], axis=1),
            feet=feet,
            joints=[(_CROUCH_S, arms), (_LOW_S, _SPREAD), (_RISE_S, _SPREAD), (_UP_S, arms)],
        ),
        stand,
    )


def _through(keys: list[tuple[float, float, float, float]], times_s: np.ndarray) -> np.ndarray:
    """(T,) quintic curve through (time, value, velocity, acceleration)."""
    at = [key[0] for key in keys]
    return BPoly.from_derivatives(at, [key[1:] for key in keys])(np.clip(times_s, at[0], at[-1]))


def _turned(pose: np.ndarray, yaw_rad: np.ndarray) -> np.ndarray:
    """(T, 6) poses of a foot that is carried about the world's vertical."""
    poses = np.tile(pose, (len(yaw_rad), 1))
    cos, sin = np.cos(yaw_rad), np.sin(yaw_rad)
    poses[:, 0], poses[:, 1] = cos * pose[0] - sin * pose[1], sin * pose[0] + cos * pose[1]
    poses[:, 5] = yaw_rad
    return poses
