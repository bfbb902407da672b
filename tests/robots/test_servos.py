"""Servos and motors: the torque law, effort limits, order, and what hung on the actuators they replace."""

import mujoco
import numpy as np
import pytest

from haloid.errors import HaloidError
from haloid.robots.description import describe
from haloid.robots.load import actuated_joints, load_spec
from haloid.robots.servos import model_gains, set_motors, set_servos

TWO_LINKS = """
<mujoco>
  <option timestep="0.005" integrator="implicitfast"/>
  <default><general {}/></default>
  <worldbody>
    <body><freejoint/><geom size="1" contype="0"/>
      <body><joint name="a" actuatorfrcrange="-20 20"/><geom size="0.1" contype="0"/>
        <body pos="1 0 0"><joint name="b" axis="0 1 0"/><geom size="0.1" contype="0"/></body>
      </body>
    </body>
  </worldbody>
  <actuator>{}</actuator>
  <sensor>{}</sensor>
  <keyframe><key name="bent" qpos="0 0 0 1 0 0 0 0.1 0.2"/></keyframe>
</mujoco>
"""


def two_links(actuators: str = "", sensors: str = "", default: str = "") -> mujoco.MjSpec:
    return mujoco.MjSpec.from_string(TWO_LINKS.format(default, actuators, sensors))


def torques(model: mujoco.MjModel, q, dq, ctrl) -> np.ndarray:
    data = mujoco.MjData(model)
    data.qpos[7:], data.qvel[6:], data.ctrl[:] = q, dq, ctrl
    mujoco.mj_forward(model, data)
    return data.qfrc_actuator[6:].copy()


def test_a_servo_follows_its_law_in_model_order():
    spec = two_links()
    set_servos(spec, {"b": 50.0, "a": 30.0}, {"a": 3.0, "b": 5.0})
    model = spec.compile()
    assert [model.actuator(i).name for i in range(model.nu)] == ["a", "b"]
    tau_nm = torques(model, q=[0.1, 0.2], dq=[1.0, -1.0], ctrl=[0.3, 2.0])
    np.testing.assert_allclose(tau_nm, [30 * 0.2 - 3, 50 * 1.8 + 5], rtol=1e-12)


def test_the_files_default_class_does_not_reach_the_servos():
    spec = two_links(
        default='gear="9" ctrlrange="-1 1" forcerange="-1 1" armature="5" damping="5" dyntype="filter" '
        'gaintype="affine" gainprm="7 8 9" biastype="affine" biasprm="7 8 9"'
    )
    set_servos(spec, {"b": 50.0}, {"b": 5.0})
    model = spec.compile()
    assert torques(model, q=[0.1, 0.2], dq=[1.0, -1.0], ctrl=[2.0])[1] == pytest.approx(50 * 1.8 + 5)
    assert not model.actuator_ctrllimited.any() and model.na == 0
    assert not model.dof_armature.any() and not model.dof_damping.any()


def test_a_motor_passes_torque_up_to_the_limit():
    spec = two_links('<motor joint="b" gear="2"/>')
    set_motors(spec, ["b", "a"])
    model = spec.compile()
    np.testing.assert_allclose(torques(model, [0, 0], [5, 5], [-70.0, 1.5]), [-20.0, 1.5])


@pytest.mark.parametrize(
    ("actuator", "limit_nm"),
    [
        ("", (-20, 20)),
        ('<general joint="a" forcerange="-30 12"/>', (-20, 12)),
        ('<general joint="a" gear="-2" forcerange="-3 4"/>', (-8, 6)),
        ('<motor joint="a" gear="2" ctrlrange="-5 5"/>', (-10, 10)),
        ('<general joint="a" forcerange="-1 1" forcelimited="false"/>', (-20, 20)),
    ],
)
def test_the_tightest_effort_limit_moves_from_joint_to_actuator(actuator, limit_nm):
    spec = two_links(actuator)
    set_servos(spec, {"a": 1.0}, {"a": 1.0})
    model = spec.compile()
    assert tuple(model.actuator("a").forcerange) == limit_nm
    assert model.actuator("a").forcelimited
    assert not model.jnt_actfrclimited.any()


def test_a_joint_without_a_limit_gets_an_unlimited_servo():
    spec = two_links()
    set_servos(spec, {"b": 1e4}, {"b": 0.0})
    model = spec.compile()
    assert not model.actuator("b").forcelimited
    assert torques(model, [0, 0], [0, 0], [1.0])[1] == pytest.approx(1e4)


