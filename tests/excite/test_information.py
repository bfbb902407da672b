"""The surrogate's torques against MuJoCo, its gradient against differences, its score against the exact bound."""

import numpy as np
import pytest
from tests.excite.arm import LINKS

from haloid.excite.default import default_reference
from haloid.excite.information import KNOT_ROWS, PayloadInformation
from haloid.excite.prediction import predicted_bound
from haloid.lab.dynamics import LabDynamics
from haloid.lab.loads import halo_setting
from haloid.lab.robot import LabRobot

G1_LINKS = ("torso_link", "left_wrist_yaw_link", "right_wrist_yaw_link")


def random_knots(posture_rad, count=11, seed=0):
    rng = np.random.default_rng(seed)
    q_rad = posture_rad + 0.2 * rng.standard_normal((count, len(posture_rad)))
    return q_rad, rng.standard_normal(q_rad.shape), 5 * rng.standard_normal(q_rad.shape)


@pytest.mark.parametrize("robot", ["arm", "g1"])
def test_torques_are_mujocos(robot, scenario):
    lab = scenario.heaviest if robot == "arm" else LabRobot(loads=halo_setting(3))
    links = LINKS if robot == "arm" else G1_LINKS
    knots = random_knots(lab.posture_rad)
    found = PayloadInformation(lab.built, links, lab.posture_rad).evaluate(*knots)
    np.testing.assert_allclose(found.torque_nm, LabDynamics(lab.built).torque(*knots), atol=1e-8)


@pytest.mark.parametrize("robot", ["arm", "g1"])
def test_slopes_are_those_of_differences(robot, scenario):
    lab = scenario.heaviest if robot == "arm" else LabRobot(loads=halo_setting(3))
    view = PayloadInformation(lab.built, LINKS if robot == "arm" else G1_LINKS, lab.posture_rad)
    knots = np.array(random_knots(lab.posture_rad))
    found = view.evaluate(*knots)
    rng = np.random.default_rng(1)
    for _ in range(3):
        nudge = rng.standard_normal(knots.shape)
        ahead, behind = (view.evaluate(*(knots + sign * 1e-6 * nudge)) for sign in (1, -1))
        slope = np.sum(found.log_det_slope * nudge)
        assert slope == pytest.approx((ahead.log_det - behind.log_det) / 2e-6, rel=1e-4)
        torque_slope = np.einsum("dknm,dkm->kn", found.torque_slope, nudge)
        np.testing.assert_allclose(torque_slope, (ahead.torque_nm - behind.torque_nm) / 2e-6, atol=1e-4)


def test_only_joints_between_clamp_and_payload_carry():
    lab = LabRobot()
    view = PayloadInformation(lab.built, ("torso_link",), lab.posture_rad)
    carrying = {name for name, carries in zip(lab.built.joint_names, view.carries, strict=True) if carries}
    legs = {
        f"left_{joint}_joint" for joint in ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")
    }
    assert carrying == legs | {"waist_yaw_joint", "waist_roll_joint", "waist_pitch_joint"}


def test_the_score_ranks_motions_as_the_exact_bound_does(scenario):
    """Both in nats a parameter: differences between motions agree, the constant does not matter."""
    view = PayloadInformation(scenario.heaviest.built, LINKS, scenario.posture_rad)
    scores, bounds = [], []
    for seed in range(4):
        motion = default_reference(scenario, seed)
        rows = np.arange(0, len(motion.time_s), KNOT_ROWS)[: 5 * ((len(motion.time_s) // KNOT_ROWS - 1) // 5) + 1]
        found = view.evaluate(motion.q_rad[rows], motion.dq_rad_s[rows], motion.ddq_rad_s2[rows])
        scores.append(found.log_det / 8)
        bounds.append(-np.log(predicted_bound(scenario.heaviest, motion, LINKS, 0.0005, "halo").volume_per_parameter))
    assert np.ptp(bounds) > 0.05
    np.testing.assert_allclose(np.diff(scores), np.diff(bounds), atol=0.1)
