"""Differences of MuJoCo rollouts: of known trajectories, at the edge of what parameters may be, and with a floor."""

import mujoco
import numpy as np
import pytest
from tests.engines.scenes import step_plainly, tree_scene

from haloid.engines.finite_difference import FiniteDifferenceEngine
from haloid.engines.fragments import Fragments
from haloid.engines.physics import Column
from haloid.engines.simulate import Simulator
from haloid.robots.clamp import clamp
from haloid.robots.description import describe
from haloid.robots.floor import add_floor
from haloid.robots.load import load_spec
from haloid.robots.servos import set_servos

CART = """
<mujoco>
  <option gravity="0 0 0"/>
  <worldbody>
    <body name="cart"><joint name="rail" type="slide" axis="1 0 0"/><geom size=".1" mass="2"/></body>
  </worldbody>
  <actuator><motor joint="rail"/></actuator>
</mujoco>"""


def still_fragments(n: int, rows: int, inputs: np.ndarray, *, torque: bool, kp=0.0, kd=0.0) -> Fragments:
    return Fragments(
        control_dt_s=0.02,
        timestep_s=0.005,
        torque_mode=torque,
        readings=np.zeros((1, rows + 1, n)),
        velocities=None,
        inputs=np.broadcast_to(inputs, (1, 3 + rows, n)).copy(),
        kp=np.broadcast_to(kp, n),
        kd=np.broadcast_to(kd, n),
        history=3,
        recording_index=np.zeros(1, int),
        start_row=np.zeros(1, int),
    )


def test_a_pushed_cart_moves_and_differs_as_newton_says():
    """x after k steps of h = h²·F/m·k(k + 1)/2 and h·k·v, in MuJoCo's semi-implicit steps."""
    engine = FiniteDifferenceEngine(Simulator(mujoco.MjSpec.from_string(CART), 0.005))
    fragments = still_fragments(1, 3, np.array([5.0]), torque=True)
    zero = np.zeros((1, 1))
    columns = [
        Column("mass", "cart"),
        Column("strength", "rail"),
        Column("armature", "rail"),
        Column("com", "cart", "y"),
    ]
    found = engine.jacobian(engine.simulator.nominal, columns, fragments, zero, zero)
    k = 4.0 * np.arange(4)
    way = 0.005**2 * 2.5 * k * (k + 1) / 2
    np.testing.assert_allclose(found.readings[0, :, 0], way, rtol=0, atol=1e-14)
    np.testing.assert_allclose(found.by_parameter[0, :, 0, 0], -way / 2, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.by_parameter[0, :, 0, 1], way, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.by_parameter[0, :, 0, 2], -way / 2, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.by_parameter[0, :, 0, 3], 0, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.by_state[0, :, 0], np.stack([np.ones(4), 0.005 * k], axis=1), rtol=0, atol=1e-8)


@pytest.mark.parametrize("kind", ["delay", "frictionloss", "damping"])
def test_at_zero_only_physical_values_are_tried(kind):
    scene = tree_scene(2)
    column = Column(kind, "" if kind == "delay" else scene.physics.joints[1])
    physics, more = (scene.physics.with_values([column], np.array([value])) for value in (0.0, 1e-6))
    engine = FiniteDifferenceEngine(scene.simulator)
    found = engine.jacobian(physics, [column], scene.fragments, scene.q0, scene.v0).by_parameter[..., 0]
    ends = [step_plainly(scene, p, scene.q0, scene.v0).readings for p in (more, physics)]
    np.testing.assert_allclose(found, (ends[0] - ends[1]) / 1e-6, rtol=0, atol=1e-6)
    assert np.abs(found).max() > 1e-4


def test_many_columns_are_the_single_columns(monkeypatch):
    """Columns go through MuJoCo in batches; where one ends must not matter."""
    scene = tree_scene(0)
    columns = scene.columns()[::5]
    arguments = (scene.physics, columns, scene.fragments, scene.q0, scene.v0)
    engine = FiniteDifferenceEngine(scene.simulator)
    whole = engine.jacobian(*arguments)
    monkeypatch.setattr("haloid.engines.finite_difference._BATCH", 12)
    batched = engine.jacobian(*arguments)
    np.testing.assert_array_equal(batched.by_parameter, whole.by_parameter)
    np.testing.assert_array_equal(batched.by_state, whole.by_state)


@pytest.fixture(scope="module")
def standing() -> tuple[Simulator, Fragments, np.ndarray]:
    """The G1 on its clamped left foot; that leg bends and the straight right one is pressed on the floor."""
    spec, gains = load_spec("g1"), describe("g1").gain_set("stiff")
    set_servos(spec, gains.kp, gains.kd)
    spec = clamp(spec, "left_ankle_roll_link")
    add_floor(spec, "left_ankle_roll_link")
    simulator = Simulator(spec, 0.005, contact=True)
    joints = simulator.dof_joints
    kp, kd = (np.array([by_name[joint] for joint in joints]) for by_name in (gains.kp, gains.kd))
    bent = {"left_hip_pitch_joint": -0.1, "left_knee_joint": 0.2, "left_ankle_pitch_joint": -0.1}
    targets = np.array([bent.get(joint, 0.0) for joint in joints])
    return simulator, still_fragments(len(joints), 4, targets, torque=False, kp=kp, kd=kd), 0.5 * targets[None]


def test_the_free_foot_and_nothing_else_feels_the_floor(standing):
    simulator, fragments, q0 = standing
    touched = FiniteDifferenceEngine(simulator).predict(simulator.nominal, fragments, q0, 0 * q0)
    model = simulator.model
    data = mujoco.MjData(model)
    data.qpos[:] = touched[0, -1]
    mujoco.mj_forward(model, data)
    feet = {model.body(model.geom_bodyid[g]).name for contact in data.contact for g in (contact.geom1, contact.geom2)}
    assert feet == {"world", "right_ankle_roll_link"}
    assert data.qfrc_constraint[model.joint("right_knee_joint").dofadr[0]] != 0


def test_contact_can_be_differentiated(standing):
    """Against one-parameter rollouts with half the nudge: contact is smooth here, if stiff."""
    simulator, fragments, q0 = standing
    engine = FiniteDifferenceEngine(simulator)
    columns = [Column("mass", "torso_link"), Column("com", "torso_link", "x"), Column("kp", "right_knee_joint")]
    found = engine.jacobian(simulator.nominal, columns, fragments, q0, 0 * q0)
    assert np.all(np.isfinite(found.by_parameter)) and np.all(np.isfinite(found.by_state))
    for i, (column, nudge) in enumerate(zip(columns, (5e-5, 5e-6, 5e-6), strict=True)):
        values = simulator.nominal.values([column])
        ends = [
            engine.predict(simulator.nominal.with_values([column], values + step), fragments, q0, 0 * q0)
            for step in (nudge, -nudge)
        ]
        expected = (ends[0] - ends[1]) / (2 * nudge)
        np.testing.assert_allclose(found.by_parameter[..., i], expected, rtol=0, atol=1e-4 * np.abs(expected).max())
        assert np.abs(expected).max() > 1e-5
