"""The physics of a run, each definition against a pendulum that is stepped by hand."""

import re

import numpy as np
import pytest

from haloid.lab.aging import Aging
from haloid.lab.excitation import Reference
from haloid.lab.play import SETTLE_S, FellError, play
from haloid.lab.robot import LabRobot
from haloid.lab.sensors import Sensors
from haloid.robots.servos import Gains

GAINS = Gains({"hinge": 80.0}, {"hinge": 3.0})
MASS_KG, LEVER_M, INERTIA, DAMPING, EFFORT_NM = 2.0, 0.3, 0.02 + 2.0 * 0.3**2 + 0.05, 0.4, 12.0
GRAVITY = 9.81
CONTROL_DT_S, TIMESTEP_S = 0.02, 0.005


def swing(amplitude_rad=0.3, duration_s=2.0, omega=4.0) -> Reference:
    time_s = np.arange(round(duration_s / CONTROL_DT_S)) * CONTROL_DT_S
    angle = (omega * time_s)[:, None]
    q = amplitude_rad * (1 - np.cos(angle))
    return Reference(
        ("hinge",), time_s, q, amplitude_rad * omega * np.sin(angle), amplitude_rad * omega**2 * np.cos(angle)
    )


def by_hand(target, start, *, bias=0.0, delay_s=0.0, strength=1.0):
    """implicitfast for one hinge: a = (torque - gravity) / (I + h·D), D without kd where the servo is saturated."""
    kp, kd, effort = strength * 80.0, strength * 3.0, strength * EFFORT_NM
    rows = np.concatenate([np.full(round(SETTLE_S / CONTROL_DT_S), target[0, 0]), target[:, 0]])
    q, v, states = start, 0.0, []
    fine = (np.arange(1000) + 0.5) / 1000 * TIMESTEP_S
    for step in range(len(rows) * 4):
        states.append((q, v))
        seen = np.floor((step * TIMESTEP_S + fine - delay_s) / CONTROL_DT_S).astype(int)
        control = rows[np.maximum(seen, 0)].mean()
        torque = kp * (control - (q + bias)) - kd * v
        saturated = abs(torque) >= effort
        torque = np.clip(torque, -effort, effort)
        gravity = -MASS_KG * GRAVITY * LEVER_M * np.cos(q)
        implicit = DAMPING + (0.0 if saturated else kd)
        v += TIMESTEP_S * (torque - DAMPING * v - gravity) / (INERTIA + TIMESTEP_S * implicit)
        q += TIMESTEP_S * v
    return np.array(states)[round(SETTLE_S / TIMESTEP_S) :: 4]


def lab_pendulum(path: str, **options) -> LabRobot:
    return LabRobot(path, clamp=None, gains=GAINS, **options)


def compare(playback, expected):
    np.testing.assert_allclose(playback.q_rad[:, 0], expected[:, 0], atol=1e-9)
    np.testing.assert_allclose(playback.dq_rad_s[:, 0], expected[:, 1], atol=1e-8)


def test_plain_run(pendulum):
    playback = play(lab_pendulum(pendulum), swing(), Sensors())
    compare(playback, by_hand(playback.target_rad, start=0.0))
    assert playback.saturated_fraction[0] == 0.0
    assert playback.tracking_max_rad[0] < 0.02


@pytest.mark.parametrize("delay_s", [0.005, 0.0125, 0.02])
def test_delay_shifts_what_the_servo_sees(pendulum, delay_s):
    playback = play(lab_pendulum(pendulum), swing(), Sensors(delay_s=delay_s))
    compare(playback, by_hand(playback.target_rad, start=0.0, delay_s=delay_s))
    assert playback.tracking_max_rad[0] > 0.005


def test_servo_acts_on_the_biased_reading(pendulum):
    sensors = Sensors(bias_rad=0.05, bias_seed=1)
    bias = sensors.bias_of(1)[0]
    playback = play(lab_pendulum(pendulum), swing(), sensors)
    compare(playback, by_hand(playback.target_rad, start=-bias, bias=bias))


def test_strength_scales_stiffness_damping_and_limit(pendulum):
    only_strength = Aging(3, 0.0, 0.0, 0.0, 0.0, 0.0, strength_fraction=0.2)
    robot = lab_pendulum(pendulum, aging=only_strength)
    strength = robot.built.strength[0]
    assert abs(strength - 1) > 0.02
    playback = play(robot, swing(0.45, omega=9.0), Sensors())
    assert playback.saturated_fraction[0] > 0.01
    compare(playback, by_hand(playback.target_rad, start=0.0, strength=strength))


def test_saturation_is_counted_step_by_step(pendulum):
    playback = play(lab_pendulum(pendulum), swing(0.45, omega=9.0), Sensors())
    compare(playback, by_hand(playback.target_rad, start=0.0))
    assert 0.02 < playback.saturated_fraction[0] < 0.6


def test_dry_friction_holds_a_joint(pendulum):
    """A target that asks for less torque than the friction only makes the joint creep, MuJoCo's friction being soft."""
    stuck = lab_pendulum(pendulum, aging=Aging(0, 0.0, 0.0, 0.0, frictionloss_nm=4.0, armature_fraction=0.0))
    assert stuck.built.model.dof_frictionloss[0] > 2.0
    free, held = (play(robot, swing(0.005), Sensors()) for robot in (lab_pendulum(pendulum), stuck))
    assert np.ptp(free.q_rad) > 0.0095
    assert np.ptp(held.q_rad) < 0.3 * np.ptp(free.q_rad)


def test_a_fall_is_told_in_words(pendulum):
    weak = LabRobot(pendulum, clamp=None, gains=Gains({"hinge": 1.0}, {"hinge": 0.1}))
    with pytest.raises(FellError) as fall:
        play(weak, swing(), Sensors())
    assert re.fullmatch(
        r"the robot fell: hinge was \d\.\d\d rad off its reference \d\.\d\d s into the run, expected under 0.5 rad; "
        r"nothing is recorded. Use stiffer gains \(now given by joint\), a lighter load, a gentler excitation, "
        r"double support or the pelvis as clamp",
        str(fall.value),
    )


def test_a_simulation_that_explodes_is_told_in_words(pendulum):
    wild = LabRobot(pendulum, clamp=None, gains=Gains({"hinge": 1e300}, {"hinge": 0.0}))
    wild.built.model.actuator_forcelimited[:] = 0
    with pytest.raises(FellError, match=r"broke down 0\.\d\d s after the start \(MuJoCo: BADQ.*nothing is recorded"):
        play(wild, swing(), Sensors(bias_rad=0.01))
