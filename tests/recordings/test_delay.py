import numpy as np
import pytest

from haloid.errors import HaloidError
from haloid.recordings.delay import delayed_inputs, substeps_per_row

CONTROL_DT_S = 0.02
TIMESTEP_S = 0.005


def brute_force(inputs, delay_s, samples=4000):
    """The definition itself: u(s - delay) averaged over each step on a fine grid of midpoints."""
    steps = len(inputs) * round(CONTROL_DT_S / TIMESTEP_S)
    midpoints = (np.arange(samples) + 0.5) / samples * TIMESTEP_S
    out = np.empty((steps, inputs.shape[1]))
    for step in range(steps):
        rows = np.floor((step * TIMESTEP_S + midpoints - delay_s) / CONTROL_DT_S).astype(int)
        out[step] = inputs[np.clip(rows, 0, len(inputs) - 1)].mean(axis=0)
    return out


@pytest.mark.parametrize("delay_s", [-0.0225, -0.0013, 0.0, 0.0013, 0.005, 0.0075, 0.0199, 0.02, 0.031])
def test_delay_is_the_mean_of_the_shifted_hold(delay_s):
    inputs = np.random.default_rng(0).normal(size=(6, 2))
    np.testing.assert_allclose(
        delayed_inputs(inputs, delay_s, CONTROL_DT_S, TIMESTEP_S), brute_force(inputs, delay_s), atol=2e-3
    )


def test_no_delay_holds_each_row():
    inputs = np.arange(3.0)[:, None]
    expected = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]
    assert delayed_inputs(inputs, 0.0, CONTROL_DT_S, TIMESTEP_S)[:, 0].tolist() == expected


def test_fractional_delay_blends_one_step_a_row():
    inputs = np.array([[0.0], [1.0]])
    late = delayed_inputs(inputs, 0.00625, CONTROL_DT_S, TIMESTEP_S)[:, 0]
    np.testing.assert_allclose(late, [0, 0, 0, 0, 0, 0.75, 1, 1], atol=1e-12)


def test_a_log_that_tells_late_is_read_ahead():
    early = delayed_inputs(np.array([[0.0], [1.0], [2.0]]), -0.005, CONTROL_DT_S, TIMESTEP_S)[:, 0]
    assert early.tolist() == [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2]


def test_timestep_must_divide_the_control_period():
    assert substeps_per_row(0.02, 0.005) == 4
    with pytest.raises(HaloidError, match=r"is 3.33333 simulation steps of 0.006 s; expected a whole number"):
        substeps_per_row(0.02, 0.006)
