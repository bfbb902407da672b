"""The floor's force is MuJoCo's, and its derivative that of the rollouts, for every shape of foot."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from tests.engines.scenes import Scene, standing_leg

from haloid.engines.analytic import AnalyticEngine, UnsupportedModelError
from haloid.engines.contact import FloorContact, contact_changes
from haloid.engines.finite_difference import FiniteDifferenceEngine
from haloid.engines.link_forces import LinkForces
from haloid.engines.physics import FLOOR_KINDS
from haloid.engines.simulate import Simulator

FEET = {
    "spheres": "".join(f'<geom size=".01" pos="{xy} -.04"/>' for xy in (".06 .03", ".06 -.03", "-.06 0")),
    "a capsule": '<geom type="capsule" size=".02" fromto="-.06 0 -.03 .06 0 -.03"/>',
    "a box": '<geom type="box" size=".07 .03 .01" pos="0 0 -.04"/>',
}


def on_another_floor(foot: str, friction: float) -> Scene:
    """A floor that is higher, smoother and stiffer than the model's."""
    scene = standing_leg(foot, friction=friction)
    floor = {"floor_height": 8e-5, "floor_friction": 0.8, "floor_stiffness": 1.3}
    return replace(scene, physics=replace(scene.physics, on_floor=True, **floor))


def floor_force(scene: Scene, data: mujoco.MjData, model: mujoco.MjModel) -> np.ndarray:
    mass = np.empty((model.nv, model.nv))
    at_rest = mujoco.MjData(model)
    mujoco.mj_forward(model, at_rest)
    mujoco.mj_fullM(model, at_rest, mass)
    links = LinkForces(model, scene.physics, [])
    contact = FloorContact(model, scene.physics, [], links, np.linalg.inv(mass))
    touch = contact.at(data.qpos[None], data.qvel[None], data.qacc[None])
    assert touch is not None
    return touch.force[0]


@pytest.mark.parametrize("foot", FEET)
def test_the_force_is_mujocos(foot):
    scene = on_another_floor(FEET[foot], friction=0.0)
    model = scene.simulator.with_physics(scene.physics)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = scene.q0[0] - scene.physics.bias, scene.v0[0]
    mujoco.mj_forward(model, data)
    assert data.ncon > 0
    found = floor_force(scene, data, model)
    np.testing.assert_allclose(found, data.qfrc_constraint, rtol=0, atol=1e-6 * np.abs(found).max())
    assert np.abs(found).max() > 1


@pytest.mark.parametrize("friction", [0.0, 0.5])
@pytest.mark.parametrize("foot", FEET)
def test_every_derivative_is_a_central_difference(foot, friction):
    scene = on_another_floor(FEET[foot], friction)
    columns = [column for column in scene.columns() if friction or column.kind != "frictionloss"]  # a kink at zero
    arguments = (scene.physics, columns, scene.fragments, scene.q0, scene.v0)
    trajectories = scene.simulator.run(scene.physics, scene.fragments, scene.q0, scene.v0)
    assert not contact_changes(scene.simulator, scene.physics, trajectories).any()
    found = AnalyticEngine(scene.simulator).jacobian(*arguments)
    expected = FiniteDifferenceEngine(scene.simulator).jacobian(*arguments)
    np.testing.assert_array_equal(found.readings, expected.readings)
    names = {"by_parameter": [c.name for c in columns], "by_state": [*scene.physics.joints] * 2}
    for kind, of_columns in names.items():
        ours, differences = getattr(found, kind), getattr(expected, kind)
        error, size = (np.abs(x).max(axis=(0, 1, 2)) for x in (ours - differences, differences))
        relative = error / np.maximum(size, 1e-3)
        worst = int(np.argmax(relative))
        assert relative[worst] < 1e-5, of_columns[worst]


def test_a_floor_is_found_by_what_it_does_to_the_joints():
    scene = on_another_floor(FEET["a box"], friction=0.0)
    columns = [column for column in scene.columns() if column.kind in FLOOR_KINDS]
    truth = scene.physics.values(columns)
    engine, fragments, start = AnalyticEngine(scene.simulator), scene.fragments, (scene.q0, scene.v0)
    read = engine.predict(scene.physics, fragments, *start)
    values = scene.simulator.nominal.values(columns)
    for _ in range(8):
        found = engine.jacobian(scene.physics.with_values(columns, values), columns, fragments, *start)
        slope = found.by_parameter.reshape(-1, len(columns))
        values = values + np.linalg.lstsq(slope, (read - found.readings).ravel(), rcond=None)[0]
    np.testing.assert_allclose(values, truth, rtol=1e-6)


def test_contacts_that_come_and_go_are_counted():
    scene = standing_leg(FEET["spheres"], friction=0.0)
    aloft = scene.q0 + np.array([0.02, 0, 0, 0])
    trajectories = scene.simulator.run(scene.physics, scene.fragments, aloft, scene.v0)
    changes = contact_changes(scene.simulator, scene.physics, trajectories)
    assert changes.min() >= 1


def words_about(foot: str, option: str = "") -> str:
    with pytest.raises(UnsupportedModelError) as caught:
        AnalyticEngine(standing_leg(foot, friction=0.0, option=option).simulator)
    return str(caught.value)


def test_words_for_contacts_that_are_left_out():
    refusal = "the analytic engine cannot differentiate a model with {}; use --engine finite-difference, which can"
    assert words_about(FEET["a box"], 'cone="elliptic"') == refusal.format("elliptic friction cones")
    cylinder = '<geom name="sole" type="cylinder" size=".03 .01"/>'
    assert words_about(cylinder) == refusal.format("a foot that is neither sphere, capsule nor box (floor and sole)")
    rolling = '<geom name="sole" size=".03" condim="6"/>'
    assert words_about(rolling) == refusal.format("contact dimensions other than 3 (floor and sole)")


def test_a_link_that_touches_another_is_left_out():
    text = """
    <mujoco><worldbody>
      <body><joint name="a" axis="0 1 0"/><geom name="upper" size=".1" pos="0 0 .1"/>
        <body pos="0 0 .3"><body pos="0 0 .1"><joint name="b" axis="0 1 0"/><geom name="lower" size=".1"/></body></body>
      </body>
    </worldbody><actuator><position joint="a"/><position joint="b"/></actuator></mujoco>"""
    with pytest.raises(UnsupportedModelError, match=r"contact that is not with a floor \(upper and lower\)"):
        AnalyticEngine(Simulator(mujoco.MjSpec.from_string(text), 0.005, contact=True))
