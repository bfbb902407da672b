"""Exact sensitivities: readings against plain `mj_step`, derivatives against central differences of two kinds."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from tests.engines.scenes import PlainRun, Scene, g1_scene, step_plainly, tree_scene

from haloid.engines.analytic import AnalyticEngine, UnsupportedModelError
from haloid.engines.finite_difference import FiniteDifferenceEngine
from haloid.engines.physics import JOINT_KINDS, LINK_KINDS, Column, Physics
from haloid.engines.simulate import Simulator

MODES = {"servos": {}, "varying gains": {"gains_vary": True}, "torques": {"torque": True}}
TREES = (0, 2, 4)
"""Seeds whose joints stick, slip and saturate, none of them within a nudge of switching."""
PLAIN_NUDGE = {"mass": 1e-4, "com": 1e-5, "inertia": 1e-6, "damping": 1e-5, "frictionloss": 1e-5, "armature": 1e-6,
               "kp": 1e-5, "kd": 1e-5, "strength": 1e-5, "bias": 1e-6, "delay": 1e-5}  # fmt: skip


def jacobian(scene: Scene, columns: list[Column], physics: Physics | None = None):
    engine = AnalyticEngine(scene.simulator)
    return engine.jacobian(physics or scene.physics, columns, scene.fragments, scene.q0, scene.v0)


def plain(scene: Scene, physics: Physics | None = None) -> PlainRun:
    return step_plainly(scene, physics or scene.physics, scene.q0, scene.v0)


def assert_close_by_column(found: np.ndarray, expected: np.ndarray, names: list[str]) -> None:
    """To 1e-6 of the largest entry of a column, or of one where that is larger."""
    error = np.abs(found - expected).max(axis=(0, 1, 2))
    allowed = 1e-6 * np.maximum(1, np.abs(expected).max(axis=(0, 1, 2)))
    worst = int(np.argmax(error / allowed))
    assert np.all(error <= allowed), f"{names[worst]} is off by {error[worst]:.3g}, allowed are {allowed[worst]:.3g}"


def assert_all_branches_are_taken(run: PlainRun) -> None:
    """Joints stick and slip, drives are free and saturated, each in at least one in a hundred steps."""
    for share, at_the_limit in ((run.slip, 1 - 1e-6), (run.effort, 1 - 1e-9)):
        assert 0.01 < np.mean(share > at_the_limit) < 0.99


def assert_equals_differences(scene: Scene, columns: list[Column]) -> None:
    assert_all_branches_are_taken(plain(scene))
    found = jacobian(scene, columns)
    difference = FiniteDifferenceEngine(scene.simulator)
    expected = difference.jacobian(scene.physics, columns, scene.fragments, scene.q0, scene.v0)
    assert_close_by_column(found.by_parameter, expected.by_parameter, [column.name for column in columns])
    states = [f"{kind} {joint}" for kind in ("q", "v") for joint in scene.physics.joints]
    assert_close_by_column(found.by_state, expected.by_state, states)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(6))
def test_readings_of_random_trees_are_mj_steps(mode, seed):
    scene = tree_scene(seed, **MODES[mode])
    expected = plain(scene).readings
    np.testing.assert_allclose(jacobian(scene, []).readings, expected, rtol=0, atol=1e-9)
    predicted = AnalyticEngine(scene.simulator).predict(scene.physics, scene.fragments, scene.q0, scene.v0)
    np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("mode", MODES)
def test_readings_of_the_g1_are_mj_steps(mode):
    scene = g1_scene(1, **MODES[mode])
    np.testing.assert_allclose(jacobian(scene, []).readings, plain(scene).readings, rtol=0, atol=1e-9)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", TREES)
def test_every_derivative_of_random_trees_is_a_central_difference(mode, seed):
    scene = tree_scene(seed, **MODES[mode])
    assert_equals_differences(scene, scene.columns())


@pytest.mark.parametrize("link", ["left_ankle_roll_link", "pelvis"])
def test_some_derivatives_of_every_kind_of_the_g1_are_central_differences(link):
    scene = g1_scene(1, link=link)
    columns = scene.columns()[::11]
    assert {column.kind for column in columns} | {"delay"} == {*LINK_KINDS, *JOINT_KINDS, "delay"}
    assert_equals_differences(scene, [*columns, Column("delay")])


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_every_derivative_of_the_g1_is_a_central_difference(mode):
    scene = g1_scene(1, **MODES[mode])
    assert_equals_differences(scene, scene.columns())


def one_of_each_kind(scene: Scene) -> list[Column]:
    link, joint = scene.physics.links[-1], scene.physics.joints[-1]
    columns = [Column(kind, link, parts[-1]) for kind, parts in LINK_KINDS.items()]
    return columns + [Column(kind, joint) for kind in JOINT_KINDS] + [Column("delay")]


@pytest.mark.parametrize("scene", [lambda: tree_scene(2), lambda: tree_scene(4), lambda: g1_scene(1)])
def test_derivatives_are_differences_of_mj_steps_on_recompiled_models(scene):
    scene = scene()
    columns = one_of_each_kind(scene)
    expected = []
    for column in columns:
        nudge = PLAIN_NUDGE[column.kind]
        ends = [scene.physics.with_values([column], scene.physics.values([column]) + s * nudge) for s in (1, -1)]
        expected.append((plain(scene, ends[0]).readings - plain(scene, ends[1]).readings) / (2 * nudge))
    found = jacobian(scene, columns).by_parameter
    assert_close_by_column(found, np.stack(expected, axis=-1), [column.name for column in columns])


def test_derivatives_by_the_initial_state_are_differences_of_mj_steps():
    scene = tree_scene(2)
    n = len(scene.physics.joints)
    expected = []
    for k in range(2 * n):
        nudge = 1e-6 * (np.arange(2 * n) == k)
        ends = [step_plainly(scene, scene.physics, scene.q0 + s * nudge[:n], scene.v0 + s * nudge[n:]) for s in (1, -1)]
        expected.append((ends[0].readings - ends[1].readings) / 2e-6)
    assert_close_by_column(jacobian(scene, []).by_state, np.stack(expected, axis=-1), [str(k) for k in range(2 * n)])


def test_frictionless_joints_have_derivatives_too():
    scene = tree_scene(2, friction=0.0)
    columns = [column for column in scene.columns() if column.kind != "frictionloss"]
    expected = FiniteDifferenceEngine(scene.simulator).jacobian(
        scene.physics, columns, scene.fragments, scene.q0, scene.v0
    )
    found = jacobian(scene, columns)
    assert_close_by_column(found.by_parameter, expected.by_parameter, [column.name for column in columns])


def difference_to_the_right(scene: Scene, physics: Physics, column: Column, nudge: float) -> np.ndarray:
    """Of second order, where a parameter cannot be nudged to both sides."""
    value = physics.values([column])
    at, near, far = (plain(scene, physics.with_values([column], value + k * nudge)).readings for k in range(3))
    return ((4 * near - 3 * at - far) / (2 * nudge))[..., None]


def test_a_delay_of_whole_steps_has_the_derivative_to_its_right():
    scene = tree_scene(2)
    physics = replace(scene.physics, delay=0.01)
    expected = difference_to_the_right(scene, physics, Column("delay"), 1e-5)
    assert_close_by_column(jacobian(scene, [Column("delay")], physics).by_parameter, expected, ["delay"])


def test_columns_do_not_depend_on_which_others_are_asked_for():
    scene = tree_scene(4)
    columns = scene.columns()
    whole = jacobian(scene, columns)
    some = np.random.default_rng(0).permutation(len(columns))[:23]
    part = jacobian(scene, [columns[i] for i in some])
    np.testing.assert_allclose(part.by_parameter, whole.by_parameter[..., some], rtol=0, atol=1e-12)
    np.testing.assert_allclose(part.by_state, whole.by_state, rtol=0, atol=1e-12)


def test_the_clamped_link_has_no_effect_and_the_start_is_what_was_read():
    scene = tree_scene(4)
    clamped = scene.physics.links[0]
    columns = scene.columns()
    found = jacobian(scene, columns)
    assert np.all(found.by_parameter[..., [i for i, c in enumerate(columns) if c.owner == clamped]] == 0)
    n = len(scene.physics.joints)
    np.testing.assert_allclose(found.readings[:, 0], scene.q0, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(found.by_parameter[:, 0], 0)
    np.testing.assert_array_equal(found.by_state[:, 0], np.tile(np.eye(n, 2 * n), (scene.fragments.count, 1, 1)))


def test_fragments_do_not_influence_each_other():
    scene = tree_scene(4, gains_vary=True)
    whole = jacobian(scene, scene.columns())
    one = replace(scene, fragments=scene.fragments.chosen(np.array([1])), q0=scene.q0[1:], v0=scene.v0[1:])
    alone = jacobian(one, scene.columns())
    np.testing.assert_allclose(alone.by_parameter[0], whole.by_parameter[1], rtol=0, atol=1e-12)


def test_a_joint_without_friction_among_others_with_it_has_the_derivative_to_its_right():
    scene = tree_scene(2)
    column = Column("frictionloss", scene.physics.joints[1])
    physics = scene.physics.with_values([column], np.zeros(1))
    expected = difference_to_the_right(scene, physics, column, 1e-6)
    assert_close_by_column(jacobian(scene, [column], physics).by_parameter, expected, [column.name])


@pytest.mark.parametrize("kind", ["kp", "kd"])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_gain_factor_of_zero_has_a_derivative(kind):
    scene = tree_scene(2)
    column = Column(kind, scene.physics.joints[1])
    physics = scene.physics.with_values([column], np.zeros(1))
    expected = difference_to_the_right(scene, physics, column, 1e-6)
    assert_close_by_column(jacobian(scene, [column], physics).by_parameter, expected, [column.name])


ARM = """
<mujoco>
  <option {option}/>
  <worldbody>
    <body name="upper">
      <joint name="shoulder" axis="0 1 0" {joint}/><geom size=".1" pos="0 0 .1"/>
      <body name="lower" pos="0 0 .3" {body}><joint name="elbow" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body>
    </body>
  </worldbody>
  <actuator><position joint="shoulder"/><position joint="elbow"/></actuator>
  {more}
