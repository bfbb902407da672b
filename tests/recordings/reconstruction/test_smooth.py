from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import make_smoothing_spline
from tests.recordings.double_support import noisy_run
from tests.recordings.words import assert_words

from haloid.errors import HaloidError
from haloid.recordings.errors import RecordingError
from haloid.recordings.reconstruction.smooth import _spline_at_rows, smooth
from haloid.recordings.recording import Recording

TIME_S = np.arange(500) * 0.02
INNER = slice(50, -50)


def run_of(*columns: np.ndarray, time_s: np.ndarray = TIME_S) -> Recording:
    names = tuple(f"joint_{number}" for number in range(len(columns)))
    return Recording("waves", "g1", None, names, time_s, np.stack(columns, axis=1))


def sine(hz: float, time_s: np.ndarray = TIME_S) -> np.ndarray:
    return 0.3 * np.sin(2 * np.pi * hz * time_s)


def test_the_spline_is_scipys():
    rng = np.random.default_rng(0)
    time_s = np.cumsum(rng.uniform(0.01, 0.03, 80))
    readings, weights = rng.standard_normal(80), rng.uniform(0.1, 1.0, 80)
    expected = make_smoothing_spline(time_s, readings, w=weights, lam=1e-5)(time_s)
    np.testing.assert_allclose(_spline_at_rows(time_s, readings, weights, 1e-5), expected, atol=1e-12)


@pytest.mark.parametrize("bandwidth_hz", [3.0, 6.0])
@pytest.mark.parametrize("share", [0.25, 1.0, 2.0])
def test_a_sine_keeps_the_stated_part_of_its_amplitude(bandwidth_hz, share):
    wave = sine(share * bandwidth_hz)
    q_rad = smooth(run_of(wave), bandwidth_hz).q_rad(TIME_S)[:, 0]
    gain = (q_rad[INNER] @ wave[INNER]) / (wave[INNER] @ wave[INNER])
    assert gain == pytest.approx(1 / (1 + (np.sqrt(2) - 1) * share**4), abs=0.01)


def test_noise_becomes_less():
    run, truth = noisy_run()
    run = replace(run, q_rad=run.q_rad - truth.encoder_bias_rad)
    error = smooth(run).q_rad(run.time_s) - truth.playback.q_rad
    assert np.sqrt(np.mean(error**2)) < 0.6 * truth.noise_rad


def test_outliers_are_counted_and_pull_no_more_than_noise():
    rng = np.random.default_rng(1)
    waves = np.stack([sine(0.5), sine(1.5)], axis=1) + 0.001 * rng.standard_normal((500, 2))
    wrong = waves.copy()
    wrong[[60, 200, 201, 333], 0] += [0.5, -0.2, -0.2, 3.0]
    clean, glitched = (smooth(run_of(*columns.T)) for columns in (waves, wrong))
    assert (clean.outliers, glitched.outliers) == (0, 4)
    assert np.abs(glitched.q_rad(TIME_S) - clean.q_rad(TIME_S)).max() < 0.003
    np.testing.assert_array_equal(glitched.q_rad(TIME_S)[:, 1], clean.q_rad(TIME_S)[:, 1])


def test_velocities_are_the_derivative_of_the_angles():
    path = smooth(run_of(sine(1.0)))
    np.testing.assert_allclose(
        path.dq_rad_s(TIME_S)[INNER, 0], 0.3 * 2 * np.pi * np.cos(2 * np.pi * TIME_S[INNER]), atol=2e-3
    )
    between = np.linspace(1.0, 9.0, 321)
    step = 1e-5
    difference = (path.q_rad(between + step) - path.q_rad(between - step)) / (2 * step)
    np.testing.assert_allclose(path.dq_rad_s(between), difference, atol=1e-6)


def test_lost_rows_are_bridged_and_long_gaps_refused():
    kept = np.ones(500, dtype=bool)
    kept[[100, 101, 250, 400]] = False
    path = smooth(run_of(sine(1.0)[kept], time_s=TIME_S[kept]))
    np.testing.assert_allclose(path.q_rad(TIME_S)[INNER, 0], sine(1.0)[INNER], atol=2e-3)
    kept[100:110] = False
    with pytest.raises(RecordingError) as caught:
        smooth(run_of(sine(1.0)[kept], time_s=TIME_S[kept]))
    assert_words(
        str(caught.value), "waves: 1.98 s: no rows for 0.22 s", "no gap longer than 0.0833 s", "Cut the recording"
    )


@pytest.mark.parametrize("bandwidth_hz", [0.0, -1.0, 13.0, float("nan")])
def test_a_bandwidth_beyond_the_rate_is_refused(bandwidth_hz):
    with pytest.raises(
        HaloidError, match=r"expected more than 0 and at most 12\.5 Hz, a quarter of the recording's 50"
    ):
        smooth(run_of(sine(1.0)), bandwidth_hz)
