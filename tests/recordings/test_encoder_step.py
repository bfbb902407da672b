"""The step of quantised encoders, and what is none."""

import numpy as np
import pytest

from haloid.recordings.encoder_step import encoder_steps_rad

STEP_RAD = 2 * np.pi / 4096


def wave(rows: int = 400) -> np.ndarray:
    return 0.3 * np.sin(0.05 * np.arange(rows))


@pytest.mark.parametrize("decimals", [17, 6, 5, 4])
def test_a_moving_joint_shows_its_step(decimals: int):
    readings = (STEP_RAD * np.round(wave() / STEP_RAD)).round(decimals)
    assert encoder_steps_rad(readings[:, None])[0] == pytest.approx(STEP_RAD, rel=2e-2)


def test_an_offset_is_no_obstacle():
    readings = 0.123456 + STEP_RAD * np.round(wave() / STEP_RAD)
    assert encoder_steps_rad(readings[:, None])[0] == pytest.approx(STEP_RAD, rel=1e-6)


def test_a_still_joint_has_the_encoder_of_the_others():
    moving = STEP_RAD * np.round(wave() / STEP_RAD)
    assert encoder_steps_rad(np.stack([moving, np.full(400, 0.7)], axis=1)) == pytest.approx([STEP_RAD, STEP_RAD])


def test_readings_that_are_not_quantised_have_no_step():
    noisy = wave() + 5e-4 * np.random.default_rng(0).normal(size=400)
    assert encoder_steps_rad(np.stack([wave(), noisy, np.zeros(400)], axis=1)).tolist() == [0.0, 0.0, 0.0]
