"""One stage: every kind of parameter found again, the encoders' noise joint by joint, error bars that hold."""

from dataclasses import replace

import numpy as np
import pytest
from tests.identify.arm import JOINTS, blank, dataset_of, heavier_hand, played, simulator_of, write_arm

from haloid.engines.analytic import AnalyticEngine
from haloid.engines.physics import Physics
from haloid.identify.data.dataset import Dataset
from haloid.identify.problem.priors import payload_prior
from haloid.identify.problem.unknowns import Prior, Unknowns, choose_columns
from haloid.identify.solvers.fit import Fit, FitSettings, fit
from haloid.recordings.recording import Recording

HAND = ("hand.mass", "hand.com")


def weak_prior(base: Physics, columns) -> Prior:
    """Much wider than any error here; it only keeps directions without data in place."""
    return Prior.independent(base.values(columns), np.full(len(columns), 10.0))


def fitted(
    recording: Recording,
    patterns: tuple[str, ...],
    base: Physics | None = None,
    *,
    settings: FitSettings | None = None,
    dataset: Dataset | None = None,
    prior=payload_prior,
) -> Fit:
    simulator = simulator_of(recording)
    base = base or simulator.nominal
    columns = choose_columns(base, patterns)
    dataset = dataset or dataset_of(recording, simulator)
    unknowns = Unknowns(base, columns, prior(base, columns))
    return fit(AnalyticEngine(simulator), dataset, unknowns, settings or FitSettings())


def arm_run(tmp_path, truth=heavier_hand, noise_rad=0.0, seed=0, **how) -> tuple[Recording, Physics]:
    recording = blank(write_arm(tmp_path), **how)
    simulator = simulator_of(recording)
    true = truth(simulator.nominal)
    return played(recording, simulator, true, noise_rad, seed), true


def errors(found: Fit, true: Physics) -> np.ndarray:
    return found.values - true.values(found.unknowns.columns)


def test_a_load_is_found_to_rounding(tmp_path):
    recording, true = arm_run(tmp_path)
    found = fitted(recording, HAND)
    assert found.converged
    assert np.abs(errors(found, true)).max() < 1e-6
    assert np.all(np.abs(errors(found, true)) < 4 * found.std)


KINDS = {
    "*.damping": {"damping": np.array([0.3, 0.05, 0.2])},
    "*.frictionloss": {"frictionloss": np.array([0.3, 0.1, 0.05])},
    "*.armature": {"armature": np.array([0.03, 0.015, 0.022])},
    "*.kp": {"kp": np.array([1.1, 0.93, 1.05])},
    "*.kd": {"kd": np.array([0.9, 1.2, 1.05])},
    "*.strength": {"strength": np.array([0.95, 1.04, 0.9])},
    "*.bias": {"bias": np.array([0.01, -0.02, 0.015])},
    "delay": {"delay": 0.0083},
}


@pytest.mark.parametrize("pattern", KINDS)
def test_every_kind_of_parameter_is_found_again(tmp_path, pattern):
    recording, true = arm_run(tmp_path, lambda nominal: replace(nominal, **KINDS[pattern]))
    first = simulator_of(recording).nominal
    if pattern == "*.frictionloss":
        first = replace(first, frictionloss=np.full(3, 0.05))
    found = fitted(recording, (pattern,), first, prior=weak_prior)
    assert found.converged
    np.testing.assert_allclose(found.values, true.values(found.unknowns.columns), rtol=1e-4, atol=1e-6)


def test_a_load_is_found_with_its_inertia(tmp_path):
    turned = np.array([[0.02, 0.003, -0.002], [0.003, 0.03, 0.001], [-0.002, 0.001, 0.025]])

    def loaded(nominal: Physics) -> Physics:
        heavier = heavier_hand(nominal)
        inertia = heavier.inertia.copy()
        inertia[nominal.link_index("hand")] = turned
        return replace(heavier, inertia=inertia)

    recording, true = arm_run(tmp_path, loaded)
    found = fitted(recording, ("hand.*",), prior=weak_prior)
    assert np.abs(errors(found, true)).max() < 1e-5


@pytest.mark.parametrize("how", [{"actuation": "torque"}, {"gains": "vary"}], ids=["torques", "gains that change"])
def test_other_ways_to_drive_work_the_same(tmp_path, how):
    if "gains" in how:
        factor = np.repeat(np.random.default_rng(1).uniform(0.7, 1.3, (40, 3)), 10, axis=0)
        how = {"kp": factor * [60.0, 40.0, 20.0], "kd": factor[::-1] * [3.0, 2.0, 1.0]}
    recording, true = arm_run(tmp_path, **how)
    found = fitted(recording, HAND)
    assert found.converged
    assert np.abs(errors(found, true)).max() < 1e-6


def test_the_noise_of_every_encoder_is_found(tmp_path):
    noise = np.array([3e-4, 1e-3, 2e-3])
    recording, true = arm_run(tmp_path, noise_rad=noise)
    found = fitted(recording, HAND, dataset=dataset_of(recording, simulator_of(recording), rows=17, fragments=20))
    np.testing.assert_allclose(found.noise_rad, noise, rtol=0.12)
    assert np.all(np.abs(errors(found, true)) < 4 * found.std)