def test_setting_servos_twice_keeps_the_limits():
    spec = load_spec("g1")
    limits_nm = {j.name: tuple(j.actfrcrange) for j in spec.joints}
    for name in ("mjlab", "stiff"):
        gains = describe("g1").gain_set(name)
        set_servos(spec, gains.kp, gains.kd)
    model = spec.compile()
    assert actuated_joints(model) == tuple(model.actuator(i).name for i in range(29)) == tuple(gains.kp)
    for joint in gains.kp:
        assert tuple(model.actuator(joint).forcerange) == limits_nm[joint]
    np.testing.assert_array_equal(model.actuator_gainprm[:, 0], list(gains.kp.values()))


def test_a_saturated_servo_has_no_velocity_derivative():
    """Far from its target the joint accelerates by effort / inertia, whatever kd: implicitfast adds no damping."""
    speeds_rad_s = []
    for kd in (0.0, 50.0):
        spec = mujoco.MjSpec.from_string(
            "<mujoco><option gravity='0 0 0' integrator='implicitfast'/><worldbody><body>"
            "<joint name='j' actuatorfrcrange='-2 2'/><inertial mass='1' pos='0 0 0' diaginertia='1 1 1'/>"
            "</body></worldbody></mujoco>"
        )
        set_servos(spec, {"j": 1e4}, {"j": kd})
        model = spec.compile()
        data = mujoco.MjData(model)
        data.ctrl[:] = 1.0
        mujoco.mj_step(model, data, 10)
        speeds_rad_s.append(data.qvel[0])
    assert speeds_rad_s == pytest.approx([10 * model.opt.timestep * 2.0] * 2, rel=1e-12)


def test_rotor_inertia_and_damping_of_a_replaced_actuator_stay_with_the_joint():
    spec = two_links('<general joint="a" gear="3" armature="0.5" damping="0.2"/>')
    before = spec.compile()
    set_motors(spec, ["a"])
    after = spec.compile()
    inertias, passive_nm = [], []
    for model in (before, after):
        data = mujoco.MjData(model)
        data.qvel[6] = 1.0
        mujoco.mj_forward(model, data)
        mass_matrix = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, mass_matrix)
        inertias.append(mass_matrix)
        passive_nm.append(data.qfrc_passive.copy())
    np.testing.assert_allclose(inertias[1], inertias[0], rtol=1e-12)
    np.testing.assert_allclose(passive_nm[1], passive_nm[0], rtol=1e-12)
    assert passive_nm[0][6] == pytest.approx(-1.8)


def test_sensors_of_vanished_actuators_go_and_of_renewed_ones_stay():
    spec = two_links(
        '<motor name="a" joint="a"/><motor name="old" joint="b"/>',
        '<actuatorfrc name="kept" actuator="a"/><actuatorfrc name="gone" actuator="old"/>'
        '<jointpos name="q" joint="b"/>',
    )
    set_servos(spec, {"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 1.0})
    model = spec.compile()
    assert [model.sensor(i).name for i in range(model.nsensor)] == ["kept", "q"]


def test_keyframes_hold_their_posture_with_servos_and_nothing_with_motors():
    spec = two_links('<intvelocity name="v" joint="b" actrange="-1 1"/>')
    spec.keys[0].ctrl, spec.keys[0].act = [0.7], [0.3]
    set_servos(spec, {"b": 1.0, "a": 1.0}, {"a": 1.0, "b": 1.0})
    assert list(spec.compile().key("bent").ctrl) == [0.1, 0.2]
    set_motors(spec, ["b"])
    assert list(spec.compile().key("bent").ctrl) == [0.0]


def test_unknown_joint_names_its_near_miss():
    gains = {"left_kneee_joint": 1.0}
    with pytest.raises(HaloidError) as error:
        set_servos(load_spec("g1"), gains, gains)
    assert "no hinge or slide joint 'left_kneee_joint'. Did you mean 'left_knee_joint'?" in str(error.value)
    with pytest.raises(HaloidError, match="no hinge or slide joint 'floating_base_joint'"):
        set_motors(load_spec("g1"), ["floating_base_joint"])


def test_unequal_gains_say_which_joint_lacks_what():
    with pytest.raises(HaloidError) as error:
        set_servos(two_links(), {"a": 1.0}, {"b": 1.0})
    assert "Only in kp: a; only in kd: b." in str(error.value)


def test_a_files_damping_ratio_is_the_damping_that_mujoco_makes_of_it():
    servos = '<position joint="b" kp="9" dampratio="1"/><position joint="a" kp="4" kv="0.5"/>'
    spec = two_links(f'<motor joint="a"/>{servos}')
    gains, model = model_gains(spec), spec.compile()
    assert gains.kp == {"b": 9.0, "a": 4.0}
    assert gains.kd == pytest.approx({"b": 2 * np.sqrt(9 * model.dof_M0[7]), "a": 0.5})
