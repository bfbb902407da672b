"""The answer: a payload's error bars against sampling both stages, and numbers where they belong."""

from dataclasses import replace

import numpy as np
import pytest
from tests.identify.arm import lab_run, write_arm

from haloid.engines.physics import INERTIA_AT
from haloid.identify.results.answer import NORMAL_95, Answer, Estimate, answer
from haloid.identify.settings import Settings
from haloid.identify.stages import Identification, identify
from haloid.lab.aging import Aging
from haloid.lab.loads import Load
from haloid.lab.sensors import Sensors
from haloid.lab.truth import Truth
from haloid.robots.inertia import LinkParameters, Payload, detach

NOISY = Sensors(noise_rad=5e-4, quantise=False)


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> tuple[Identification, Answer, Truth, Truth]:
    arm, aging = write_arm(tmp_path_factory.mktemp("arm")), Aging(seed=2)
    unloaded, bare = lab_run(arm, aging=aging, sensors=NOISY, seed=1)
    loaded, truth = lab_run(arm, aging=aging, sensors=NOISY, seed=2, loads=(Load("hand", 1.2, (0.02, 0.03, -0.04)),))
    identification = identify([unloaded], [loaded], Settings(payload_links=("hand",), rows=12, fragments=10))
    return identification, answer(identification), bare, truth


def matrix_of(inertia: np.ndarray) -> np.ndarray:
    xx, yy, zz, xy, xz, yz = inertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def tuple_of(payload: Payload) -> np.ndarray:
    assert payload.inertia_about_com is not None
    return np.array([payload.mass_kg, *payload.com_in_link_m, *payload.inertia_about_com[INERTIA_AT]])


def test_a_payloads_error_bars_are_those_of_sampling_both_stages(found):
    """Stage 2 drawn as it is; the bare hand from stage 1, given the rest of the robot that was drawn."""
    identification, told, _, _ = found
    stage1, stage2, rng = identification.stage1, identification.stage2, np.random.default_rng(0)
    names1 = [column.name for column in stage1.unknowns.columns]
    names2 = [column.name for column in stage2.unknowns.columns]
    bare = [names1.index(name) for name in names2[:4]]
    count = identification.payload_columns
    rest1 = [names1.index(name) for name in names2[count:]]
    gain = stage1.covariance[np.ix_(bare, rest1)] @ np.linalg.pinv(stage1.covariance[np.ix_(rest1, rest1)], rcond=1e-13)
    left = stage1.covariance[np.ix_(bare, bare)] - gain @ stage1.covariance[np.ix_(rest1, bare)]
    drawn = rng.multivariate_normal(stage2.values, stage2.covariance, 4000)
    base = stage1.values[bare] + (drawn[:, count:] - stage1.values[rest1]) @ gain.T
    base = base + rng.multivariate_normal(np.zeros(4), left, 4000)
    own_inertia = identification.base.link("hand").inertia_about_com
    payloads = np.array(
        [
            tuple_of(detach(LinkParameters(l[0], l[1:4], matrix_of(l[4:10])), LinkParameters(b[0], b[1:], own_inertia)))
            for l, b in zip(drawn, base, strict=True)  # noqa: E741
        ]
    )
    (payload,) = told.payload
    own, std = (
        np.array([getattr(payload.mass_kg, key), *getattr(payload.com_in_link_m, key), *getattr(inertia, key)])
        for inertia in [payload.inertia_about_com]
        for key in ("value", "std")
    )
    np.testing.assert_allclose(std, payloads.std(axis=0), rtol=0.06)
    assert np.all(np.abs(own - payloads.mean(axis=0)) < 0.1 * std)


def test_the_payload_is_known_better_than_the_link(found):
    """Both stages err alike about the bare hand, and the difference does not."""
    _, told, bare, truth = found
    (payload,) = told.payload
    carried = detach(truth.links["hand"], bare.links["hand"])
    mass_kg, com_m = carried.mass_kg, carried.com_in_link_m
    assert payload.mass_kg.std < 0.5 * told.links["hand"]["mass"].std
    assert abs(payload.mass_kg.value - mass_kg) < 4 * payload.mass_kg.std
    assert np.all(np.abs(payload.com_in_link_m.value - com_m) < 4 * payload.com_in_link_m.std)


def test_values_are_the_final_ones(found):
    identification, told, _, _ = found
    hand = told.links["hand"]
    assert hand["mass"].value == identification.stage2.values[0]
    assert hand["mass"].std == identification.stage2.std[0]
    assert hand["mass"].nominal == 0.8
    np.testing.assert_array_equal(hand["com"].value, identification.physics.link("hand").com_in_link_m)
    np.testing.assert_allclose(hand["com"].nominal, [0.03, -0.02, -0.06])
    assert set(told.links) == {"upper", "fore", "hand"} and "inertia" in hand
    assert set(told.joints) == {"shoulder", "elbow", "wrist"}
    assert set(told.joints["wrist"]) == {"damping", "frictionloss", "armature"}
    assert told.joints["wrist"]["armature"].nominal == 0.02
    assert told.globals == {}


def test_residuals_tell_how_well_it_fits(found):
    identification, told, _, _ = found
    assert 3.8e-4 < told.rms_rad["train"] < 5e-4  # less than the noise by what parameters and states took
    assert told.rms_rad["heldout"] == pytest.approx(5e-4, rel=0.25)
    assert told.rms_rad["nominal"] > 20 * told.rms_rad["heldout"]
    assert told.validation.fragments.count == identification.loaded.held_out.sum() == 2
    assert told.white and told.converged
    assert 0.85 < told.coverage95 < 0.99
    held = np.abs(told.validation.identified_rad) / told.noise_rad
    assert told.coverage95 == pytest.approx(np.mean(held < 1.96), abs=0.02)
    np.testing.assert_allclose(told.noise_rad, 5e-4, rtol=0.2)


def test_a_model_that_is_wrong_is_not_white(found):
    identification, _, _, _ = found
    z = identification.stage2.z.copy()
    z[0] += 0.1
    assert not answer(replace(identification, stage2=replace(identification.stage2, z=z))).white


def test_one_stage_takes_the_bare_link_from_the_data_sheet(tmp_path):
    loaded, _ = lab_run(write_arm(tmp_path), sensors=NOISY, seed=2, loads=(Load("hand", 1.2),))
    told = answer(identify([], [loaded], Settings(payload_links=("hand",), stages="one", rows=12, fragments=10)))
    (payload,) = told.payload
    assert payload.mass_kg.value == pytest.approx(told.links["hand"]["mass"].value - 0.8)
    assert payload.mass_kg.std == pytest.approx(told.links["hand"]["mass"].std, rel=1e-4)
    assert abs(payload.mass_kg.value - 1.2) < 4 * payload.mass_kg.std
    assert set(told.links) == {"hand"} and told.joints == {}


def test_intervals_by_hand():
    estimate = Estimate(np.array([1.0, 2.0]), np.array([0.1, 0.0]), np.zeros(2))
    np.testing.assert_allclose(estimate.interval95, [[1 - 0.1 * NORMAL_95, 1 + 0.1 * NORMAL_95], [2.0, 2.0]])
