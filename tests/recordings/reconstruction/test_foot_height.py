from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.recordings.double_support import BIAS_RAD, LEFT, NOISE_RAD, noisy_run
from tests.recordings.words import assert_words

from haloid.recordings.errors import RecordingError
from haloid.recordings.reconstruction.foot_height import CorrectedFeet, FootHeight, correct_foot_height, put_on_floor
from haloid.recordings.reconstruction.reconstruct import reconstruct
from haloid.recordings.reconstruction.resting_foot import RestingFoot, resting_foot

RUN, TRUTH = noisy_run()
FOOT = resting_foot(RUN)
LEGS = FOOT.lower_body
FEW = slice(None, None, 50)


@pytest.fixture(scope="module")
def corrected() -> CorrectedFeet:
    return correct_foot_height(RUN)


def refusal(q_rad: np.ndarray, settings: FootHeight | None = None) -> str:
    with pytest.raises(RecordingError) as caught:
        correct_foot_height(replace(RUN, q_rad=q_rad), settings or FootHeight())
    return str(caught.value)


def test_the_whole_sole_comes_down_to_the_floor(corrected):
    assert np.abs(corrected.heights_before_m).max() > 7e-3
    assert np.abs(corrected.heights_after_m).max() < 1e-9
    np.testing.assert_allclose(FOOT.heights_m(corrected.q_rad), corrected.heights_after_m, atol=1e-15)


def test_biases_that_all_point_upwards_are_undone():
    """The worst 10 mrad there are, a centimetre of height."""
    _, slopes = FOOT.linearised(TRUTH.playback.q_rad[0])
    noise = NOISE_RAD * np.random.default_rng(0).standard_normal(RUN.q_rad.shape)
    q_rad = TRUTH.playback.q_rad + BIAS_RAD * np.sign(slopes[0]) + noise
    result = correct_foot_height(replace(RUN, q_rad=q_rad))
    assert np.median(result.heights_before_m[:, 0]) > 8e-3
    assert np.abs(result.heights_after_m).max() < 5e-4
    error_rad = np.sqrt(np.mean((result.q_rad - TRUTH.playback.q_rad)[:, LEGS] ** 2))
    assert error_rad < 0.8 * np.sqrt(np.mean((q_rad - TRUTH.playback.q_rad)[:, LEGS] ** 2))


def test_height_alone_moves_less_and_leaves_the_tilt():
    result, flat = (correct_foot_height(RUN, FootHeight(flat=flat)) for flat in (False, True))
    assert np.abs(result.heights_after_m[:, 0]).max() < 1e-9
    assert np.abs(result.heights_after_m[:, 1:]).max() > 5e-4
    assert np.all(np.sum(result.increment_rad**2, axis=1) <= np.sum(flat.increment_rad**2, axis=1) + 1e-12)


def test_only_the_legs_move_and_the_clamped_foot_does_not(corrected):
    others = np.setdiff1d(np.arange(29), LEGS)
    assert np.all(corrected.increment_rad[:, others] == 0.0)
    np.testing.assert_array_equal(corrected.q_rad, RUN.q_rad + corrected.increment_rad)
    before = reconstruct(RUN)
    after = reconstruct(replace(RUN, q_rad=corrected.q_rad))
    np.testing.assert_array_equal(after.path_of(LEFT), before.path_of(LEFT))
    assert np.abs(after.path_of("pelvis") - before.path_of("pelvis")).max() > 1e-4


