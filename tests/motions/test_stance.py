import numpy as np

from haloid.motions.stance import stance_phases

SOLE_M = np.array([[-0.05, 0.03, 0.0], [-0.05, -0.03, 0.0], [0.12, 0.03, 0.0], [0.12, -0.03, 0.0]])


def _soles(forward_m: np.ndarray, height_m: np.ndarray) -> np.ndarray:
    path = np.stack([forward_m, np.zeros_like(forward_m), height_m], axis=1)
    return path[:, None] + SOLE_M


def _step(at: np.ndarray) -> np.ndarray:
    at = np.clip(at, 0, 1)
    return at * at * (3 - 2 * at)


def test_a_step_parts_two_phases():
    times_s = np.arange(200) / 50
    swing = (times_s - 1.5) / 0.6
    height_m = 0.08 * np.sin(np.pi * np.clip(swing, 0, 1)) ** 2
    phases = stance_phases(_soles(0.4 * _step(swing), height_m), 50.0)
    assert len(phases) == 2
    assert phases[0][0] == 0
    assert phases[1][1] == 200
    assert abs(phases[0][1] / 50 - 1.5) < 0.12
    assert abs(phases[1][0] / 50 - 2.1) < 0.12


def test_a_foot_that_glides_over_the_ground_does_not_stand():
    times_s = np.arange(100) / 50
    assert stance_phases(_soles(0.5 * times_s, np.zeros(100)), 50.0) == []


def test_a_foot_that_hovers_does_not_stand():
    assert stance_phases(_soles(np.zeros(100), np.full(100, 0.1)), 50.0) == []


def test_a_moment_of_noise_does_not_part_a_phase():
    height_m = np.zeros(100)
    height_m[50] = 0.06
    assert stance_phases(_soles(np.zeros(100), height_m), 50.0) == [(0, 100)]
