"""Derivatives of inverse dynamics by the links' parameters against differences and against Pinocchio's regressor."""

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from tests.engines.scenes import Scene, g1_scene, tree_scene

from haloid.engines.link_forces import LinkForces
from haloid.engines.physics import LINK_KINDS, Column, Physics
from haloid.engines.rigid_body import RigidBodyTree


def every_part(links) -> list[Column]:
    return [Column(kind, link, c) for link in links for kind, parts in LINK_KINDS.items() for c in parts]


def motions(model: mujoco.MjModel, count: int = 1) -> np.ndarray:
    """(3, count, n) q, v and a."""
    return np.random.default_rng(0).normal(size=(3, count, model.nv))


def by_column(scene: Scene, columns: list[Column], q, v, a, **gravity: bool) -> np.ndarray:
    """(T, n, P), zero where a column is not a moving link's."""
    links = LinkForces(scene.simulator.model, scene.physics, columns)
    found = np.zeros((*q.shape, len(columns)))
    found[..., links.columns] = links.torques(links.kinematics(q), v, a, **gravity)
    return found


@pytest.fixture(params=[2, 4, 5, None], ids=["tree 2", "tree 4", "tree 5", "g1"])
def scene(request) -> Scene:
    return g1_scene() if request.param is None else tree_scene(request.param)


def test_torques_by_links_are_differences_of_inverse_dynamics(scene):
    tree, physics = RigidBodyTree(scene.simulator.model), scene.physics
    links = physics.links[:2] + physics.links[-5:]
    columns = every_part(links)
    columns.remove(Column("mass", links[-1]))  # links need not bring the same number of columns
    q, v, a = motions(scene.simulator.model)

    def torque(changed: Physics) -> np.ndarray:
        tree.set_inertias(changed)
        return pin.rnea(tree.tree, tree.data, q[0] - tree.reference_q, v[0], a[0]).copy()

    expected = np.empty((q.shape[1], len(columns)))
    for i, column in enumerate(columns):
        smallest = np.linalg.eigvalsh(physics.link(column.owner).inertia_about_com)[0]
        nudge = {"mass": 1e-3, "com": 1e-4, "inertia": 0.1 * smallest}[column.kind]
        up, down = (physics.with_values([column], physics.values([column]) + step) for step in (nudge, -nudge))
        expected[:, i] = (torque(up) - torque(down)) / (2 * nudge)
    found = by_column(scene, columns, q, v, a)[0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    clamped = [i for i, column in enumerate(columns) if column.owner == physics.links[0]]
    assert np.all(found[:, clamped] == 0) and np.any(found != 0)


def test_torques_by_mass_are_pinocchios_regressor_times_mass_and_moment(scene):
    """The torque is linear in (m, m c, inertia about the origin), so Pinocchio's regressor tells its slope exactly."""
    tree, physics = RigidBodyTree(scene.simulator.model), scene.physics
    tree.set_inertias(physics)
    q, v, a = motions(scene.simulator.model)
    columns = [Column("mass", link) for link in physics.links]
    regressor = pin.computeJointTorqueRegressor(tree.tree, tree.data, q[0] - tree.reference_q, v[0], a[0])
    dynamic = np.concatenate([tree.tree.inertias[j].toDynamicParameters() for j in range(1, tree.tree.njoints)])
    by_part = by_column(scene, every_part(physics.links), q, v, a)[0]
    values = physics.values(every_part(physics.links))
    kinds = np.array([column.kind for column in every_part(physics.links)])
    linear = by_column(scene, columns, q, v, a)[0] @ physics.mass
    linear += by_part[:, kinds == "inertia"] @ values[kinds == "inertia"]
    np.testing.assert_allclose(linear, regressor @ dynamic, rtol=0, atol=1e-11 * np.abs(linear).max())


def test_many_states_are_the_single_states(scene):
    columns = every_part(scene.physics.links)
    q, v, a = motions(scene.simulator.model, 3)
    together = by_column(scene, columns, q, v, a)
    for t in range(3):
        alone = by_column(scene, columns, q[t : t + 1], v[t : t + 1], a[t : t + 1])
        np.testing.assert_allclose(together[t], alone[0], rtol=0, atol=1e-12 * np.abs(alone).max())


def test_columns_may_be_scattered_and_in_any_order(scene):
    columns = every_part(scene.physics.links)
    scattered = [columns[-2], Column("damping", scene.physics.joints[0]), columns[-7], columns[-10], columns[-1]]
    q, v, a = motions(scene.simulator.model)
    whole, some = by_column(scene, columns, q, v, a), by_column(scene, scattered, q, v, a)
    expected = whole[..., [columns.index(column) for column in scattered if column in columns]]
    np.testing.assert_allclose(some[..., [0, 2, 3, 4]], expected, rtol=0, atol=1e-12 * np.abs(whole).max())
    assert np.all(some[..., 1] == 0)


def test_without_gravity_a_robot_at_rest_needs_no_torque(scene):
    columns = every_part(scene.physics.links)
    q, _, _ = motions(scene.simulator.model)
    rest = np.zeros_like(q)
    assert np.all(by_column(scene, columns, q, rest, rest, gravity=False) == 0)
    assert np.any(by_column(scene, columns, q, rest, rest) != 0)


def test_joints_alone_have_no_links(scene):
    columns = [Column("damping", joint) for joint in scene.physics.joints]
    assert not LinkForces(scene.simulator.model, scene.physics, [*columns, Column("mass", scene.physics.links[0])])
    assert LinkForces(scene.simulator.model, scene.physics, [*columns, Column("mass", scene.physics.links[-1])])
