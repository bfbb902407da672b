"""Error bars of residuals that err together: nothing new where they do not, and right where they do."""

from dataclasses import replace

import numpy as np
import pytest
from tests.identify.arm import blank, dataset_of, heavier_hand, played, simulator_of, write_arm

from haloid.engines.analytic import AnalyticEngine
from haloid.identify.problem.priors import payload_prior
from haloid.identify.problem.unknowns import Unknowns, choose_columns
from haloid.identify.solvers.fit import FitSettings, fit
from haloid.identify.solvers.sandwich import inverse_root, scatter, score_covariance

HAND = ("hand.mass", "hand.com")


def arm_run(tmp_path):
    recording = blank(write_arm(tmp_path))
    simulator = simulator_of(recording)
    true = heavier_hand(simulator.nominal)
    columns = choose_columns(simulator.nominal, HAND)
    unknowns = Unknowns(simulator.nominal, columns, payload_prior(simulator.nominal, columns))
    return played(recording, simulator, true), AnalyticEngine(simulator), unknowns, true.values(columns)


def test_independent_residuals_have_the_covariance_of_their_normal_equations(tmp_path):
    recording, engine, unknowns, _ = arm_run(tmp_path)
    rng = np.random.default_rng(0)
    noisy = replace(recording, q_rad=recording.q_rad + 1e-3 * rng.normal(size=recording.q_rad.shape))
    found = fit(engine, dataset_of(noisy, engine.simulator), unknowns, FitSettings())
    linearised = found.problem.linearise(found.z, found.states)
    scores = score_covariance(found.problem, found.z, found.states, linearised)
    reduced, _ = linearised.reduced()
    np.testing.assert_allclose(scores, reduced, rtol=0.1, atol=0.05 * np.abs(reduced).max())


def test_coordinates_that_give_the_same_body_leave_variances_that_exist():
    """Three coordinates of two parameters: turning the last two by one angle changes neither."""
    slope = np.array([[1e3, 0.0, 0.0], [0.0, 0.6, 0.8]])
    rng = np.random.default_rng(0)
    each = np.array([slope.T @ np.diag(rng.uniform(1, 2, 2)) @ slope for _ in range(12)])
    h = each.sum(axis=0)
    exact = np.linalg.inv(np.linalg.pinv(slope).T @ h @ np.linalg.pinv(slope))
    for root in (inverse_root(h), inverse_root(h, seen_only=True)):
        np.testing.assert_allclose(slope @ root @ root.T @ slope.T, exact, rtol=1e-2, atol=1e-9)
    found = scatter(each, rng.normal(size=(12, 2)) @ slope, h)
    assert 0 < found.dispersion < 3 and np.all(np.isfinite(found.by_parameter))


@pytest.mark.slow
def test_error_bars_of_the_cartesian_loss_are_right(tmp_path):
    recording, engine, unknowns, true = arm_run(tmp_path)
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(16):
        noisy = replace(recording, q_rad=recording.q_rad + 1e-3 * rng.normal(size=recording.q_rad.shape))
        dataset = dataset_of(noisy, engine.simulator, rows=10, fragments=6)
        found = fit(engine, dataset, unknowns, FitSettings(loss="cartesian", upper_weight=1.0, upper_links=("hand",)))
        ratios.append((found.values - true) / found.std)
    assert 0.75 < np.std(ratios) < 1.25
