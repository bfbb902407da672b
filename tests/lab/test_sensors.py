import numpy as np

from haloid.lab.sensors import ENCODER_STEP_RAD, Sensors, read

Q_RAD = np.random.default_rng(0).uniform(-1, 1, (2000, 3))
DQ_RAD_S = np.random.default_rng(1).uniform(-1, 1, (2000, 3))


def test_ideal_sensors_are_off_by_half_an_encoder_step_at_most():
    readings = read(Sensors(), Q_RAD, DQ_RAD_S, seed=0)
    steps = readings.q_rad / ENCODER_STEP_RAD
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    assert np.abs(readings.q_rad - Q_RAD).max() <= ENCODER_STEP_RAD / 2 * (1 + 1e-9)
    assert readings.dq_rad_s is None
    assert len(readings.row) == len(Q_RAD)


def test_noise_and_bias():
    sensors = Sensors(noise_rad=0.0005, bias_rad=0.01, bias_seed=4, quantise=False)
    error = read(sensors, Q_RAD, DQ_RAD_S, seed=0).q_rad - Q_RAD
    np.testing.assert_allclose(error.mean(axis=0), sensors.bias_of(3), atol=5e-5)
    np.testing.assert_allclose(error.std(axis=0), 0.0005, rtol=0.05)
    assert 0.001 < np.abs(sensors.bias_of(3)).max() <= 0.01


def test_noise_changes_with_the_run_and_bias_does_not():
    sensors = Sensors(noise_rad=0.0005, bias_rad=0.01, quantise=False)
    first, again, other = (read(sensors, Q_RAD, DQ_RAD_S, seed).q_rad for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    difference = first - other
    assert difference.std() > 0.0005
    assert np.abs(difference.mean()) < 5e-5


def test_dropped_rows_leave_the_rest_as_it_was():
    whole = read(Sensors(noise_rad=0.001), Q_RAD, DQ_RAD_S, seed=5)
    some = read(Sensors(noise_rad=0.001, drop_fraction=0.1), Q_RAD, DQ_RAD_S, seed=5)
    assert 0.07 < 1 - len(some.row) / len(Q_RAD) < 0.13
    assert (some.row[0], some.row[-1]) == (0, len(Q_RAD) - 1)
    np.testing.assert_array_equal(some.q_rad, whole.q_rad[some.row])


def test_measured_velocity_has_its_own_noise():
    readings = read(Sensors(measure_velocity=True, velocity_noise_rad_s=0.02), Q_RAD, DQ_RAD_S, seed=0)
    assert readings.dq_rad_s is not None
    np.testing.assert_allclose((readings.dq_rad_s - DQ_RAD_S).std(), 0.02, rtol=0.05)
