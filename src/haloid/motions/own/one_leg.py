"""Own motions on the left foot alone: swallow balance, side kick and roundhouse kick.

All begin and end alike: the weight goes over the left sole, the right foot is lifted up, and back again. In between
the right leg is free, and the centre of mass follows so that the ground reaction stays under the left sole's centre.
"""

import numpy as np

from haloid.motions.own.balance import frames_of_plan
from haloid.motions.own.keyframes import (
    FreeLeg,
    Plan,
    Stand,
    both,
    curve,
    one,
    times_of,
)
from haloid.trajectories.trajectory import FloatingTrajectory

_SHIFT_S, _LIFT_S, _STAND_S = 0.9, 0.4, 0.8
_FREE_S = _STAND_S + _SHIFT_S + _LIFT_S
"""When the lifted leg is free."""
_LIFT_M = 0.06
_INWARD = 0.7
"""Of the lift: the foot comes nearer to the other, which spares the ankle's small range of roll."""
_UPRIGHT, _OVER_LEFT = (0.0, 0.0, 0.0), (-0.12, 0.0, 0.0)
"""Of the pelvis: a lean to the left spares the left ankle's range of roll, as `_INWARD` spares the right one's."""
_WAIST = {"waist_yaw_joint": 0.0, "waist_roll_joint": 0.0, "waist_pitch_joint": 0.0}


def swallow(stand: Stand) -> FloatingTrajectory:
    """The trunk leans 43° forward, the right leg is stretched behind in line with it, the arms are spread for 2 s."""
    lean = (-0.1, 0.75, 0.0)
    stretched = one("right", hip_pitch=0.25, hip_roll=0.0, hip_yaw=0.0, knee=0.15, ankle_pitch=0.2, ankle_roll=0.0)
    bent = one("right", hip_pitch=-0.15, hip_roll=0.0, hip_yaw=0.0, knee=1.0, ankle_pitch=-0.2, ankle_roll=0.0)
    spread = both(shoulder_pitch=0.0, shoulder_roll=1.3, elbow=1.3)
    over, there, back, under = (_FREE_S + after_s for after_s in (0.55, 1.2, 3.2, 3.85))
    return _on_left_foot(
        stand,
        free_s=4.4,
        leg=[(over, bent), (there, stretched), (back, stretched), (under, bent)],
        height_m=[(there, 0.70), (back, 0.70)],
        pelvis_rpy_rad=[(there, lean), (back, lean)],
        upper=[(there, spread), (back, spread)],
    )


def side_kick(stand: Stand) -> FloatingTrajectory:
    """Knee up, then the right leg goes out to the side while the trunk leans away from it."""
    chambered = one("right", hip_pitch=-1.1, hip_roll=0.35, hip_yaw=0.0, knee=1.6, ankle_pitch=-0.2, ankle_roll=0.0)
    kicking = one("right", hip_pitch=-0.3, hip_roll=1.15, hip_yaw=0.0, knee=0.3, ankle_pitch=-0.2, ankle_roll=0.0)
    chamber, out, held, drawn = (_FREE_S + after_s for after_s in (0.9, 1.55, 1.7, 2.35))
    guard = both(shoulder_pitch=-0.2, shoulder_roll=0.35, elbow=0.2)
    upright = guard | {"waist_roll_joint": 0.12}
    guard = guard | {"waist_roll_joint": 0.05}
    lean, leaning = (-0.15, 0.0, 0.0), (-0.35, 0.0, 0.0)
    return _on_left_foot(
        stand,
        free_s=3.25,
        leg=[(chamber, chambered), (out, kicking), (held, kicking), (drawn, chambered)],
        height_m=[(chamber, stand.height_m), (drawn, stand.height_m)],
        pelvis_rpy_rad=[(chamber, lean), (out, leaning), (held, leaning), (drawn, lean)],
        upper=[(chamber, guard), (out, upright), (held, upright), (drawn, guard)],
    )


