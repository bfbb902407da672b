"""What Genesis makes of a robot, against MuJoCo and against hand-computed motion; skipped where it is not set up."""

import mujoco
import numpy as np
import pytest
from tests.lab.conftest import PENDULUM

from haloid.lab.genesis.process import GenesisMissingError, GenesisPlayer, World, genesis_python

try:
    genesis_python()
except GenesisMissingError as error:
    pytest.skip(f"needs Genesis: {error}", allow_module_level=True)

pytestmark = pytest.mark.slow

BRICK = """
<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <body name="brick" pos="0 0 5">
      <freejoint/>
      <inertial mass="3" pos="0 0 0" diaginertia="0.01 0.02 0.025"/>
      <geom type="box" size="0.1 0.1 0.1"/>
      <body name="rotor" pos="0 0 0.1">
        <inertial mass="0.5" pos="0.02 0 0" diaginertia="0.001 0.001 0.001"/>
        <joint name="hinge" axis="0 0 1" armature="0.01"/>
      </body>
    </body>
  </worldbody>
  <actuator><position name="hinge" joint="hinge" kp="2" kv="0.1"/></actuator>
</mujoco>
"""


def mujoco_states(model: mujoco.MjModel, qpos: np.ndarray, qvel: np.ndarray, target: float, steps: int):
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = qpos, qvel, target
    for _ in range(steps):
        mujoco.mj_step(model, data)
    return data.qpos, data.qvel


def test_a_driven_pendulum_moves_as_in_mujoco():
    spec = mujoco.MjSpec.from_string(PENDULUM)
    spec.option.integrator, spec.option.timestep = mujoco.mjtIntegrator.mjINT_IMPLICITFAST, 0.005
    servo = spec.add_actuator(name="hinge", target="hinge", trntype=mujoco.mjtTrn.mjTRN_JOINT, forcerange=[-12, 12])
    servo.set_to_position(kp=80, kv=4)
    model = spec.compile()
    one = np.ones(1)
    world = World(spec.to_xml(), ("hinge",), 80 * one, 4 * one, 12 * one, timestep_s=0.005)
    control = np.repeat([[0.05], [0.15], [0.1]], 60, axis=0)
    with GenesisPlayer(world) as player:
        assert player.simulator.startswith("genesis ")
        assert player.simulator.endswith("step 0.005 s")
        q_rad, dq_rad_s = player.play(np.array([0.1]), control)
    data = mujoco.MjData(model)
    data.qpos[:] = 0.1
    for row, target in enumerate(control):
        np.testing.assert_allclose(q_rad[row], data.qpos, atol=1e-6)
        np.testing.assert_allclose(dq_rad_s[row], data.qvel, atol=1e-4)
        data.ctrl[:] = target
        mujoco.mj_step(model, data)
    assert np.ptp(q_rad) > 0.05


def test_floating_states_are_mujocos():
    """Three spinning bodies in free flight, each with its own state: root, spin in its own axes, and joint."""
    model = mujoco.MjModel.from_xml_string(BRICK)
    model.opt.timestep = 0.0005
    rng = np.random.default_rng(1)
    qpos, qvel = rng.standard_normal((3, 8)), rng.standard_normal((3, 7))
    qpos[:, 2] += 9
    qpos[:, 3:7] /= np.linalg.norm(qpos[:, 3:7], axis=1, keepdims=True) * np.sign(qpos[:, 3:4])  # Genesis wants w > 0
    target = np.array([[0.3], [-0.2], [1.0]])
    one = np.ones(1)
    world = World(BRICK, ("hinge",), 2 * one, 0.1 * one, np.array([np.inf]), timestep_s=0.0005, robots=3, floor=True)
    with GenesisPlayer(world) as player:
        found_qpos, found_qvel = player.step(target, 200, (qpos, qvel))
        again_qpos, _ = player.step(target, 0)
        back_qpos, back_qvel = player.step(target, 0, (qpos, qvel))
    for row in range(3):
        wanted_qpos, wanted_qvel = mujoco_states(model, qpos[row], qvel[row], target[row, 0], 200)
        np.testing.assert_allclose(found_qpos[row], wanted_qpos, atol=2e-3)
        np.testing.assert_allclose(found_qvel[row], wanted_qvel, atol=2e-2)
        assert np.abs(found_qpos[row] - qpos[row]).max() > 0.05
    np.testing.assert_allclose(again_qpos, found_qpos, atol=1e-12)
    np.testing.assert_allclose(back_qpos, qpos, atol=1e-9)
    np.testing.assert_allclose(back_qvel, qvel, atol=1e-9)
