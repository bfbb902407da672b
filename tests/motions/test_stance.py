import numpy as np

from haloid.motions.stance import stance_phases, without_gaps

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


def test_a_gap_between_feet_is_closed_unless_the_robot_falls():
    still_m, times_s = np.full(100, 0.8), np.arange(100) / 50
    phases = {"left": [(0, 40)], "right": [(50, 100)]}
    assert without_gaps(phases, still_m, 50.0) == {"left": [(0, 45)], "right": [(45, 100)]}
    assert without_gaps({"left": [(0, 40), (50, 100)], "right": []}, still_m, 50.0)["left"] == [(0, 100)]
    assert without_gaps({"left": [(10, 90)], "right": [(20, 30)]}, still_m, 50.0)["left"] == [(0, 100)]
    falling_m = 0.8 - 0.5 * 9.81 * (times_s - 0.9) ** 2
    assert without_gaps(phases, falling_m, 50.0) == phases
