"""Own motions, steps: stepping in place, and walking forward and back, on flat soles.

The zero-moment point rests under the sole that bears the robot and goes over to the next while both are on the ground;
the centre of mass follows from it (`balance.py`), so that the robot sways as an inverted pendulum does and never stops.
"""

from collections.abc import Sequence

import numpy as np

from haloid.motions.leg_kinematics import SIDES
from haloid.motions.own.balance import frames_of_plan
from haloid.motions.own.keyframes import Plan, Stand, curve, times_of
from haloid.trajectories.trajectory import FloatingTrajectory

_STAND_S, _SHIFT_S, _SWING_S, _DOUBLE_S, _STOP_S = 0.9, 0.7, 0.55, 0.25, 0.5
_LIFT_M = 0.06
_STEP_M = 0.18
_ARM_SWING_RAD_PER_M = 2.0
_INSIDE_M = 0.01
"""How far inside the sole's centre the robot's weight rests, which lessens the sway."""

Step = tuple[str, float]
"""The side that steps, and where its foot goes: forward of where it stood at first."""


def step_in_place(stand: Stand) -> FloatingTrajectory:
    return _steps(stand, [[("right", 0.0), ("left", 0.0)] * 3])


def walk(stand: Stand) -> FloatingTrajectory:
    """Three steps forward, the last of which closes the feet, a short stop, and three back."""
    forward = [("right", _STEP_M), ("left", 2 * _STEP_M), ("right", 2 * _STEP_M)]
    backward = [("left", _STEP_M), ("right", 0.0), ("left", 0.0)]
    return _steps(stand, [forward, backward])


def _steps(stand: Stand, walks: Sequence[Sequence[Step]]) -> FloatingTrajectory:
    """Several walks in a row, each of which ends with closed feet and the weight between them."""
    forward_m = dict.fromkeys(SIDES, 0.0)
    forward_keys, lift_keys = ({side: [(0.0, 0.0)] for side in SIDES} for _ in range(2))
    zmp_keys = [(_STAND_S, (0.0, 0.0))]
    arm_keys = []
    time_s = _STAND_S
    for steps in walks:
        time_s += _SHIFT_S
        for side, goal_m in steps:
            bearing = "left" if side == "right" else "right"
            under = (forward_m[bearing], (stand.half_width_m - _INSIDE_M) * (1 if bearing == "left" else -1))
            lift_off, touch_down = time_s, time_s + _SWING_S
            zmp_keys += [(lift_off, under), (touch_down, under)]
            forward_keys[side] += [(lift_off, forward_m[side]), (touch_down, goal_m)]
            lift_keys[side] += [(lift_off, 0.0), (0.5 * (lift_off + touch_down), _LIFT_M), (touch_down, 0.0)]
            arm_keys.append((lift_off, _arms(stand, forward_m)))
            forward_m[side] = goal_m
            arm_keys.append((touch_down, _arms(stand, forward_m)))
            time_s = touch_down + _DOUBLE_S
        time_s += _STOP_S - _DOUBLE_S
        zmp_keys.append((time_s, (forward_m["left"], 0.0)))
    duration_s = time_s + _STAND_S
    times_s = times_of(duration_s)
    feet = {}
    for side in SIDES:
        feet[side] = np.tile(stand.foot(side), (len(times_s), 1))
        feet[side][:, [0]] += curve(forward_keys[side], times_s)
        feet[side][:, [2]] += curve(lift_keys[side], times_s)
    return frames_of_plan(Plan(duration_s=duration_s, zmp_xy_m=zmp_keys, feet=feet, joints=arm_keys), stand)


def _arms(stand: Stand, forward_m: dict[str, float]) -> dict[str, float]:
    """Each arm swings with the other side's foot."""
    ahead_m = forward_m["left"] - forward_m["right"]
    swing_rad = _ARM_SWING_RAD_PER_M * ahead_m
    shoulders = {side: stand.robot.arms[side][0] for side in SIDES}
    rest_rad = {side: stand.robot.standing_pose.get(shoulders[side], 0.0) for side in SIDES}
    return {shoulders["left"]: rest_rad["left"] + swing_rad, shoulders["right"]: rest_rad["right"] - swing_rad}
