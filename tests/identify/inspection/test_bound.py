from dataclasses import replace

import numpy as np
import pytest
from tests.identify.arm import ARM, lab_arm, lab_run, write_arm

from haloid.errors import HaloidError
from haloid.identify.inspection.bound import cramer_rao_bound, volume_per_parameter
from haloid.identify.settings import Settings
from haloid.identify.stages import identify
from haloid.lab.loads import Load
from haloid.lab.record import record
from haloid.lab.sensors import Sensors
from haloid.robots.inertia import read_links
from haloid.robots.servos import Gains

NOISE_RAD = 0.0005
SETTINGS = Settings(("hand",), payload_model="halo", stages="one", fragments=16, held_out=0.0)
LOADS = (Load("hand", 1.2, (0.02, 0.0, -0.03)),)


@pytest.fixture(scope="module")
def arm(tmp_path_factory) -> str:
    return write_arm(tmp_path_factory.mktemp("arm"))


@pytest.fixture(scope="module")
def clean(arm):
    return lab_run(arm, loads=LOADS, sensors=Sensors(quantise=False, measure_velocity=True))[0]


def links_of(arm: str):
    return read_links(lab_arm(arm, LOADS).built.model)


def test_volume_is_the_geometric_mean_of_independent_deviations():
    assert volume_per_parameter(np.diag([4.0, 9.0, 36.0])) == pytest.approx((2 * 3 * 6) ** (1 / 3))
    correlated = np.array([[4.0, 5.0], [5.0, 9.0]])
    assert volume_per_parameter(correlated) == pytest.approx(np.linalg.det(correlated) ** 0.25)


def test_the_bound_is_taken_at_the_truth(arm, clean):
    bound = cramer_rao_bound(clean, links_of(arm), SETTINGS, NOISE_RAD)
    assert bound.names == ("hand.mass", "hand.com.x", "hand.com.y", "hand.com.z")
    hand = links_of(arm)["hand"]
    np.testing.assert_allclose(bound.truth, [hand.mass_kg, *hand.com_in_link_m])


def test_the_bound_grows_with_the_noise_and_shrinks_with_the_data(arm, clean):
    links = links_of(arm)
    bound = cramer_rao_bound(clean, links, SETTINGS, NOISE_RAD)
    np.testing.assert_allclose(cramer_rao_bound(clean, links, SETTINGS, 2 * NOISE_RAD).std, 2 * bound.std)
    assert np.all(cramer_rao_bound(clean, links, replace(SETTINGS, fragments=8), NOISE_RAD).std > bound.std)


def test_an_identification_reports_the_bound_and_errs_as_it_says(arm, clean):
    bound = cramer_rao_bound(clean, links_of(arm), SETTINGS, NOISE_RAD)
    errors = []
    for seed in range(4):
        noise = NOISE_RAD * np.random.default_rng(seed).standard_normal(clean.q_rad.shape)
        noisy = replace(clean, q_rad=clean.q_rad + noise, dq_rad_s=None)
        found = identify([], [noisy], SETTINGS).stage2
        np.testing.assert_allclose(found.std, bound.std, rtol=0.2)
        errors.append((found.values - bound.truth) / bound.std)
    assert 0.5 < np.sqrt(np.mean(np.array(errors) ** 2)) < 1.6


def test_velocities_are_needed(arm, clean):
    with pytest.raises(HaloidError, match=r"run 0 has no velocities.*record it with velocities and without noise"):
        cramer_rao_bound(replace(clean, dq_rad_s=None), links_of(arm), SETTINGS, NOISE_RAD)


def test_what_the_data_cannot_see_is_named(tmp_path):
    """A hinge does not feel where along its axis the mass is."""
    text = ARM.replace('<joint name="elbow" axis="1 0 0"/>', "").replace('<joint name="wrist" axis="0 1 0"/>', "")
    text = text.replace('<motor name="elbow" joint="elbow"/><motor name="wrist" joint="wrist"/>', "")
    robot = replace(lab_arm(write_arm(tmp_path, text)), gains=Gains({"shoulder": 60.0}, {"shoulder": 3.0}))
    run, _ = record(robot, Sensors(quantise=False, measure_velocity=True))
    with pytest.raises(HaloidError, match=r"run says nothing about hand\..*Move more joints"):
        cramer_rao_bound(run, read_links(robot.built.model), SETTINGS, NOISE_RAD)
