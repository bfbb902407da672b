"""The MJX engine against MuJoCo C (rollouts) and the analytic engine (derivatives); what it does on several devices."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax")
pytest.importorskip("mujoco.mjx")

from tests.engines.scenes import Scene, g1_scene, hanging_arm, standing_leg  # noqa: E402

from haloid.engines.analytic import AnalyticEngine  # noqa: E402
from haloid.engines.mjx import MjxEngine, NotFiniteError, _padded  # noqa: E402
from haloid.engines.physics import FLOOR_KINDS, Column  # noqa: E402
from haloid.errors import HaloidError  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    axes = tuple(range(found.ndim - 1))
    error, size = (np.abs(x).max(axis=axes) for x in (found - expected, expected))
    return float(np.max(error / np.maximum(size, 1e-3)))


@pytest.fixture(scope="module")
def arm() -> Scene:
    return hanging_arm()


@pytest.fixture(scope="module")
def engine(arm) -> MjxEngine:
    """One for all tests of the arm: what it compiled, it keeps."""
    return MjxEngine(arm.simulator)


def test_rollouts_are_mujocos_and_the_gradient_is_the_analytic_one(arm, engine):
    arguments = (arm.physics, arm.columns(), arm.fragments, arm.q0, arm.v0)
    expected = AnalyticEngine(arm.simulator).jacobian(*arguments)
    slope, seen = np.random.default_rng(1).normal(size=expected.readings.shape), []
    found = engine.gradient(*arguments, lambda readings: seen.append(readings) or slope)
    np.testing.assert_allclose(seen[0], expected.readings, rtol=0, atol=1e-10)
    by_hand = np.einsum("btn,btnp->p", slope, expected.by_parameter)
    np.testing.assert_allclose(found, by_hand, rtol=0, atol=1e-8 * np.abs(by_hand).max())


def test_a_fragment_without_numbers_is_named(arm, engine):
    inputs = arm.fragments.inputs.copy()
    inputs[1] = np.nan
    broken = replace(arm.fragments, inputs=inputs, start_row=np.array([3, 140]))
    with pytest.raises(NotFiniteError) as caught:
        engine.gradient(arm.physics, arm.columns(), broken, arm.q0, arm.v0, np.ones_like)
    assert str(caught.value) == (
        "the gradient of fragment 1 (recording 1, row 140) is not finite; expected a motion that stays finite "
        "there. Shorten the fragments with --rows, or use --engine analytic"
    )


@pytest.mark.parametrize(("count", "devices", "filled"), [(1, 1, 1), (6, 1, 8), (8, 1, 8), (2, 3, 3), (7, 3, 12)])
def test_batches_are_filled_so_that_few_sizes_are_compiled(count, devices, filled):
    batch = np.arange(count)
    assert _padded(batch, devices).tolist() == [*batch, *[count - 1] * (filled - count)]


@pytest.mark.parametrize("asked", [True, False])
def test_a_floor_of_its_own_is_refused(arm, engine, asked):
    physics = arm.physics if asked else replace(arm.physics, floor_height=0.001)
    columns = [Column("floor_height")] if asked else []
    with pytest.raises(HaloidError) as caught:
        engine.jacobian(physics, columns, arm.fragments, arm.q0, arm.v0)
    assert str(caught.value) == (
        "the mjx engine knows no floor but the model's; leave floor_height, floor_friction, floor_stiffness out of the "
        "parameters, or use --engine analytic"
    )


@pytest.mark.slow
def test_the_jacobian_is_the_analytic_one(arm, engine):
    arguments = (arm.physics, arm.columns(), arm.fragments, arm.q0, arm.v0)
    expected, found = AnalyticEngine(arm.simulator).jacobian(*arguments), engine.jacobian(*arguments)
    np.testing.assert_allclose(found.readings, expected.readings, rtol=0, atol=1e-10)
    assert relative(found.by_parameter, expected.by_parameter) < 1e-8
    assert relative(found.by_state, expected.by_state) < 1e-8


@pytest.mark.slow
def test_the_gradient_of_a_leg_that_stands_and_rubs():
    scene = standing_leg('<geom size=".01" pos=".05 .03 -.04"/><geom size=".01" pos="-.06 0 -.04"/>', friction=0.5)
    columns = [column for column in scene.columns() if column.kind not in FLOOR_KINDS][::3]
    arguments = (scene.physics, columns, scene.fragments, scene.q0, scene.v0)
    slope = np.random.default_rng(1).normal(size=(*scene.q0.shape[:1], scene.fragments.rows + 1, scene.q0.shape[1]))
    found, expected = (
        kind(scene.simulator).gradient(*arguments, lambda readings: slope) for kind in (MjxEngine, AnalyticEngine)
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.slow
def test_the_gradient_of_the_clamped_g1():
    scene = g1_scene(friction=0.0)
    columns = [column for column in scene.columns() if column.kind in ("mass", "com", "damping")][::5]
    arguments = (scene.physics, columns, scene.fragments, scene.q0, scene.v0)
    slope = np.random.default_rng(1).normal(size=(*scene.q0.shape[:1], scene.fragments.rows + 1, scene.q0.shape[1]))
    found, expected = (
        kind(scene.simulator).gradient(*arguments, lambda readings: slope) for kind in (MjxEngine, AnalyticEngine)
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


DEVICES = """
import jax
import numpy as np
from tests.engines.scenes import hanging_arm
from haloid.engines.mjx import MjxEngine
scene = hanging_arm()
engine = MjxEngine(scene.simulator)
assert len(jax.local_devices()) == 3
found = engine.predict(scene.physics, scene.fragments, scene.q0, scene.v0)
expected = scene.simulator.readings([scene.physics], scene.fragments, scene.q0[None], scene.v0[None])[0]
np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
placed = engine._placed(scene.physics, [], scene.fragments, scene.q0, scene.v0)[3]
assert len(placed.sharding.device_set) == 3
"""


@pytest.mark.slow
def test_fragments_are_shared_among_devices_and_what_is_compiled_is_kept(tmp_path: Path):
    root = Path(__file__).parents[2]
    environment = os.environ | {
        "XLA_FLAGS": "--xla_force_host_platform_device_count=3",
        "JAX_ENABLE_X64": "1",
        "XDG_CACHE_HOME": str(tmp_path),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "PYTHONPATH": os.pathsep.join([str(root), *sys.path]),
    }
    subprocess.run([sys.executable, "-c", DEVICES], env=environment, check=True, timeout=300)
    assert any((tmp_path / "haloid" / "jax").iterdir())
