"""The tree in Pinocchio against MuJoCo: inverse dynamics and mass matrix."""

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from tests.engines.scenes import g1_scene, without_the_room
from tests.random_trees import mjcf, tree_plan

from haloid.engines.physics import Physics
from haloid.engines.rigid_body import RigidBodyTree
from haloid.robots.clamp import clamp


def built(model: mujoco.MjModel) -> RigidBodyTree:
    tree = RigidBodyTree(model)
    tree.set_inertias(Physics.of_model(model))
    return tree


def random_motion(model: mujoco.MjModel, seed: int = 0) -> np.ndarray:
    """q, v and a."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(3, model.nv))


def assert_same_inverse_dynamics(model: mujoco.MjModel) -> None:
    tree = built(model)
    q, v, a = random_motion(model)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qacc[:] = q, v, a
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    expected, mass = np.zeros(model.nv), np.zeros((model.nv, model.nv))
    mujoco.mj_rne(model, data, 1, expected)
    mujoco.mj_fullM(model, data, mass)
    found = pin.rnea(tree.tree, tree.data, q - tree.reference_q, v, a)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    found = pin.crba(tree.tree, tree.data, q - tree.reference_q)
    upper = np.triu_indices(model.nv)
    expected = mass - np.diag(model.dof_armature)
    np.testing.assert_allclose(found[upper], expected[upper], rtol=0, atol=1e-11 * np.abs(mass).max())


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("link", [0, -1])
def test_inverse_dynamics_of_random_trees_are_mujocos(seed, link):
    plan = tree_plan(seed)
    spec = without_the_room(mujoco.MjSpec.from_string(mjcf(plan, couplings=False)))
    assert_same_inverse_dynamics(clamp(spec, plan.links[link]).compile())


@pytest.mark.parametrize("link", ["left_ankle_roll_link", "pelvis"])
def test_inverse_dynamics_of_the_g1_are_mujocos(link):
    assert_same_inverse_dynamics(g1_scene(link=link).simulator.model)


ARM = """
<mujoco>
  <option><flag gravity="{gravity}"/></option>
  <worldbody>
    <body name="upper">
      <joint name="shoulder" axis="0 1 0"/>
      <geom size=".1" pos="0 0 .1"/>
      <body pos="0 0 .3"><geom size=".05" pos=".1 0 0"/></body>
      <body name="lower" pos="0 0 .3"><joint name="elbow" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body>
    </body>
  </worldbody>
</mujoco>"""


@pytest.mark.parametrize("gravity", ["enable", "disable"])
def test_bodies_without_a_name_and_switched_off_gravity_are_mujocos_too(gravity):
    assert_same_inverse_dynamics(mujoco.MjSpec.from_string(ARM.format(gravity=gravity)).compile())
