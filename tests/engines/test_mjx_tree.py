"""Trees in JAX against MuJoCo C: poses, mass matrix and bias forces, with all its joints a body and welded links."""

import mujoco
import numpy as np
import pytest
from tests.engines.scenes import without_the_room
from tests.random_trees import mjcf, tree_plan

jax = pytest.importorskip("jax")
pytest.importorskip("mujoco.mjx")

from haloid.engines.mjx_tree import Tree, moments  # noqa: E402
from haloid.robots.clamp import clamp  # noqa: E402


@pytest.mark.parametrize("seed", [3, 8])
def test_a_random_tree_is_mujocos(seed: int):
    spec = without_the_room(mujoco.MjSpec.from_string(mjcf(tree_plan(seed), couplings=False)))
    model = clamp(spec, "link2").compile()
    model.dof_armature[:] = 0.0
    rng = np.random.default_rng(seed)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = rng.standard_normal((2, model.nv))
    mujoco.mj_forward(model, data)
    mass, bias = np.empty((model.nv, model.nv)), np.empty(model.nv)
    mujoco.mj_fullM(model, data, mass)
    data.qacc[:] = 0.0
    mujoco.mj_rne(model, data, 0, bias)
    turn = np.empty((model.nbody, 9))
    for body in range(model.nbody):
        mujoco.mju_quat2Mat(turn[body], model.body_iquat[body])
    turn = turn.reshape(-1, 3, 3)
    inertia = turn * model.body_inertia[:, None, :] @ turn.swapaxes(1, 2)
    with jax.enable_x64(True):
        tree = Tree.of(model)
        placed = tree.place(jax.numpy.array(data.qpos))
        bodies = moments(placed, jax.numpy.array(model.body_mass), model.body_ipos, inertia)
        np.testing.assert_allclose(placed.origin_w, data.xpos, atol=1e-12)
        np.testing.assert_allclose(placed.turn_w, data.xmat.reshape(-1, 3, 3), atol=1e-12)
        np.testing.assert_allclose(tree.mass_matrix(placed, bodies), mass, atol=1e-10 * np.abs(mass).max())
        found = tree.bias_force(placed, bodies, jax.numpy.array(data.qvel), model.opt.gravity)
        np.testing.assert_allclose(found, bias, atol=1e-10 * np.abs(bias).max())
