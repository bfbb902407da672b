from dataclasses import replace

import numpy as np
import pytest

from haloid.lab.aging import Aging
from haloid.lab.built import BuiltRobot
from haloid.lab.robot import LabRobot
from haloid.robots.inertia import read_links

WORN = Aging(seed=5, strength_fraction=0.02)


@pytest.fixture(scope="module")
def new() -> BuiltRobot:
    return LabRobot().built


@pytest.fixture(scope="module")
def old() -> BuiltRobot:
    return LabRobot(aging=WORN).built


def test_links_are_off_within_the_widths(new, old):
    new, old = read_links(new.model), read_links(old.model)
    share = np.array([old[name].mass_kg / new[name].mass_kg - 1 for name in new])
    shift = np.array([old[name].com_in_link_m - new[name].com_in_link_m for name in new])
    assert 0.04 < np.abs(share).max() <= 0.05
    assert 0.007 < np.abs(shift).max() <= 0.008
    for name in new:
        np.testing.assert_allclose(old[name].inertia_about_com, new[name].inertia_about_com, atol=1e-12)


def test_joints_are_off_within_the_widths(new, old):
    assert 0.2 < old.model.dof_damping.max() <= 0.3
    assert 0.15 < old.model.dof_frictionloss.max() <= 0.2
    assert min(old.model.dof_damping.min(), old.model.dof_frictionloss.min()) >= 0
    rotor = old.model.dof_armature / new.model.dof_armature - 1
    assert 0.05 < np.abs(rotor).max() <= 0.1
    assert 0.01 < np.abs(old.strength - 1).max() <= 0.02


def test_strength_scales_gains_and_torque_limit(new, old):
    servos = old.actuator_of
    np.testing.assert_allclose(old.model.actuator_gainprm[servos, 0], old.strength * old.kp)
    np.testing.assert_allclose(old.model.actuator_biasprm[servos, 2], -old.strength * old.kd)
    np.testing.assert_allclose(old.limits.effort_nm, old.strength * new.limits.effort_nm)
    np.testing.assert_array_equal(old.kp, new.kp)


@pytest.mark.parametrize("clamp", ["right_ankle_roll_link", "pelvis"])
def test_one_seed_is_one_robot_whatever_holds_it(clamp, old):
    other = LabRobot(clamp=clamp, aging=WORN).built
    links = read_links(old.model)
    for name, link in read_links(other.model).items():
        assert link.mass_kg == pytest.approx(links[name].mass_kg, rel=1e-12)
    np.testing.assert_allclose(other.model.dof_damping[other.dof_of], old.model.dof_damping[old.dof_of], rtol=1e-12)
    np.testing.assert_array_equal(other.strength, old.strength)


def test_another_seed_is_another_robot(old):
    other = LabRobot(aging=replace(Aging(), seed=6)).built
    assert np.abs(other.model.body_mass - old.model.body_mass).max() > 0.01
