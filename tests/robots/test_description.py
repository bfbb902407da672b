"""What is known about robots: the shipped descriptions, a user's own yaml, and the words for what is wrong with it."""

import math
from pathlib import Path

import mujoco
import numpy as np
import pytest

from haloid.errors import HaloidError
from haloid.robots.description import Robot, carry_description, describe
from haloid.robots.entries import ENTRIES, KNOWN_ROBOTS
from haloid.robots.files.write_mjcf import write_mjcf
from haloid.robots.load import actuated_joints, load_spec

WALKER = """
<mujoco model="walker">
  <worldbody>
    <body name="trunk" pos="0 0 1">
      <freejoint name="root"/>
      <geom size=".1"/>
      <site name="imu"/>
      <body name="left_leg"><joint name="left_hip" range="-1 1"/><geom size=".05"/></body>
      <body name="right_leg"><joint name="right_hip" range="-1 1"/><geom size=".05"/></body>
    </body>
  </worldbody>
  <actuator><position joint="left_hip" kp="10" kv="1"/><position joint="right_hip" kp="10" kv="1"/></actuator>
  <keyframe><key qpos="0 0 1 1 0 0 0 .1 .2" ctrl=".1 .2"/></keyframe>
</mujoco>
"""


def walker(folder: Path, yaml: str | None = None) -> Path:
    (folder / "walker.xml").write_text(WALKER)
    if yaml is not None:
        (folder / "walker.yaml").write_text(yaml)
    return folder / "walker.xml"


def words(folder: Path, yaml: str) -> str:
    with pytest.raises(HaloidError) as error:
        describe(walker(folder, yaml))
    return str(error.value)


@pytest.mark.parametrize("name", KNOWN_ROBOTS)
def test_shipped_descriptions_agree_with_their_models(name):
    robot = describe(name)
    model = load_spec(name).compile()
    assert robot.title and robot.name == name
    assert set(actuated_joints(model)) <= set(robot.joints)
    bodies = {model.body(i).name for i in range(model.nbody)}
    links = {*robot.payload_links, *robot.feet.values(), *robot.hands.values(), *robot.tracked_links}
    assert links | {link for link in (robot.clamp, robot.anchor) if link} <= bodies
    for leg in robot.legs.values():
        addresses = [model.joint(joint).qposadr[0] for joint in leg]
        assert addresses == sorted(addresses)
    for pose in (robot.standing_pose, robot.excitation_pose):
        for joint, angle in pose.items():
            low, high = model.joint(joint).range
            assert low <= angle <= high, joint
    for gains in robot.gains.values():
        assert tuple(gains.kp) == tuple(gains.kd) == actuated_joints(model)
        assert min(gains.kp.values()) > 0 and min(gains.kd.values()) > 0
        for joint in gains.kp:
            assert gains.kp[joint] == gains.kp.get(joint.replace("left_", "right_"), gains.kp[joint])
    assert set(robot.joints) <= set(robot.motor_order) or not robot.motor_order


def test_standing_poses_are_mirrored():
    for name in KNOWN_ROBOTS:
        pose, model = describe(name).standing_pose, load_spec(name).compile()
        for joint, angle in pose.items():
            sign = 1 if abs(model.joint(joint).axis[1]) > 0.5 else -1
            other = joint.replace("left_", "right_")
            assert pose[other] == (angle if other == joint else sign * angle)


def test_mjlab_gains_of_the_g1_follow_from_the_armatures():
    model, gains = load_spec("g1").compile(), describe("g1").gain_set("mjlab")
    omega_rad_s = 2 * math.pi * 10
    for joint in gains.kp:
        armature = model.dof_armature[model.joint(joint).dofadr[0]]
        assert gains.kp[joint] == pytest.approx(armature * omega_rad_s**2, rel=1e-12)
        assert gains.kd[joint] == pytest.approx(4 * armature * omega_rad_s, rel=1e-12)
    assert gains.kp["left_knee_joint"] == pytest.approx(99.098, abs=1e-3)
    assert gains.kd["left_knee_joint"] == pytest.approx(6.309, abs=1e-3)


