import numpy as np
import pytest

from haloid.excite.clearance import Clearance
from haloid.lab.robot import LabRobot

LAB = LabRobot()


def arm_crossed() -> np.ndarray:
    """The left arm swung from the posture across the body."""
    q_rad = LAB.posture_rad.copy()
    for name, angle_rad in {
        "left_shoulder_roll_joint": -0.3,
        "left_elbow_joint": 0.2,
        "left_shoulder_yaw_joint": 0.6,
    }.items():
        column = LAB.built.joint_names.index(name)
        q_rad[column] = angle_rad
    return q_rad


def test_a_motion_with_room_lacks_none():
    lack, slope = Clearance(LAB.built, LAB.posture_rad).lack(np.array([LAB.posture_rad, LAB.posture_rad + 0.01]))
    assert lack == 0.0
    assert not slope.any()


def test_the_slope_is_that_of_differences():
    clearance = Clearance(LAB.built, LAB.posture_rad)
    q_rad = arm_crossed()[None]
    lack, slope = clearance.lack(q_rad)
    assert lack > 0.0
    nudge = np.zeros_like(q_rad)
    nudge[0, LAB.built.joint_names.index("left_shoulder_roll_joint")] = 1.0
    ahead, behind = (clearance.lack(q_rad + sign * 1e-6 * nudge)[0] for sign in (1, -1))
    assert np.sum(slope * nudge) == pytest.approx((ahead - behind) / 2e-6, rel=0.05)
    assert np.sum(slope * nudge) < 0.0  # outwards is clearer
