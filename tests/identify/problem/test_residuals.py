"""Residuals: angles over their noise, and the paper's tracking loss (HALO Eqs. 5-7) as plain MuJoCo gives it."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from tests.engines.scenes import tree_scene

from haloid.identify.problem.residuals import LEAST_NOISE_RAD, CartesianResidual, JointResidual

SCENE = tree_scene(3)
MODEL = SCENE.simulator.model
UPPER = [MODEL.body(MODEL.nbody - 1).name, MODEL.body(3).name]


def some_readings(seed: int, count: int = 2) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return MODEL.qpos0 + 0.4 * rng.normal(size=(count, SCENE.fragments.rows + 1, MODEL.nv))


def fragments_with(readings: np.ndarray):
    return replace(SCENE.fragments, readings=readings)


def body_positions(q: np.ndarray) -> dict[str, np.ndarray]:
    data = mujoco.MjData(MODEL)
    data.qpos[:] = q
    mujoco.mj_forward(MODEL, data)
    return {MODEL.body(i).name: data.xpos[i].copy() for i in range(1, MODEL.nbody)}


def tracking_loss(predicted: np.ndarray, read: np.ndarray, upper_weight: float, first_row: int) -> float:
    """Eqs. 5-7 as they stand in the paper."""
    everything, upper = 0.0, 0.0
    for b in range(len(read)):
        for t in range(first_row, read.shape[1]):
            simulated, real = body_positions(predicted[b, t]), body_positions(read[b, t])
            squared = {name: float(np.sum((simulated[name] - real[name]) ** 2)) for name in real}
            everything += sum(squared.values())
            upper += sum(squared[name] for name in UPPER)
    return (everything + upper_weight * upper) / len(read)


@pytest.mark.parametrize("upper_weight", [0.0, 1.0, 2.5])
def test_the_sum_of_squares_is_the_papers_tracking_loss(upper_weight):
    predicted, read = some_readings(1), some_readings(2)
    predicted[:, 0] = read[:, 0]  # the paper resets the simulator to the recorded state and counts from t = 1
    residual = CartesianResidual(MODEL, UPPER, upper_weight, np.sqrt(len(read)))
    values = residual.values(predicted, fragments_with(read))
    assert np.sum(values**2) == pytest.approx(tracking_loss(predicted, read, upper_weight, first_row=1), rel=1e-12)


def test_the_tree_has_hinges_and_slides():
    assert set(MODEL.jnt_type) == {mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE}


@pytest.mark.parametrize("kind", ["joints", "cartesian"])
def test_slopes_equal_differences(kind):
    n = MODEL.nv
    residual = (
        JointResidual(np.linspace(0.5, 2.0, n)) if kind == "joints" else CartesianResidual(MODEL, UPPER, 1.5, 0.7)
    )
    readings, fragments = some_readings(4), fragments_with(some_readings(5))
    by = np.random.default_rng(6).normal(size=(*readings.shape, 4))
    step = 1e-6
    differences = [
        (residual.values(readings + step * d, fragments) - residual.values(readings - step * d, fragments)) / (2 * step)
        for d in np.moveaxis(by, -1, 0)
    ]
    np.testing.assert_allclose(residual.slope(readings, by), np.stack(differences, axis=-1), rtol=1e-6, atol=1e-7)


def test_body_positions_have_a_slope_by_no_parameters():
    residual = CartesianResidual(MODEL, UPPER, 1.5, 0.7)
    assert residual.slope(np.zeros((2, 3, MODEL.nv)), np.zeros((2, 3, MODEL.nv, 0))).shape[2] == 0


def test_joint_residuals_are_in_units_of_each_encoders_noise():
    noise = np.linspace(1e-3, 2e-3, MODEL.nv)
    readings = some_readings(1)
    values = JointResidual(noise).values(readings + 3 * noise, fragments_with(readings))
    np.testing.assert_allclose(values, 3.0, rtol=1e-9)


def test_reweighting_finds_each_joints_noise_less_the_freedom_of_the_states():
    """Two coordinates of each state are fitted, so B·(N + 1 − 2) − P/n readings of every joint are free."""
    rng = np.random.default_rng(7)
    rows, n, count, parameters = SCENE.fragments.rows + 1, MODEL.nv, 300, 2 * MODEL.nv
    read = np.zeros((count, rows, n))
    errors = rng.normal(size=read.shape) * np.linspace(1e-3, 3e-3, n)
    free = count * (rows - 2) - parameters / n
    found = JointResidual(np.ones(n)).reweighted(errors, fragments_with(read), parameters, robust=False)
    np.testing.assert_allclose(found.noise_rad, np.sqrt(np.sum(errors**2, axis=(0, 1)) / free), rtol=1e-12)


def test_robust_reweighting_is_deaf_to_outliers():
    rng = np.random.default_rng(8)
    rows, n, count = SCENE.fragments.rows + 1, MODEL.nv, 400
    noise = np.linspace(1e-3, 3e-3, n)
    errors = rng.normal(size=(count, rows, n)) * noise
    errors[rng.uniform(size=errors.shape) < 0.03] = 0.5
    found = JointResidual(np.ones(n)).reweighted(errors, fragments_with(np.zeros_like(errors)), 0, robust=True)
    np.testing.assert_allclose(found.noise_rad, noise * np.sqrt(rows / (rows - 2)), rtol=0.1)


def test_noise_free_data_keeps_a_finite_weight():
    readings = some_readings(1)
    found = JointResidual(np.ones(MODEL.nv)).reweighted(readings, fragments_with(readings), 3, robust=False)
    assert set(found.noise_rad) == {LEAST_NOISE_RAD}


def test_cartesian_residuals_become_of_unit_size():
    readings, fragments = some_readings(4), fragments_with(some_readings(4) + 1e-3)
    residual = CartesianResidual(MODEL, UPPER, 1.5, 0.7).reweighted(readings, fragments, 0, robust=False)
    rows = readings.shape[1]
    mean_square = np.mean(residual.values(readings, fragments) ** 2)
    assert mean_square == pytest.approx((rows - 2) / rows, rel=1e-9)
