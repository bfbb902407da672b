"""Rollouts from written arrays and `mujoco.rollout`, against `mj_step` on compiled specs."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from tests.engines.scenes import Scene, g1_scene, step_plainly, tree_scene

from haloid.engines.simulate import Simulator, delay_slope
from haloid.errors import HaloidError
from haloid.robots.clamp import clamp
from haloid.robots.load import load_spec
from haloid.robots.servos import set_servos

MODES = {"servos": {}, "varying gains": {"gains_vary": True}, "torques": {"torque": True}}


def readings(scene: Scene) -> np.ndarray:
    run = scene.simulator.run(scene.physics, scene.fragments, scene.q0, scene.v0)
    return run.q[:, :: scene.fragments.substeps] + scene.physics.bias


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(6))
def test_rollouts_of_random_trees_are_mj_steps(mode, seed):
    scene = tree_scene(seed, **MODES[mode])
    expected = step_plainly(scene, scene.physics, scene.q0, scene.v0).readings
    np.testing.assert_allclose(readings(scene), expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("link", ["left_ankle_roll_link", "pelvis"])
def test_rollouts_of_the_g1_are_mj_steps(mode, link):
    scene = g1_scene(link=link, **MODES[mode])
    expected = step_plainly(scene, scene.physics, scene.q0, scene.v0).readings
    np.testing.assert_allclose(readings(scene), expected, rtol=0, atol=1e-9)


def test_velocities_and_inputs_come_with_the_positions():
    scene = tree_scene(1)
    run = scene.simulator.run(scene.physics, scene.fragments, scene.q0, scene.v0)
    steps = scene.fragments.rows * scene.fragments.substeps
    assert run.q.shape[1] == run.v.shape[1] == steps + 1 and run.inputs.shape[1] == steps
    np.testing.assert_array_equal(run.q[:, 0], scene.q0 - scene.physics.bias)
    np.testing.assert_array_equal(run.v[:, 0], scene.v0)
    h = scene.fragments.timestep_s
    np.testing.assert_allclose(run.q[:, 1:], run.q[:, :-1] + h * run.v[:, 1:], rtol=0, atol=1e-13)


@pytest.mark.parametrize("mode", MODES)
def test_many_runs_are_the_single_runs(mode):
    scene = tree_scene(3, **MODES[mode])
    others = [scene.physics, scene.simulator.nominal, replace(scene.physics, delay=0.012)]
    q0, v0 = (np.stack([state, state + 0.01, state - 0.02]) for state in (scene.q0, scene.v0))
    runs = scene.simulator.run_many(others, scene.fragments, q0, v0)
    for physics, run, q, v in zip(others, runs, q0, v0, strict=True):
        single = scene.simulator.run(physics, scene.fragments, q, v)
        for field in ("q", "v", "inputs"):
            np.testing.assert_allclose(getattr(run, field), getattr(single, field), rtol=0, atol=1e-12)


def test_a_run_leaves_nothing_behind():
    scene = tree_scene(3)
    first = readings(scene)
    scene.simulator.run(replace(scene.physics, mass=2 * scene.physics.mass), scene.fragments, scene.q0, scene.v0)
    np.testing.assert_array_equal(readings(scene), first)
    scene.simulator.use_one_thread()
    np.testing.assert_array_equal(readings(scene), first)


@pytest.mark.parametrize("delay_s", [0.0, 0.0031, 0.005, 0.0239, 0.041])
@pytest.mark.parametrize("mode", ["servos", "torques"])
def test_delay_slope_is_the_derivative_of_the_inputs(delay_s, mode):
    scene = tree_scene(1, **MODES[mode])
    late, later = (
        scene.simulator.inputs(replace(scene.physics, delay=delay), scene.fragments)
        for delay in (delay_s, delay_s + 1e-5)
    )
    expected = (later - late) / 1e-5
    np.testing.assert_allclose(delay_slope(scene.fragments, delay_s), expected, rtol=0, atol=1e-7)
    assert np.any(expected != 0)


RAIL = """
<mujoco>
  <worldbody>
    <body name="cart">
      <joint name="rail" type="slide" axis="1 0 0"/><joint name="wheel" axis="0 0 1"/><geom size=".1"/>
    </body>
  </worldbody>
  <actuator><position joint="rail" kp="50" kv="5"/><position joint="wheel" kp="5" kv=".5"/></actuator>
</mujoco>"""


def test_a_body_that_mujoco_would_simplify_can_take_any_centre_of_mass():
    """Its mass matrix is diagonal as long as the centre of mass is the origin, and MuJoCo stores no more then."""
    spec = mujoco.MjSpec.from_string(RAIL)
    assert spec.compile().body("cart").simple[0] == 1
    simulator = Simulator(spec, 0.005)
    model = simulator.with_physics(replace(simulator.nominal, com=np.array([[0.0, 0.05, 0.0]])))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    mass = np.empty((2, 2))
    mujoco.mj_fullM(model, data, mass)
    assert mass[0, 1] == pytest.approx(-0.05 * model.body("cart").mass[0])


def test_contacts_act_only_with_contact_and_limits_never():
    spec = load_spec("g1")
    set_servos(spec, *({joint.name: gain for joint in spec.joints if joint.range[1]} for gain in (100.0, 5.0)))
    spec = clamp(spec, "left_ankle_roll_link")
    contact, limit = int(mujoco.mjtDisableBit.mjDSBL_CONTACT), int(mujoco.mjtDisableBit.mjDSBL_LIMIT)
    assert Simulator(spec, 0.005).model.opt.disableflags & (contact | limit) == contact | limit
    assert Simulator(spec, 0.005, contact=True).model.opt.disableflags & (contact | limit) == limit


def words(text: str) -> str:
    with pytest.raises(HaloidError) as caught:
        Simulator(mujoco.MjSpec.from_string(text), 0.005)
    return str(caught.value)


def test_words_for_robots_that_cannot_be_simulated():
    floating = RAIL.replace('<joint name="rail" type="slide" axis="1 0 0"/>', '<freejoint name="float"/>')
    floating = floating.replace('<joint name="wheel" axis="0 0 1"/>', "").partition("<actuator>")[0] + "</mujoco>"
    assert words(floating) == (
        "joint 'float' is neither a hinge nor a slide; the clamped robot must consist of hinge and slide joints "
        "(is a clamp missing in the recording?)"
    )
    assert words(RAIL.replace('<position joint="wheel" kp="5" kv=".5"/>', "")) == (
        "no recorded command drives these joints: wheel. Record a command for every joint, or remove the joint from "
        "the robot's file if it cannot move"
    )
    assert words(RAIL.replace('kv="5"', 'kv="5" forcerange="-3 7"')) == (
        "the effort of joint 'rail' is limited to -3 to 7 N·m; expected the same limit both ways. "
        "Give it one in the robot's file"
    )


def test_a_tendons_drive_drives_no_joint():
    tendon = '<tendon><fixed name="belt"><joint joint="rail" coef="1"/></fixed></tendon>'
    text = RAIL.replace('<position joint="rail"', '<position tendon="belt"').replace(
        "<actuator>", tendon + "<actuator>"
    )
    assert words(text).startswith("no recorded command drives these joints: rail. ")