def roundhouse_kick(stand: Stand) -> FloatingTrajectory:
    """The bent right leg goes out to the side, then swings to the front with the pelvis and stretches.

    Waist and spread arms turn the other way, so that the sole need not hold more than a few N·m about the vertical;
    a quicker turn would let a loaded robot's foot slip around.
    """
    chambered = one("right", hip_pitch=-0.2, hip_roll=0.8, hip_yaw=0.0, knee=1.5, ankle_pitch=0.2, ankle_roll=0.0)
    passing = one("right", hip_pitch=-0.85, hip_roll=0.8, hip_yaw=0.0, knee=1.35, ankle_pitch=0.2, ankle_roll=0.0)
    kicking = one("right", hip_pitch=-1.3, hip_roll=0.55, hip_yaw=0.0, knee=0.5, ankle_pitch=0.2, ankle_roll=0.0)
    chamber, over, out, held, under, drawn = (_FREE_S + after_s for after_s in (1.1, 1.8, 2.4, 2.55, 3.15, 3.85))
    spread = both(shoulder_roll=0.9, elbow=1.1)
    wound = spread | _pitched(left=0.5, right=-0.1) | {"waist_yaw_joint": 0.1}
    unwound = spread | _pitched(left=-0.1, right=0.5) | {"waist_yaw_joint": -0.5}
    back, front = (-0.25, 0.0, 0.0), (-0.2, 0.0, 0.2)
    return _on_left_foot(
        stand,
        free_s=4.9,
        leg=[
            (chamber, chambered),
            (over, passing),
            (out, kicking),
            (held, kicking),
            (under, passing),
            (drawn, chambered),
        ],
        height_m=[(chamber, stand.height_m), (drawn, stand.height_m)],
        pelvis_rpy_rad=[(chamber, back), (out, front), (held, front), (drawn, back)],
        upper=[(chamber, wound), (out, unwound), (held, unwound), (drawn, wound)],
    )


def _pitched(left: float, right: float) -> dict[str, float]:
    return one("left", shoulder_pitch=left) | one("right", shoulder_pitch=right)


def _on_left_foot(
    stand: Stand,
    free_s: float,
    leg: list[tuple[float, dict[str, float] | None]],
    height_m: list[tuple[float, float]],
    pelvis_rpy_rad: list[tuple[float, tuple[float, float, float]]],
    upper: list[tuple[float, dict[str, float]]],
) -> FloatingTrajectory:
    """A plan on one leg for `free_s` after `_FREE_S`, with the way there and back."""
    end_s = _FREE_S + free_s
    down_s, centred_s = end_s + _LIFT_S, end_s + _LIFT_S + _SHIFT_S
    duration_s = centred_s + _STAND_S
    times_s = times_of(duration_s)
    right = np.tile(stand.foot("right"), (len(times_s), 1))
    lifts = [(_STAND_S + _SHIFT_S, 0.0), (_FREE_S, _LIFT_M), (end_s, _LIFT_M), (down_s, 0.0)]
    lifted = curve(lifts, times_s)[:, 0]
    right[:, 2] += lifted
    right[:, 1] += _INWARD * lifted
    rest = stand.arms | both(shoulder_yaw=0.0) | _WAIST
    middle, left = (0.0, 0.0), (0.0, stand.half_width_m)
    return frames_of_plan(
        Plan(
            duration_s=duration_s,
            zmp_xy_m=[(_STAND_S, middle), (_STAND_S + _SHIFT_S, left), (down_s, left), (centred_s, middle)],
            height_m=[(_FREE_S, stand.height_m), *height_m, (end_s, stand.height_m)],
            pelvis_rpy_rad=[
                (_STAND_S, _UPRIGHT),
                (_STAND_S + _SHIFT_S, _OVER_LEFT),
                (_FREE_S, _OVER_LEFT),
                *pelvis_rpy_rad,
                (end_s, _OVER_LEFT),
                (down_s, _OVER_LEFT),
                (centred_s, _UPRIGHT),
            ],
            feet={"right": right},
            joints=[(_FREE_S, rest), *upper, (end_s, rest)],
            free_leg=FreeLeg("right", [(_FREE_S, None), *leg, (end_s, None)]),
        ),
        stand,
    )
