"""Own motions on two still feet: standing, squats and a wave of both arms."""

from haloid.motions.own.balance import frames_of_plan
from haloid.motions.own.keyframes import Plan, Stand, both
from haloid.trajectories.trajectory import FloatingTrajectory

_WAIST = "waist_pitch_joint"


def still(stand: Stand) -> FloatingTrajectory:
    return frames_of_plan(Plan(duration_s=5.0), stand)


def squat(stand: Stand) -> FloatingTrajectory:
    """Twice 0.2 m down and up, with arms that go forward and a trunk that leans a little to keep the balance.

    The waist bends back against the pelvis: it is weak, and must hold the trunk and what it carries.
    """
    low_m, lean_rad = stand.height_m - 0.2, 0.3
    down, forward = (0.0, lean_rad, 0.0), both(shoulder_pitch=-0.7, shoulder_roll=0.15, elbow=0.6) | {_WAIST: -0.2}
    up, lowered = (0.0, 0.0, 0.0), stand.arms | {_WAIST: 0.0}
    turns = [(0.8, False), (2.1, True), (2.4, True), (3.7, False), (4.0, False), (5.3, True), (5.6, True), (6.9, False)]
    return frames_of_plan(
        Plan(
            duration_s=7.6,
            height_m=[(time_s, low_m if is_low else stand.height_m) for time_s, is_low in turns],
            pelvis_rpy_rad=[(time_s, down if is_low else up) for time_s, is_low in turns],
            joints=[(time_s, forward if is_low else lowered) for time_s, is_low in turns],
        ),
        stand,
    )


def wave(stand: Stand) -> FloatingTrajectory:
    """Both arms go up at the sides, forearms upright, and wave from the elbows."""
    raised = {"shoulder_pitch": 0.0, "shoulder_roll": 1.65, "shoulder_yaw": 1.5}
    inward, outward = both(**raised, elbow=-0.3), both(**raised, elbow=0.6)
    lowered = stand.arms | both(shoulder_yaw=0.0)
    waving = [(2.3 + 0.45 * beat, outward if beat % 2 else inward) for beat in range(7)]
    joints = [(0.8, lowered), *waving, (waving[-1][0] + 1.5, lowered)]
    return frames_of_plan(Plan(duration_s=7.5, joints=joints), stand)
