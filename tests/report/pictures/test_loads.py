"""Loads to be drawn: their size from what is known, their doubt from its standard deviations."""

import numpy as np
import pytest
from scipy.stats import chi2

from haloid.identify.results.answer import Estimate, PayloadEstimate
from haloid.report.pictures.loads import CHI_95, Load, enlargement, loads_of

AT_M = np.array([0.0, 0.1, 0.2])


def load(mass_kg: float = 6.0, std_m: float = 0.001, inertia: np.ndarray | None = None) -> Load:
    return Load("torso_link", mass_kg, 0.03, AT_M, np.full(3, std_m), inertia)


def test_a_load_of_known_inertia_has_its_size():
    half_m, mass_kg = np.array([0.1, 0.2, 0.05]), 3.0
    squares = half_m**2
    principal = mass_kg / 5 * (squares.sum() - squares)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    shape = load(mass_kg, inertia=turn @ np.diag(principal) @ turn.T).shape
    np.testing.assert_allclose(np.sort(shape.half_axes_m), np.sort(half_m))
    longest = shape.axes[:, np.argmax(shape.half_axes_m)]
    assert abs(longest @ turn[:, 1]) == pytest.approx(1.0)


def test_a_load_of_unknown_or_impossible_inertia_is_a_steel_ball():
    for inertia in (None, np.diag([1.0, 1.0, 3.0])):
        radius = load(6.0, inertia=inertia).shape.half_axes_m
        assert 4 / 3 * np.pi * radius.prod() * 7850 == pytest.approx(6.0)


def test_the_region_holds_95_percent_in_space():
    assert chi2(3).ppf(0.95) == pytest.approx(CHI_95**2, rel=1e-3)
    np.testing.assert_allclose(load(std_m=0.002).doubt(10).half_axes_m, 10 * CHI_95 * 0.002)


def test_regions_are_enlarged_until_they_can_be_seen():
    assert enlargement([load(std_m=0.02)]) == 1
    assert enlargement([load(std_m=0.001), load(std_m=0.0005)]) == 10
    assert enlargement([load(std_m=0.0)]) == enlargement([]) == 1


def test_what_weighs_nothing_is_not_drawn():
    def estimate(mass_kg: float, com_m: list[float]) -> PayloadEstimate:
        zeros = np.zeros(3)
        return PayloadEstimate("torso_link", Estimate(mass_kg, 0.5, 0.0), Estimate(np.array(com_m), zeros, zeros))

    found = [estimate(-0.1, [0, 0, 0.1]), estimate(0.1, [np.nan] * 3), estimate(2.0, [0, 0, 0.1])]
    (drawn,) = loads_of(found)
    assert (drawn.mass_kg, drawn.half95_kg) == (2.0, pytest.approx(0.98, rel=1e-3))
