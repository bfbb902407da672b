"""Designs against multi-sines, by the exact bound; limits for both robots; the same seed, the same motion."""

from dataclasses import replace

import numpy as np
import pytest
from tests.excite.arm import LINKS, arm_scenario

from haloid.errors import HaloidError
from haloid.excite.default import default_reference
from haloid.excite.feasible import feasible
from haloid.excite.optimal import Search, optimal_reference
from haloid.excite.prediction import predicted_bound
from haloid.excite.scenario import make_scenario, payload_of
from haloid.lab.excitation import Excitation
from haloid.lab.loads import halo_setting
from haloid.lab.play import play
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors

G1_LINKS = ("torso_link", "left_wrist_yaw_link", "right_wrist_yaw_link")
QUICK = Search(iterations=25)


@pytest.fixture(scope="module")
def design(scenario):
    return optimal_reference(scenario, QUICK, seed=0)


def assert_within_limits(scenario, motion):
    """By the robots' own inverse dynamics, written out again."""
    limits, excitation = scenario.limits, scenario.excitation
    assert np.all(motion.q_rad >= limits.lower_rad + excitation.limit_margin_rad - 1e-9)
    assert np.all(motion.q_rad <= limits.upper_rad - excitation.limit_margin_rad + 1e-9)
    assert np.abs(motion.dq_rad_s).max() <= excitation.velocity_limit_rad_s + 1e-9
    assert np.all(np.abs(motion.q_rad - motion.q_rad[0]).max(axis=0) <= scenario.amplitude_rad + 1e-9)
    for robot in scenario.robots:
        playback = play(robot, motion, Sensors())
        built = robot.built
        force_nm = built.kp * (playback.target_rad - playback.q_rad) - built.kd * playback.dq_rad_s
        assert np.all(np.abs(force_nm).max(axis=0) <= 0.98 * limits.effort_nm)
        assert playback.saturated_fraction.max() == 0.0
        assert playback.self_collisions == ()


def test_beats_multi_sines_by_the_exact_bound(scenario, design):
    sines = [default_reference(scenario, seed) for seed in range(3)]
    for robot in scenario.robots:
        volumes = [
            predicted_bound(robot, m, LINKS, 0.0005, "halo").volume_per_parameter for m in (design.reference, *sines)
        ]
        assert volumes[0] < 0.75 * min(volumes[1:])


def test_both_robots_can_follow(scenario, design):
    assert scenario.broken_limits(design.reference) == {}
    assert_within_limits(scenario, design.reference)


def test_a_weaker_arm_moves_within_its_torque(arm):
    weak = arm_scenario(arm, Excitation(duration_s=4.0, arm_amplitude_rad=0.9, torque_fraction=0.2))
    motion = optimal_reference(weak, Search(iterations=10), seed=0).reference
    torque_nm = np.abs(weak.worst_torque(motion.q_rad, motion.dq_rad_s, motion.ddq_rad_s2))
    assert np.all(torque_nm.max(axis=0) <= 0.2 * weak.limits.effort_nm)
    assert torque_nm.max() > 0.15 * 60.0


def test_a_seed_is_a_motion(scenario, design):
    again = optimal_reference(scenario, QUICK, seed=0)
    other = optimal_reference(scenario, replace(QUICK, iterations=2), seed=1)
    np.testing.assert_array_equal(again.reference.q_rad, design.reference.q_rad)
    assert np.abs(other.reference.q_rad - design.reference.q_rad).max() > 0.05


def test_a_budget_ends_the_search_with_a_motion_that_can_be_played(scenario):
    hasty = optimal_reference(scenario, replace(QUICK, budget_s=0.0), seed=0)
    assert hasty.out_of_time
    assert scenario.broken_limits(hasty.reference) == {}
    assert hasty.score == hasty.start_scores[0]


def test_posture_is_kept_where_it_must_be(scenario):
    kept = optimal_reference(scenario, replace(QUICK, iterations=3, posture_rad=0.0), seed=0)
    np.testing.assert_allclose(kept.reference.q_rad[0], scenario.posture_rad)


def test_a_motion_that_nobody_can_follow_is_refused(arm):
    weak = arm_scenario(arm, Excitation(duration_s=4.0, torque_fraction=1e-4))
    strong = arm_scenario(arm)
    with pytest.raises(HaloidError, match=r"no amplitude keeps both robots within.*needs too much torque.*Lighten"):
        feasible(weak, default_reference(strong, 0))


def test_scenarios_that_make_no_sense_are_refused():
    with pytest.raises(HaloidError, match="designed for single support, found double"):
        make_scenario(LabRobot(support="double"), G1_LINKS, (), Excitation())
    with pytest.raises(HaloidError, match="payload link left_ankle_roll_link is held by the clamp"):
        make_scenario(LabRobot(), ("left_ankle_roll_link",), (), Excitation())
    with pytest.raises(HaloidError, match="the robot has no link 'torso'; the nearest are: torso_link"):
        make_scenario(LabRobot(), ("torso",), (), Excitation())
    with pytest.raises(HaloidError, match="heaviest payload of torso_link is -1 kg; expected more than 0 kg"):
        payload_of({"torso_link": -1.0})


@pytest.mark.slow
def test_on_the_g1():
    scenario = make_scenario(LabRobot(), G1_LINKS, halo_setting(3), Excitation(duration_s=6.0))
    motion = optimal_reference(scenario, Search(iterations=30), seed=0).reference
    assert_within_limits(scenario, motion)
    robot = LabRobot(loads=halo_setting(1))
    motions = (motion, default_reference(scenario, 0))
    ours, sine = (predicted_bound(robot, one, G1_LINKS, 0.0005, "halo").volume_per_parameter for one in motions)
    assert ours < 0.8 * sine