@pytest.mark.parametrize(
    ("name", "joint", "kp", "kd"),
    [
        ("unitree", "left_hip_yaw_joint", 100, 2),
        ("unitree", "right_knee_joint", 150, 4),
        ("unitree", "waist_yaw_joint", 200, 5),
        ("unitree", "waist_pitch_joint", 40, 5),
        ("unitree", "left_ankle_roll_joint", 40, 2),
        ("unitree", "right_wrist_yaw_joint", 40, 1),
        ("stiff", "left_ankle_pitch_joint", 800, 40),
        ("stiff", "left_knee_joint", 600, 30),
        ("stiff", "waist_roll_joint", 500, 25),
        ("stiff", "right_elbow_joint", 100, 5),
    ],
)
def test_gains_of_the_g1(name, joint, kp, kd):
    gains = describe("g1").gain_set(name)
    assert (gains.kp[joint], gains.kd[joint]) == (kp, kd)


def test_unknown_gain_set_lists_the_valid_ones(tmp_path):
    with pytest.raises(HaloidError) as error:
        describe("g1").gain_set("soft")
    assert "No gain set 'soft' for the robot 'g1'. Available: mjlab, model, stiff, unitree." in str(error.value)
    assert describe(walker(tmp_path)).gain_set("model").kp == {"left_hip": 10.0, "right_hip": 10.0}
    with pytest.raises(HaloidError, match=r"Available: model\. Others go into `gains` of .*walker.yaml"):
        describe(walker(tmp_path)).gain_set("stiff")


def test_the_23_joint_g1_is_the_other_without_six_joints():
    whole, fewer = load_spec("g1").compile(), load_spec("g1-23").compile()
    g1, less = describe("g1"), describe("g1-23")
    assert less.joints == tuple(j for i, j in enumerate(g1.motor_order) if i not in (13, 14, 20, 21, 27, 28))
    assert (fewer.nu, fewer.nv, fewer.nbody) == (23, 29, whole.nbody)
    assert fewer.body_mass.sum() == pytest.approx(whole.body_mass.sum(), rel=1e-12)
    data, full = mujoco.MjData(fewer), mujoco.MjData(whole)
    rng = np.random.default_rng(0)
    for joint in less.joints:
        data.joint(joint).qpos = full.joint(joint).qpos = rng.uniform(-1, 1)
    for model, state in ((fewer, data), (whole, full)):
        mujoco.mj_forward(model, state)
    np.testing.assert_allclose(data.xpos, full.xpos, atol=1e-12)
    assert fewer.key("stand").qpos.shape == (30,) and fewer.key("stand").ctrl.shape == (23,)
    assert less.motor_order == g1.motor_order
    assert less.waist == ("waist_yaw_joint",) and less.mjlab == "" and less.payload_links == g1.payload_links
    assert [less.gain_set("stiff").kp[joint] for joint in less.joints] == [
        g1.gain_set("stiff").kp[joint] for joint in less.joints
    ]


def test_a_file_with_the_joints_of_a_known_robot_is_that_robot(tmp_path):
    write_mjcf(load_spec("g1"), tmp_path / "calibrated.xml")
    robot, known = describe(tmp_path / "calibrated.xml"), describe("g1")
    assert robot.like == "g1" and robot.name == str(tmp_path / "calibrated.xml")
    for entry in ("anchor", "tracked_links", "standing_pose", "gains", "motor_order", "mjlab", "motions"):
        assert getattr(robot, entry) == getattr(known, entry)
    (tmp_path / "calibrated.yaml").write_text("payload_links: [pelvis]")
    changed = describe(tmp_path / "calibrated.xml")
    assert changed.payload_links == ("pelvis",) and changed.anchor == "torso_link"


def test_a_model_alone_is_enough_and_what_is_missing_is_named_when_needed(tmp_path):
    robot = describe(walker(tmp_path))
    assert robot.joints == ("left_hip", "right_hip") and robot.floats
    assert robot.recording_gains == "model" and robot.limb("left_hip") == "arm"
    with pytest.raises(HaloidError) as error:
        robot.need("haloid motions", "feet")
    assert str(error.value) == (
        f"The robot {tmp_path / 'walker.xml'} has no `feet`: haloid motions needs the links that stand on the ground. "
        f"Add feet: {{left: LINK, right: LINK}} to {tmp_path / 'walker.yaml'}."
    )
    with pytest.raises(HaloidError, match="has no `clamp`: recording needs the link that is usually held fixed"):
        robot.usual_clamp("recording")
    assert describe("so101").usual_clamp("recording") is None