def test_given_noise_is_taken_as_given(tmp_path):
    recording, _ = arm_run(tmp_path, noise_rad=1e-3)
    wide, narrow = (fitted(recording, HAND, settings=FitSettings(noise_rad=noise)) for noise in (4e-3, 1e-3))
    assert set(wide.noise_rad) == {4e-3}
    np.testing.assert_allclose(wide.std, 4 * narrow.std, rtol=0.12)


@pytest.mark.slow
def test_error_bars_are_right(tmp_path):
    """Errors over error bars, of 40 runs with their own noise: unit size in every parameter, most within two."""
    recording, true = arm_run(tmp_path)
    rng = np.random.default_rng(0)
    ratios = []
    for _ in range(40):
        noisy = replace(recording, q_rad=recording.q_rad + rng.normal(size=recording.q_rad.shape) * [1e-3, 5e-4, 1e-3])
        found = fitted(noisy, HAND, dataset=dataset_of(noisy, simulator_of(noisy), fragments=8))
        ratios.append(errors(found, true) / found.std)
    ratios = np.array(ratios)
    assert 0.85 < np.std(ratios) < 1.15
    assert np.all((np.std(ratios, axis=0) > 0.75) & (np.std(ratios, axis=0) < 1.3))
    assert np.abs(np.mean(ratios, axis=0)).max() < 3 / np.sqrt(40)


def test_outliers_ruin_a_plain_fit_and_not_a_robust_one(tmp_path):
    recording, true = arm_run(tmp_path, noise_rad=5e-4)
    rng = np.random.default_rng(3)
    gross = rng.uniform(size=recording.q_rad.shape) < 0.02
    spoilt = replace(recording, q_rad=recording.q_rad + gross * rng.normal(size=gross.shape) * 0.3)
    clean = fitted(recording, HAND)
    plain, robust = (fitted(spoilt, HAND, settings=FitSettings(robust=threshold)) for threshold in (None, 2.0))
    off = {name: np.abs(errors(one, true)) for name, one in (("plain", plain), ("robust", robust))}
    assert np.max(off["plain"] / clean.std) > 20
    assert np.max(off["robust"] / clean.std) < 5
    assert np.all(off["robust"] < 4 * robust.std)
    np.testing.assert_allclose(robust.noise_rad, 5e-4, rtol=0.35)


def test_initial_velocities_need_not_be_known(tmp_path):
    """First guesses of the velocities that are far off change nothing but the number of steps."""
    recording, true = arm_run(tmp_path)
    simulator = simulator_of(recording)
    dataset = dataset_of(recording, simulator)
    blind = replace(
        dataset,
        states=dataset.states * [1, 1, 1, 0, 0, 0],
        velocity_std_rad_s=np.full(3, 5.0),
    )
    found = fitted(recording, HAND, dataset=blind)
    assert np.abs(errors(found, true)).max() < 1e-6


def test_held_out_fragments_are_not_fitted(tmp_path):
    recording, true = arm_run(tmp_path)
    dataset = dataset_of(recording, simulator_of(recording))
    fragments = replace(dataset.fragments, readings=dataset.fragments.readings.copy())
    fragments.readings[3] += 0.5
    held_out = np.arange(fragments.count) == 3
    found = fitted(recording, HAND, dataset=replace(dataset, fragments=fragments, held_out=held_out))
    assert found.problem.fragments.count == fragments.count - 1
    assert np.abs(errors(found, true)).max() < 1e-6


def test_a_parameter_at_its_bound_keeps_an_error_bar(tmp_path):
    recording, _ = arm_run(tmp_path, lambda nominal: replace(nominal, damping=np.array([0.1, 0.1, -0.05])))
    found = fitted(recording, ("*.damping",))
    assert found.values[2] == 0.0
    assert np.all(found.std > 0)


def test_the_prior_is_told_from_the_datas_information(tmp_path):
    recording, _ = arm_run(tmp_path, noise_rad=1e-3)
    found = fitted(recording, HAND)
    whole = np.linalg.inv(found.covariance)
    np.testing.assert_allclose(
        found.information + found.unknowns.prior.information, whole, rtol=1e-5, atol=1e-6 * np.abs(whole).max()
    )


def test_progress_names_phases_and_masses(tmp_path):
    recording, true = arm_run(tmp_path)
    simulator = simulator_of(recording)
    columns = choose_columns(simulator.nominal, HAND)
    unknowns = Unknowns(simulator.nominal, columns, payload_prior(simulator.nominal, columns))
    told = []
    found = fit(
        AnalyticEngine(simulator),
        dataset_of(recording, simulator),
        unknowns,
        FitSettings(),
        report=lambda *step: told.append(step),
    )
    phases = list(dict.fromkeys(phase for phase, *_ in told))
    assert phases == ["1 of 15 steps", "4 of 15 steps", "all 15 steps", "all 15 steps, noise known"]
    assert [phase for phase, *_ in found.trace] == [phase for phase, *_ in told]
    assert told[-1][3] == pytest.approx({"hand": true.mass[true.link_index("hand")]}, abs=1e-5)
    assert len(told) == found.iterations


def test_the_joints_are_where_the_arm_says(tmp_path):
    assert simulator_of(blank(write_arm(tmp_path))).dof_joints == JOINTS
