"""The flat vector of parameters and what is written to a model, against models compiled from specs."""

import mujoco
import numpy as np
import pytest
from tests.engines.scenes import Scene, g1_scene, tree_scene

from haloid.engines.physics import JOINT_KINDS, LINK_KINDS, Column, Physics, inertia_basis
from haloid.robots.clamp import clamp
from haloid.robots.inertia import LinkParameters, write_links
from haloid.robots.load import load_spec

MASS_AND_BIAS = ("dof_invweight0", "body_invweight0", "dof_M0", "body_subtreemass", "dof_damping", "dof_armature")


def test_columns_are_named_by_owner_kind_and_component():
    assert Column("com", "torso_link", "x").name == "torso_link.com.x"
    assert Column("mass", "torso_link").name == "torso_link.mass"
    assert Column("damping", "left_knee_joint").name == "left_knee_joint.damping"
    assert Column("delay").name == "delay"


def test_nominal_physics_are_the_models_own_values():
    spec = clamp(load_spec("g1"), "left_ankle_roll_link")
    model = spec.compile()
    physics = Physics.of_model(model)
    assert physics.joints == tuple(model.joint(i).name for i in range(model.njnt))
    assert physics.links == tuple(model.body(i).name for i in range(1, model.nbody))
    knee = model.joint("left_knee_joint").dofadr[0]
    assert physics.joints[knee] == "left_knee_joint" and physics.joint_index("left_knee_joint") == knee
    np.testing.assert_array_equal(physics.armature, model.dof_armature)
    torso = physics.link("torso_link")
    assert torso.mass_kg == model.body("torso_link").mass[0] == physics.mass[physics.link_index("torso_link")]
    np.testing.assert_array_equal(torso.com_in_link_m, model.body("torso_link").ipos)
    for kind, neutral in {"kp": 1, "kd": 1, "strength": 1, "bias": 0}.items():
        np.testing.assert_array_equal(getattr(physics, kind), np.full(model.nv, neutral))
    assert physics.delay == 0


@pytest.fixture(scope="module")
def scene() -> Scene:
    return tree_scene(2)


def test_values_are_put_where_they_were_taken(scene):
    columns = scene.columns()
    physics = scene.physics
    values = physics.values(columns)
    assert len(values) == len(physics.links) * 10 + len(physics.joints) * len(JOINT_KINDS) + 1
    other = values + np.arange(len(values))
    changed = physics.with_values(columns, other)
    np.testing.assert_array_equal(changed.values(columns), other)
    np.testing.assert_array_equal(physics.values(columns), values)
    for i, column in enumerate(columns):
        one = physics.with_values([column], other[i : i + 1])
        differs = one.values(columns) != values
        assert list(np.flatnonzero(differs)) == ([i] if i else [])
    assert isinstance(changed.delay, float)


@pytest.mark.parametrize("component", LINK_KINDS["inertia"])
def test_an_inertia_component_keeps_the_matrix_symmetric(scene, component):
    link = scene.physics.links[1]
    before = scene.physics.link(link).inertia_about_com
    column = Column("inertia", link, component)
    after = scene.physics.with_values([column], scene.physics.values([column]) + 0.5).link(link).inertia_about_com
    np.testing.assert_allclose(after - before, 0.5 * inertia_basis(component), rtol=0, atol=1e-15)
    np.testing.assert_array_equal(after, after.T)
    row, column_of_matrix = ("xyz".index(axis) for axis in component)
    assert after[row, column_of_matrix] == scene.physics.values([column])[0] + 0.5


@pytest.mark.parametrize("made", [g1_scene, *(lambda seed=seed: tree_scene(seed) for seed in (1, 2, 4))])
def test_written_physics_are_those_of_a_compiled_spec(made):
    scene = made()
    physics, spec = scene.physics, scene.spec.copy()
    links = zip(physics.links, physics.mass, physics.com, physics.inertia, strict=True)
    write_links(spec, {name: LinkParameters(mass, com, inertia) for name, mass, com, inertia in links})
    for i, name in enumerate(physics.joints):
        joint = spec.joint(name)
        joint.damping[0], joint.frictionloss = physics.damping[i], physics.frictionloss[i]
        joint.armature = physics.armature[i]
    expected = spec.compile()
    found = scene.simulator.with_physics(physics)
    for field in (*MASS_AND_BIAS, "dof_frictionloss", "body_mass", "body_ipos"):
        np.testing.assert_allclose(getattr(found, field), getattr(expected, field), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(*dynamics(found, expected), rtol=1e-10, atol=1e-10)
    assert not np.allclose(*dynamics(scene.simulator.model, found))


def dynamics(*models: mujoco.MjModel) -> list[np.ndarray]:
    """Bias and the action of the mass matrix at one state, for each model."""
    rng = np.random.default_rng(7)
    q, v, a = rng.normal(size=(3, models[0].nv))
    out = []
    for model in models:
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(model, data)
        product = np.zeros(model.nv)
        mujoco.mj_mulM(model, data, product, a)
        out.append(np.concatenate([data.qfrc_bias, product]))
    return out