def test_a_short_yaml_adds_the_rest(tmp_path):
    yaml = """
    title: Two-legged walker
    feet: {left: left_leg, right: right_leg}
    legs: {left: [left_hip], right: ["right_*"]}
    clamp: left_leg
    standing_pose: {"*": 0.1, right_hip: -0.1}
    gains: {soft: {"*": [5, 0.5]}, own: model}
    imu_site: imu
    effort_limits_nm: {"*_hip": 7}
    """
    path = walker(tmp_path, yaml)
    robot = describe(path)
    assert robot.feet == {"left": "left_leg", "right": "right_leg"}
    assert robot.legs == {"left": ("left_hip",), "right": ("right_hip",)} and robot.limb("right_hip") == "legs"
    assert robot.standing_pose == {"left_hip": 0.1, "right_hip": -0.1}
    assert robot.gain_set("soft").kd == {"left_hip": 0.5, "right_hip": 0.5}
    assert robot.gain_set("own").kp == {"left_hip": 10.0, "right_hip": 10.0}
    assert robot.usual_clamp("recording") == "left_leg" and robot.end_effectors == ("left_leg", "right_leg")
    np.testing.assert_array_equal(load_spec(path).compile().jnt_actfrcrange[1:], [[-7, 7], [-7, 7]])


def test_a_changed_yaml_is_read_again(tmp_path):
    assert describe(walker(tmp_path, "clamp: left_leg")).clamp == "left_leg"
    assert describe(walker(tmp_path, "clamp: right_leg\ntitle: other")).clamp == "right_leg"


def test_fixed_joints_leave_actuators_and_keyframes_whole(tmp_path):
    model = load_spec(walker(tmp_path, "fixed_joints: [left_hip]")).compile()
    assert (model.nq, model.nu, model.njnt) == (8, 1, 2)
    np.testing.assert_array_equal(model.key(0).qpos, [0, 0, 1, 1, 0, 0, 0, 0.2])
    np.testing.assert_array_equal(model.key(0).ctrl, [0.2])
    assert describe(tmp_path / "walker.xml").joints == ("right_hip",)


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        ("foot: {left: a, right: b}", ["the entry 'foot' is unknown", "Did you mean feet?"]),
        ("feet: {left: left_leg}", ["feet is {'left': 'left_leg'}", "such as feet: {left: LINK, right: LINK}"]),
        ("feet: {left: left_leg, right: rigth_leg}", ["feet names the link rigth_leg", "Did you mean right_leg?"]),
        ("standing_pose: {left_hipp: 1}", ["standing_pose names the joint left_hipp", "Did you mean left_hip?"]),
        ("standing_pose: {left_hip: bent}", ["standing_pose is {'left_hip': 'bent'}"]),
        ("gains: {soft: {left_knee: [1, 2]}}", ["gains, soft names the joint left_knee", "left_hip, right_hip"]),
        ("gains: {soft: {left_hip: 3}}", ["gains is", 'gains: {soft: {"*": [KP, KD]}}']),
        ("imu_site: imo", ["imu_site names the site imo", "Did you mean imu?"]),
        ("fixed_joints: [left_nee]", ["fixed_joints names the joint left_nee"]),
        ("like: g1_23", ["like names the robot g1_23", "Did you mean g1-23?"]),
        ("[1, 2]", ["it holds [1, 2]", "entries such as feet"]),
        ("feet: {", ["it is not yaml"]),
    ],
)
def test_mistakes_in_a_yaml_are_told_with_the_nearest_valid_name(tmp_path, yaml, expected):
    message = words(tmp_path, yaml)
    assert message.startswith(str(tmp_path / "walker.yaml"))
    for part in expected:
        assert part in message


def test_every_entry_has_a_place_in_the_description_and_an_example_in_yaml():
    fields = set(Robot.__dataclass_fields__)
    assert set(ENTRIES) - {"model"} <= fields
    for name, entry in ENTRIES.items():
        assert entry.example.startswith(f"{name}: ")


def test_what_a_users_yaml_says_goes_along_with_another_model_of_the_robot(tmp_path):
    path = walker(tmp_path, "clamp: left_leg\nfixed_joints: [right_hip]\neffort_limits_nm: {left_hip: 7}")
    write_mjcf(load_spec(path), tmp_path / "calibrated.xml")
    carry_description(str(path), tmp_path / "calibrated.xml")
    robot = describe(tmp_path / "calibrated.xml")
    assert robot.clamp == "left_leg" and robot.joints == ("left_hip",)
    carry_description("g1", tmp_path / "nothing.xml")
    assert not (tmp_path / "nothing.yaml").exists()
