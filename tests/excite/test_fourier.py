import numpy as np
import pytest

from haloid.errors import HaloidError
from haloid.excite.fourier import FourierSeries
from haloid.lab.excitation import Excitation


def test_derivatives_are_those_of_the_positions():
    series = FourierSeries.of(Excitation(duration_s=4.0), 0.001)
    coefficients = np.random.default_rng(0).standard_normal((series.count, 2))
    motion = series.reference(("one", "two"), np.array([0.3, -0.1]), coefficients)
    np.testing.assert_allclose(np.gradient(motion.q_rad, 0.001, axis=0)[1:-1], motion.dq_rad_s[1:-1], atol=5e-3)
    np.testing.assert_allclose(np.gradient(motion.dq_rad_s, 0.001, axis=0)[1:-1], motion.ddq_rad_s2[1:-1], atol=1e-1)


def test_starts_at_rest_in_the_middle_and_keeps_to_the_band():
    series = FourierSeries.of(Excitation(duration_s=10.0), 0.02)
    assert series.count == 2 * 20  # 0.1 to 2 Hz in steps of 0.1 Hz
    coefficients = np.random.default_rng(0).standard_normal((series.count, 2))
    motion = series.reference(("one", "two"), np.array([0.3, -0.1]), coefficients)
    np.testing.assert_allclose(motion.q_rad[0], [0.3, -0.1])
    np.testing.assert_allclose([motion.dq_rad_s[0], motion.ddq_rad_s2[0]], 0.0, atol=1e-12)


def test_a_band_without_a_whole_period_is_refused():
    with pytest.raises(HaloidError, match=r"2 s hold no whole period between 0.1 and 0.4 Hz; make the motion longer"):
        FourierSeries.of(Excitation(duration_s=2.0, highest_hz=0.4), 0.02)
