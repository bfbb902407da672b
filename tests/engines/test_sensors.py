"""Measured torques and gyros: predictions against MuJoCo's own sensors, derivatives against differences."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from tests.engines.scenes import Scene, g1_scene, tree_scene
from tests.engines.test_analytic import TREES, assert_close_by_column

from haloid.engines.analytic import AnalyticEngine
from haloid.engines.finite_difference import FiniteDifferenceEngine
from haloid.engines.sensing.sensors import GyroSensor, TorqueSensor


def with_sensors(scene: Scene, link: str | None = None) -> Scene:
    """With a torque sensor at every joint and a gyro on a link; by default the last one."""
    sensors = (TorqueSensor(), GyroSensor(link or scene.physics.links[-1]))
    signals = np.zeros((*scene.fragments.readings.shape[:2], len(scene.physics.joints) + 3))
    return replace(scene, fragments=replace(scene.fragments, sensors=sensors, signals=signals))


def uneven(scene: Scene) -> Scene:
    """Its rows come between steps."""
    fragments = scene.fragments
    rows = fragments.history + fragments.rows + fragments.ahead + 1
    late = np.random.default_rng(1).uniform(0.1, 0.9, (fragments.count, rows)) * fragments.timestep_s
    late[:, fragments.history] = 0.0
    times = (np.arange(rows) - fragments.history) * fragments.control_dt_s + late
    return replace(scene, fragments=replace(fragments, row_time_s=times))


@pytest.mark.parametrize("seed", range(4))
def test_predictions_are_what_mujoco_senses(seed):
    scene = with_sensors(tree_scene(seed))
    simulator, fragments, physics = scene.simulator, scene.fragments, scene.physics
    n = len(physics.joints)
    read = AnalyticEngine(simulator).predict(physics, fragments, scene.q0, scene.v0)
    run = simulator.run(physics, fragments, scene.q0, scene.v0)
    model = simulator.with_physics(physics)
    simulator.set_gains(model, physics, fragments.kp, fragments.kd, torque=False)
    data, velocity = mujoco.MjData(model), np.zeros(6)
    body = model.body(scene.physics.links[-1]).id
    for fragment in range(fragments.count):
        for row in range(1, fragments.rows + 1):
            step = row * fragments.substeps
            data.qpos[:], data.qvel[:] = run.q[fragment, step], run.v[fragment, step]
            data.ctrl[simulator._actuator_of_dof] = run.inputs[fragment, step - 1]
            mujoco.mj_forward(model, data)
            torque = data.actuator_force[simulator._actuator_of_dof]
            np.testing.assert_allclose(read[fragment, row, n : 2 * n], torque, rtol=0, atol=1e-9)
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, velocity, 1)
            np.testing.assert_allclose(read[fragment, row, 2 * n :], velocity[:3], rtol=0, atol=1e-9)


@pytest.mark.parametrize("mode", [{}, {"gains_vary": True}], ids=["servos", "varying gains"])
@pytest.mark.parametrize("seed", TREES)
def test_every_derivative_of_random_trees_is_a_central_difference(mode, seed):
    assert_equals_differences(with_sensors(tree_scene(seed, **mode)))


def test_derivatives_between_steps_are_central_differences():
    assert_equals_differences(uneven(with_sensors(tree_scene(0))))


def test_derivatives_of_the_g1_on_one_foot_are_central_differences():
    scene = with_sensors(g1_scene(1, link="left_ankle_roll_link"), "pelvis")
    columns = [column for i, column in enumerate(scene.columns()) if i % 29 == 0]
    assert_equals_differences(scene, columns)


def assert_equals_differences(scene: Scene, columns=None) -> None:
    columns = scene.columns() if columns is None else columns
    found, expected = (
        engine(scene.simulator).jacobian(scene.physics, columns, scene.fragments, scene.q0, scene.v0)
        for engine in (AnalyticEngine, FiniteDifferenceEngine)
    )
    np.testing.assert_allclose(found.readings, expected.readings, rtol=0, atol=1e-9)
    n = len(scene.physics.joints)
    assert np.any(found.by_parameter[:, :, n:] != 0) and not np.any(found.by_parameter[:, 0, n:])
    assert_close_by_column(found.by_parameter, expected.by_parameter, [column.name for column in columns])
    assert_close_by_column(found.by_state, expected.by_state, [str(i) for i in range(2 * n)])
