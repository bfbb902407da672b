from dataclasses import replace

import numpy as np
import pytest

from haloid.errors import HaloidError
from haloid.lab.excitation import Excitation, JointLimits, multi_sine

JOINTS = ("left_knee_joint", "waist_yaw_joint", "left_elbow_joint", "right_elbow_joint")
LIMBS = ("legs", "waist", "left arm", "right arm")
POSTURE = np.array([0.1, 0.0, 0.5, 0.5])
LIMITS = JointLimits(np.full(4, -1.0), np.array([1.0, 0.3, 1.0, 2.0]), np.array([100.0, 50.0, 20.0, 20.0]))
DT_S = 0.02


def inertia_and_gravity(q_rad, dq_rad_s, ddq_rad_s2):
    return 0.5 * ddq_rad_s2 + 4.0 * np.cos(q_rad)


def wave(seed=0, excitation=None, limits=LIMITS, torque_of=inertia_and_gravity):
    return multi_sine(excitation or Excitation(), JOINTS, LIMBS, POSTURE, limits, torque_of, DT_S, seed)


@pytest.mark.parametrize("seed", range(5))
def test_position_velocity_and_torque_limits_hold(seed):
    excitation = Excitation(velocity_limit_rad_s=1.0)
    motion = wave(seed, excitation)
    assert np.all(motion.q_rad >= LIMITS.lower_rad + 0.08 - 1e-12)
    assert np.all(motion.q_rad <= LIMITS.upper_rad - 0.08 + 1e-12)
    assert np.abs(motion.dq_rad_s).max() <= 1.0 + 1e-12
    tau_nm = inertia_and_gravity(motion.q_rad, motion.dq_rad_s, motion.ddq_rad_s2)
    assert np.all(np.abs(tau_nm).max(axis=0) <= 0.85 * LIMITS.effort_nm)


def test_amplitudes_are_used_up_where_nothing_else_limits():
    excitation = Excitation(leg_amplitude_rad=0.03, waist_amplitude_rad=0.2, arm_amplitude_rad=0.4)
    free = JointLimits(np.full(4, -np.inf), np.full(4, np.inf), np.full(4, np.inf))
    peak = np.abs(wave(0, excitation, free).q_rad - POSTURE).max(axis=0)
    np.testing.assert_allclose(peak, [0.03, 0.2, 0.4, 0.4], rtol=1e-12)


def test_only_the_limb_that_is_beyond_its_torque_moves_less():
    weak_left_arm = replace(LIMITS, effort_nm=np.array([100.0, 50.0, 5.0, 20.0]))
    strong, weak = wave(limits=LIMITS), wave(limits=weak_left_arm)
    moved = [np.ptp(motion.q_rad, axis=0) for motion in (strong, weak)]
    assert moved[1][2] < 0.8 * moved[0][2]
    np.testing.assert_array_equal(moved[1][[0, 1, 3]], moved[0][[0, 1, 3]])


def test_starts_and_ends_at_rest_in_the_posture():
    motion = wave()
    for values in (motion.q_rad - POSTURE, motion.dq_rad_s, motion.ddq_rad_s2):
        np.testing.assert_allclose(values[0], 0.0, atol=1e-12)
        assert np.abs(values[-1]).max() < 0.15 * np.abs(values).max()
    assert len(motion.time_s) == 500
    assert motion.time_s[1] == DT_S


def test_derivatives_are_those_of_the_positions():
    motion = multi_sine(Excitation(), JOINTS, LIMBS, POSTURE, LIMITS, inertia_and_gravity, 0.001, 0)
    np.testing.assert_allclose(np.gradient(motion.q_rad, 0.001, axis=0)[1:-1], motion.dq_rad_s[1:-1], atol=1e-4)
    np.testing.assert_allclose(np.gradient(motion.dq_rad_s, 0.001, axis=0)[1:-1], motion.ddq_rad_s2[1:-1], atol=2e-2)


def test_a_seed_is_a_motion():
    np.testing.assert_array_equal(wave(3).q_rad, wave(3).q_rad)
    assert np.abs(wave(3).q_rad - wave(4).q_rad).max() > 0.05


def test_a_posture_beyond_the_torque_limits_is_refused():
    weak = replace(LIMITS, effort_nm=np.array([100.0, 50.0, 3.0, 20.0]))
    with pytest.raises(HaloidError, match=r"takes 3.5 N·m at left_elbow_joint; expected at most 2.5 N·m.*Lighten"):
        wave(limits=weak)


def test_ramps_must_fit():
    with pytest.raises(HaloidError, match=r"1.5 s has no room for two ramps of 1 s; make it longer"):
        wave(excitation=Excitation(duration_s=1.5))


def test_the_band_must_be_one():
    with pytest.raises(HaloidError, match=r"band is 2 to 1 Hz; expected two frequencies above 0, the lower one first"):
        Excitation(lowest_hz=2.0, highest_hz=1.0)
