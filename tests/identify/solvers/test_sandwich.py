"""Error bars of residuals that err together: nothing new where they do not, and right where they do."""

from dataclasses import replace

import numpy as np
import pytest
from tests.identify.arm import blank, dataset_of, heavier_hand, played, simulator_of, write_arm

from haloid.engines.analytic import AnalyticEngine
from haloid.identify.problem.priors import payload_prior
from haloid.identify.problem.unknowns import Unknowns, choose_columns
from haloid.identify.solvers.fit import FitSettings, fit
from haloid.identify.solvers.sandwich import score_covariance

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
