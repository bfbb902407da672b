"""Rows that err together count for less against the prior; independent ones count as before."""

from dataclasses import replace

import numpy as np
import pytest
from tests.identify.arm import blank, dataset_of, heavier_hand, played, simulator_of, write_arm

from haloid.engines.analytic import AnalyticEngine
from haloid.identify.problem.priors import BasePrior
from haloid.identify.problem.unknowns import Unknowns, choose_columns
from haloid.identify.solvers.dispersion import dispersed
from haloid.identify.solvers.fit import FitSettings, fit
from haloid.identify.solvers.sandwich import Scatter, scatter

FRAGMENTS, ROWS, PARAMETERS = 20, 30, 12


def linear_fits(together: int, away: float = 0.0, count: int = 200) -> list[Scatter]:
    """Of linear models that the prior N(0, 1) expects, or that are further away, whose rows err in groups of so many,
    all rows of a group being alike."""
    rng = np.random.default_rng(3)
    slopes = np.repeat(rng.normal(size=(FRAGMENTS, ROWS // together, PARAMETERS)), together, axis=1)
    information = slopes.swapaxes(1, 2) @ slopes
    h, found = information.sum(axis=0) + np.eye(PARAMETERS), []
    for _ in range(count):
        noise = np.repeat(rng.normal(size=(FRAGMENTS, ROWS // together)), together, axis=1)
        read = slopes @ (away + rng.normal(size=PARAMETERS)) + noise
        estimate = np.linalg.solve(h, np.einsum("brp,br->p", slopes, read))
        scores = np.einsum("brp,br->bp", slopes, slopes @ estimate - read)
        found.append(scatter(information, scores, h))
    return found


@pytest.mark.parametrize("away", [0.0, 50.0])
def test_independent_rows_scatter_by_one_give_or_take_chance(away):
    found = linear_fits(1, away)
    dispersion = np.array([one.dispersion for one in found])
    assert dispersion.mean() == pytest.approx(1, abs=0.02)
    assert dispersion.std() == pytest.approx(found[0].chance, rel=0.15)
    assert not any(one.beyond_chance for one in found)
    np.testing.assert_allclose(np.mean([one.by_parameter for one in found], axis=0), 1, atol=0.08)


def test_rows_that_err_together_scatter_by_their_number():
    found = linear_fits(5)
    assert np.mean([one.dispersion for one in found]) == pytest.approx(5, rel=0.05)
    assert all(one.beyond_chance for one in found)
    np.testing.assert_allclose(np.mean([one.by_parameter for one in found], axis=0), 5, rtol=0.15)


def hand_fit(tmp_path, lasting: float):
    """The hand's mass and CoM, with the prior of a data sheet, from readings whose errors last."""
    recording = blank(write_arm(tmp_path))
    simulator = simulator_of(recording)
    columns = choose_columns(simulator.nominal, ("hand.mass", "hand.com"))
    unknowns = Unknowns(simulator.nominal, columns, BasePrior().over(simulator.nominal, columns))
    clean = played(recording, simulator, heavier_hand(simulator.nominal))
    noise = 1e-3 * np.random.default_rng(0).normal(size=clean.q_rad.shape)
    for row in range(1, len(noise)):
        noise[row] = lasting * noise[row - 1] + np.sqrt(1 - lasting**2) * noise[row]
    dataset = dataset_of(replace(clean, q_rad=clean.q_rad + noise), simulator, fragments=20)
    return fit(AnalyticEngine(simulator), dataset, unknowns, FitSettings())


def test_a_fit_of_independent_readings_stays_as_it_is(tmp_path):
    found = hand_fit(tmp_path, lasting=0.0)
    assert dispersed(found, FitSettings(), None) is found and found.problem.dispersion == 1
    assert found.by_rows.values is found.values


def test_readings_whose_errors_last_yield_to_the_prior(tmp_path):
    found = hand_fit(tmp_path, lasting=0.95)
    again = dispersed(found, FitSettings(), None)
    assert again.problem.dispersion > 2 and again.converged
    assert np.all(again.std > 0.99 * found.std)
    prior = found.unknowns.prior
    assert prior.cost(again.values) < prior.cost(found.values)
    assert again.by_rows.values is found.values and again.by_rows.information is found.information