</mujoco>"""
UNSUPPORTED = {
    "tendons": {"more": '<tendon><fixed><joint joint="elbow" coef="1"/></fixed></tendon>'},
    "equality constraints": {"more": '<equality><joint joint1="elbow" joint2="shoulder"/></equality>'},
    "gravity compensation": {"body": 'gravcomp="1"'},
    "a fluid (density, viscosity or wind)": {"option": 'viscosity="0.1"'},
    "nonlinear damping or stiffness": {"joint": 'damping="0.1 0.2"'},
}


def arm(**parts: str) -> Simulator:
    text = ARM.format(**{"option": "", "joint": "", "body": "", "more": ""} | parts)
    return Simulator(mujoco.MjSpec.from_string(text), 0.005)


@pytest.mark.parametrize("feature", UNSUPPORTED)
def test_words_for_models_that_the_step_leaves_out(feature):
    with pytest.raises(UnsupportedModelError) as caught:
        AnalyticEngine(arm(**UNSUPPORTED[feature]))
    assert str(caught.value) == (
        f"the analytic engine cannot differentiate a model with {feature}; use --engine finite-difference, which can"
    )


def test_words_for_two_things_at_once():
    AnalyticEngine(arm())
    with pytest.raises(UnsupportedModelError, match="a model with tendons and gravity compensation; use --engine"):
        AnalyticEngine(arm(**UNSUPPORTED["gravity compensation"], **UNSUPPORTED["tendons"]))