def second_solver(foot: RestingFoot, q_rad: np.ndarray, settings: FootHeight) -> np.ndarray:
    """The same nonlinear program by SLSQP, in units in which its increments and heights are of the size of 1."""
    points, unit = (3 if settings.flat else 1), 1e-2
    lower, upper = (limit[LEGS] - q_rad[LEGS] for limit in foot.limits_rad())
    bound = settings.max_increment_rad

    def at(x: np.ndarray) -> np.ndarray:
        angles = q_rad.copy()
        angles[LEGS] += unit * x
        return angles

    result = minimize(
        lambda x: 0.5 * x @ x,
        np.zeros(len(LEGS)),
        jac=lambda x: x,
        method="SLSQP",
        bounds=np.stack([np.maximum(lower, -bound), np.minimum(upper, bound)], axis=1) / unit,
        constraints={
            "type": "eq",
            "fun": lambda x: foot.linearised(at(x))[0][:points] / unit,
            "jac": lambda x: foot.linearised(at(x))[1][:points, LEGS],
        },
        options={"ftol": 1e-13, "maxiter": 200},
    )
    assert result.success, result.message
    return unit * result.x


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("share", [2.0, 0.8])
def test_no_joint_moves_more_than_a_second_solver_finds_necessary(flat, share):
    """Without an active bound, and with bounds of 0.8 of what a joint would move without them."""
    time_s, q_rad = RUN.time_s[FEW], RUN.q_rad[FEW]
    free = put_on_floor(FOOT, time_s, q_rad, FootHeight(flat=flat), "double")
    settings = FootHeight(flat=flat, max_increment_rad=share * np.abs(free.increment_rad).max())
    mine = put_on_floor(FOOT, time_s, q_rad, settings, "double").increment_rad[:, LEGS]
    theirs = np.array([second_solver(FOOT, row, settings) for row in q_rad])
    np.testing.assert_allclose(mine, theirs, atol=1e-6)
    assert np.any(np.abs(mine) > settings.max_increment_rad - 1e-9) == (share < 1)


def test_the_optimum_satisfies_its_kkt_conditions(corrected):
    """Where no bound is active the increments are a combination of the heights' slopes: Δ = Jᵀλ."""
    for row in range(0, len(RUN.time_s), 50):
        _, slopes = FOOT.linearised(corrected.q_rad[row])
        increment = corrected.increment_rad[row, LEGS]
        multipliers = np.linalg.lstsq(slopes[:, LEGS].T, increment, rcond=None)[0]
        np.testing.assert_allclose(slopes[:, LEGS].T @ multipliers, increment, atol=1e-8)


def test_bounds_and_joint_limits_hold_and_are_reached():
    free = correct_foot_height(RUN)
    largest = np.abs(free.increment_rad).max(axis=0)
    column = int(np.argmax(largest))
    bound_rad = 0.8 * largest[column]
    bounded = correct_foot_height(RUN, FootHeight(max_increment_rad=bound_rad))
    assert np.abs(bounded.increment_rad).max() == pytest.approx(bound_rad, abs=1e-9)
    assert np.abs(bounded.heights_after_m).max() < 1e-9

    row = int(np.argmax(np.abs(free.increment_rad[:, column])))
    wanted, half = free.q_rad[row, column], free.q_rad[row, column] - 0.5 * free.increment_rad[row, column]
    model = FOOT.model
    limits = model.joint(RUN.joint_names[column]).range
    original = limits.copy()
    try:
        limits[:] = (original[0], half) if wanted > half else (half, original[1])
        limited = put_on_floor(FOOT, RUN.time_s[row : row + 1], RUN.q_rad[row : row + 1], FootHeight(), "double")
    finally:
        limits[:] = original
    assert limited.q_rad[0, column] == pytest.approx(half, abs=1e-9)
    assert np.abs(limited.heights_after_m).max() < 1e-9
    assert np.sum(limited.increment_rad**2) > np.sum(free.increment_rad[row] ** 2)


def test_a_foot_that_steps_is_refused_with_time_and_height():
    q_rad = RUN.q_rad.copy()
    knee, hip = (RUN.joint_names.index(f"right_{joint}_joint") for joint in ("knee", "hip_pitch"))
    q_rad[200:300, knee] += 0.3
    q_rad[200:300, hip] -= 0.15
    message = refusal(q_rad)
    assert_words(message, "double: 4.00 s: right_ankle_roll_link leaves the floor", "mm above its median height at")
    assert_words(message, "in 100 of 500 steps", "Cut the recording to the steps in which it rests")


def test_a_foot_that_is_always_in_the_air_is_refused_with_its_height():
    q_rad = RUN.q_rad.copy()
    q_rad[:, RUN.joint_names.index("right_knee_joint")] += 0.6
    message = refusal(q_rad)
    assert_words(message, "0.00 s: right_ankle_roll_link does not rest on the floor: the centre of its sole is ")
    assert_words(message, "mm above it", "at most 30 mrad", 'set "support": "single"')


def test_a_joint_far_outside_its_limits_is_named():
    q_rad = RUN.q_rad.copy()
    column = RUN.joint_names.index("right_ankle_roll_joint")
    q_rad[:, column] = FOOT.limits_rad()[1][column] + 0.05
    assert_words(refusal(q_rad), "and right_ankle_roll_joint 50 mrad outside its limits")
