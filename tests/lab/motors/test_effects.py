"""Each effect alone, against what is known of it."""

import numpy as np
import pytest

from haloid.lab.motors.backlash import Backlash
from haloid.lab.motors.delay import Delay
from haloid.lab.motors.efficiency import Efficiency
from haloid.lab.motors.friction import Friction
from haloid.lab.motors.supply import Supply
from haloid.lab.motors.thermal import Thermal

H_S = 0.001


def slide(friction: Friction, dq_rad_s: float) -> float:
    """The friction of a long slide at one speed."""
    friction.reset((1,))
    for _ in range(10_000):
        torque = friction.torque_nm(np.array([dq_rad_s]), H_S)
    return float(torque[0])


def push(friction: Friction, torque_nm: float, seconds: float, inertia: float = 0.05) -> float:
    """How far a torque that rises slowly moves a joint of some inertia, from rest."""
    friction.reset((1,))
    q, dq = np.zeros(1), np.zeros(1)
    for step in range(round(seconds / H_S)):
        risen_nm = torque_nm * min(1.0, 2 * step * H_S / seconds)
        dq = dq + H_S * (risen_nm + friction.torque_nm(dq, H_S)) / inertia
        q = q + H_S * dq
    return float(q[0])


@pytest.mark.parametrize("dq_rad_s", [-2.0, 0.005, 0.05, 1.0])
def test_a_slide_follows_the_stribeck_curve(dq_rad_s: float):
    friction = Friction(coulomb_nm=0.5, static_nm=0.8, stribeck_rad_s=0.05, viscous=0.1)
    curve = 0.5 + 0.3 * np.exp(-((dq_rad_s / 0.05) ** 2)) + 0.1 * abs(dq_rad_s)
    assert slide(friction, dq_rad_s) == pytest.approx(-np.sign(dq_rad_s) * curve, rel=1e-6)


def test_a_joint_sticks_below_the_static_level_and_breaks_loose_above_it():
    friction = Friction(coulomb_nm=0.5, static_nm=0.8, break_rad=0.002)
    assert 0 < push(friction, 0.7, 2.0) < 0.006
    assert push(friction, 0.9, 2.0) > 1.0


def test_warm_grease_and_pressed_teeth_change_the_friction():
    friction = Friction(coulomb_nm=0.5, static_nm=0.5)
    assert friction.level_nm(np.array([1.0]), scale=0.8, extra_nm=0.3)[0] == pytest.approx(0.8 * 0.5 + 0.3)


def test_efficiency_falls_with_the_load():
    efficiency = Efficiency(limit_nm=20.0, loss_at_limit=0.3, rub=0.05)
    np.testing.assert_allclose(efficiency.passed_on_nm(np.array([0.0, 10.0, -20.0])), [0.0, 8.5, -14.0])
    np.testing.assert_allclose(efficiency.friction_nm(np.array([10.0, -20.0])), [0.5, 1.0])


def test_backlash_passes_nothing_on_until_the_gap_is_crossed():
    backlash = Backlash(gap_rad=0.01, crossing_rad_s=1.0)
    backlash.reset((1,))
    forward = [float(backlash.passed_on_nm(np.array([2.0]), H_S)[0]) for _ in range(8)]
    backward = [float(backlash.passed_on_nm(np.array([-2.0]), H_S)[0]) for _ in range(12)]
    assert forward == pytest.approx([0] * 5 + [2] * 3)
    assert backward == pytest.approx([0] * 10 + [-2] * 2)


def test_no_gap_no_backlash():
    backlash = Backlash(gap_rad=0.0)
    backlash.reset((2,))
    np.testing.assert_array_equal(backlash.passed_on_nm(np.array([1.0, -3.0]), H_S), [1.0, -3.0])


def test_a_fast_motor_has_less_torque_and_may_brake_fully():
    supply = Supply(limit_nm=10.0, no_load_rad_s=20.0, corner=0.5)
    asked, speed = np.array([[30.0], [30.0], [30.0], [30.0]]), np.array([[0.0], [15.0], [25.0], [-15.0]])
    np.testing.assert_allclose(supply.limited_nm(asked, speed)[:, 0], [10.0, 5.0, 0.0, 10.0])


def test_the_battery_sags_for_all_joints_of_one_robot_alone():
    supply = Supply(limit_nm=10.0, no_load_rad_s=20.0, voltage_v=50.0, resistance_ohm=1.0, copper_w_per_nm2=1.0)
    torque = np.array([[10.0, 5.0], [0.0, 5.0]])
    np.testing.assert_allclose(supply.sag(torque, np.zeros((2, 2)))[:, 0], [1 - 2.5 / 50, 1 - 0.5 / 50])
    assert supply.limited_nm(torque, np.zeros((2, 2)))[0, 0] == pytest.approx(9.5)


def test_a_held_torque_warms_the_motor_to_its_end_temperature():
    thermal = Thermal(heat_w_per_nm2=0.1, resistance_k_per_w=2.0, time_constant_s=10.0, torque_drop_per_k=0.01)
    thermal.reset((1,))
    for _ in range(10_000):
        thermal.heat(np.array([5.0]), H_S)
    assert thermal.temperature_c[0] == pytest.approx(25 + 5 * (1 - np.exp(-1)), rel=1e-9)
    for _ in range(100):
        thermal.heat(np.array([5.0]), 1.0)
    assert thermal.temperature_c[0] == pytest.approx(30.0, abs=0.01)
    assert thermal.torque_scale[0] == pytest.approx(0.95, abs=1e-3)


def test_every_joint_has_its_own_delay():
    delay = Delay(np.array([0.0, 0.002, 0.0025]))
    delay.reset(np.zeros(3), H_S)
    heard = np.array([delay.heard(np.full(3, 1.0), H_S) for _ in range(4)])
    np.testing.assert_allclose(heard, [[1, 0, 0], [1, 0, 0], [1, 1, 0.5], [1, 1, 1]])
