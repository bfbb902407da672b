"""The written URDF, read by MuJoCo and by Pinocchio, against the spec in memory without what URDF cannot say."""

import logging
import xml.etree.ElementTree as ET
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from tests.random_trees import mjcf, tree_plans
from tests.robots.files.test_write_mjcf import shared_spec
from tests.robots.same_robot import (
    State,
    assert_same_robot,
    at,
    change_like_an_identification,
    mass_matrix,
    random_states,
)

from haloid.robots.clamp import clamp
from haloid.robots.files.write_urdf import UNLIMITED_EFFORT, WriteUrdfError, urdf_text, write_urdf
from haloid.robots.inertia import LinkParameters, Payload, attach, read_links, write_links
from haloid.robots.load import load_spec

CLOSE = 1e-10
MUJOCOS_EIGENVECTORS = 1e-6
"""Relative; MuJoCo stops turning a full inertia matrix into principal axes at this precision."""
FREE = mujoco.mjtJoint.mjJNT_FREE
SETTINGS = settings(derandomize=True, deadline=None, max_examples=20)


def changed_g1(seed: int = 1) -> mujoco.MjSpec:
    spec = load_spec("g1")
    change_like_an_identification(spec, seed)
    return spec


def what_urdf_can_say(spec: mujoco.MjSpec, *, floating: bool = False) -> mujoco.MjModel:
    """The model without actuators, couplings, springs and armature; unless floating, its root is the world's frame."""
    plain = spec.copy()
    for element in [*plain.keys, *plain.actuators, *plain.sensors, *plain.tendons, *plain.equalities, *plain.pairs]:
        plain.delete(element)
    for joint in list(plain.joints):
        joint.armature, joint.stiffness = 0.0, np.zeros(3)
        if joint.type == FREE and not floating:
            joint.parent.pos, joint.parent.quat = [0, 0, 0], [1, 0, 0, 0]
            joint.parent.alt.type = mujoco.mjtOrientation.mjORIENTATION_QUAT
            plain.delete(joint)
    return plain.compile()


def read_by_mujoco(spec: mujoco.MjSpec, *, own_inertias: bool) -> mujoco.MjModel:
    """With MuJoCo's own principal axes, or with the inertias as they stand in the file."""
    text = urdf_text(spec)
    urdf = mujoco.MjSpec.from_string(text)
    urdf.option.gravity = spec.option.gravity
    if not own_inertias:
        write_links(urdf, stated_inertias(text))
    return urdf.compile()


def stated_inertias(text: str) -> dict[str, LinkParameters]:
    links = {}
    for link in ET.fromstring(text).iterfind("link[inertial]"):
        inertial = link.find("inertial")
        assert inertial.find("origin").get("rpy") == "0 0 0"
        xx, xy, xz, yy, yz, zz = (float(value) for _, value in sorted(inertial.find("inertia").attrib.items()))
        com = np.array(inertial.find("origin").get("xyz").split(), float)
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        links[link.get("name")] = LinkParameters(float(inertial.find("mass").get("value")), com, inertia)
    return links


def as_pinocchio(model: pin.Model, state: State) -> np.ndarray:
    """A `continuous` joint's coordinates are its cosine and sine."""
    q = pin.neutral(model)
    for name, value in state.qpos.items():
        joint = model.joints[model.getJointId(name)]
        q[joint.idx_q : joint.idx_q + joint.nq] = value if joint.nq == 1 else [np.cos(value[0]), np.sin(value[0])]
    return q


def assert_mujoco_agrees(spec: mujoco.MjSpec) -> None:
    expected, found = what_urdf_can_say(spec), read_by_mujoco(spec, own_inertias=False)
    assert_same_robot(expected, found, CLOSE)
    assert_same_robot(expected, read_by_mujoco(spec, own_inertias=True), MUJOCOS_EIGENVECTORS)
    for j in range(expected.njnt):
        one, other = expected.joint(j), found.joint(expected.joint(j).name)
        assert one.type == other.type and one.limited == other.limited
        assert other.frictionloss == one.frictionloss and other.damping[0] == one.damping[0]
        if one.limited:
            np.testing.assert_array_equal(other.range, one.range)


def assert_pinocchio_agrees(spec: mujoco.MjSpec) -> None:
    """Torques of random motions by its own recursion, every link's place, and all names."""
    model = what_urdf_can_say(spec)
    other = pin.buildModelFromXML(urdf_text(spec))
    joints = [model.joint(j).name for j in range(model.njnt)]
    assert set(joints) == set(other.names) - {"universe"}
    other.gravity.linear = model.opt.gravity
    data = other.createData()
    rng = np.random.default_rng(0)
    for state in random_states(model):
        here = at(model, state)
        v, a = np.zeros(other.nv), np.zeros(other.nv)
        dofs = [other.joints[other.getJointId(name)].idx_v for name in joints]
        v[dofs], acceleration = here.qvel, rng.normal(size=model.nv)
        a[dofs] = acceleration
        q = as_pinocchio(other, state)
        expected = mass_matrix(model, here) @ acceleration + here.qfrc_bias
        found = pin.rnea(other, data, q, v, a)[dofs]
        assert np.max(np.abs(found - expected)) <= CLOSE * np.max(np.abs(expected))
        pin.framesForwardKinematics(other, data, q)
        for i in range(1, model.nbody):
            place = data.oMf[other.getFrameId(model.body(i).name, pin.BODY)].translation
            np.testing.assert_allclose(place, here.xpos[i], rtol=0, atol=CLOSE)


@pytest.mark.parametrize("link", [None, "left_ankle_roll_link", "torso_link"])
def test_the_changed_g1_is_the_same_robot(link):
    spec = clamp(changed_g1(), link) if link else changed_g1()
    assert_mujoco_agrees(spec)
    assert_pinocchio_agrees(spec)


@pytest.mark.parametrize("file", ["robotstudio_so101/so101_nomesh.xml", "unitree_h1_2/h1_2_handless.xml"])
def test_other_robots_are_the_same(file):
    spec = shared_spec(file)
    change_like_an_identification(spec, seed=2)
    assert_mujoco_agrees(spec)
    assert_pinocchio_agrees(spec)


@given(plan=tree_plans())
@SETTINGS
def test_any_tree_is_the_same_robot(plan):
    """Anchors, references, slides, several joints a body and welded bodies; then fixed in the world as well."""
    spec = mujoco.MjSpec.from_string(mjcf(plan, couplings=False))
    for element in [*spec.keys, *[spec.body(name) for name in ("ball", "shelf", "goal")]]:
        spec.delete(element)
    for robot in (spec, clamp(spec, plan.links[-1])):
        assert_mujoco_agrees(robot)
        assert_pinocchio_agrees(robot)


def test_the_floating_g1_feels_its_root_too():
    """With the root at rest, MuJoCo's and Pinocchio's root coordinates differ only by the root's rotation."""
    model = what_urdf_can_say(changed_g1(), floating=True)
    other = pin.buildModelFromXML(urdf_text(changed_g1()), pin.JointModelFreeFlyer())
    rng = np.random.default_rng(3)
    root = "floating_base_joint"
    for state in random_states(model):
        state.qvel[root][:] = 0.0
        here = at(model, state)
        acceleration = rng.normal(size=model.nv)
        expected = mass_matrix(model, here) @ acceleration + here.qfrc_bias
        q, v, a = pin.neutral(other), np.zeros(other.nv), np.zeros(other.nv)
        w, x, y, z = state.qpos[root][3:]
        q[:7] = [*state.qpos[root][:3], x, y, z, w]
        turn = here.body("pelvis").xmat.reshape(3, 3)
        a[:3], a[3:6], expected[:3] = turn.T @ acceleration[:3], acceleration[3:6], turn.T @ expected[:3]
        for j in range(1, model.njnt):
            joint, dof = other.joints[other.getJointId(model.joint(j).name)], model.jnt_dofadr[j]
            q[joint.idx_q], v[joint.idx_v], a[joint.idx_v] = here.qpos[dof + 1], here.qvel[dof], acceleration[dof]
        found = pin.rnea(other, other.createData(), q, v, a)
        order = [other.joints[other.getJointId(model.joint(j).name)].idx_v for j in range(1, model.njnt)]
        found = np.concatenate([found[:6], found[order]])
        assert np.max(np.abs(found - expected)) <= CLOSE * np.max(np.abs(expected))


def test_a_payload_is_in_the_links_inertia():
    spec = load_spec("g1")
    loaded = attach(read_links(spec)["torso_link"], Payload(6.0, np.array([0.02, 0.03, 0.3]), np.eye(3) * 0.02))
    write_links(spec, {"torso_link": loaded})
    found = stated_inertias(urdf_text(spec))["torso_link"]
    assert found.mass_kg == loaded.mass_kg
    assert found.com_in_link_m.tolist() == loaded.com_in_link_m.tolist()
    np.testing.assert_allclose(found.inertia_about_com, loaded.inertia_about_com, rtol=0, atol=1e-15)


def test_limits_efforts_and_armature_are_stated():
    spec = mujoco.MjSpec.from_string(
        "<mujoco><compiler angle='radian'/><default><geom size='.1'/></default>"
        "<worldbody><body name='a'><joint name='turn' armature='.125'/><geom/>"
        "<body name='b'><joint name='lift' type='slide' actuatorfrcrange='-7 5'/><geom/>"
        "<body name='c'><joint name='knee' range='-1 2' actuatorfrcrange='-9 9'/><geom/></body></body></body>"
        "</worldbody>"
        "<actuator><motor joint='knee' forcerange='-2 2' gear='3'/><motor joint='lift'/></actuator></mujoco>"
    )
    text = urdf_text(spec)
    joints = {joint.get("name"): joint for joint in ET.fromstring(text).findall("joint")}
    assert {name: joint.get("type") for name, joint in joints.items()} == {
        "turn": "continuous",
        "lift": "prismatic",
        "knee": "revolute",
    }
    efforts = {name: float(joint.find("limit").get("effort")) for name, joint in joints.items()}
    assert efforts == {"turn": UNLIMITED_EFFORT, "lift": 7.0, "knee": 6.0}
    assert joints["knee"].find("limit").get("lower") == "-1.0" and joints["knee"].find("limit").get("upper") == "2.0"
    assert text.count("<!-- armature 0.125 -->") == 1


def test_shapes_are_as_documented():
    spec = mujoco.MjSpec.from_string(
        "<mujoco><worldbody><body name='a'><joint name='j'/><geom name='pill' type='capsule' size='.1 .3' pos='0 0 1'/>"
        "<geom name='egg' type='ellipsoid' size='.1 .2 .4' group='3'/>"
        "<geom name='look' type='box' size='.1 .2 .3' contype='0' conaffinity='0'/></body></worldbody></mujoco>"
    )
    link = ET.fromstring(urdf_text(spec)).find("link[@name='a']")

    def shapes(tag):
        return [(e.get("name"), *[(g.tag, dict(g.attrib)) for g in e.find("geometry")]) for e in link.findall(tag)]

    pill = [
        ("pill", ("cylinder", {"radius": "0.1", "length": "0.6"})),
        ("pill_end1", ("sphere", {"radius": "0.1"})),
        ("pill_end2", ("sphere", {"radius": "0.1"})),
    ]
    assert shapes("visual") == [*pill, ("look", ("box", {"size": "0.2 0.4 0.6"}))]
    assert [name for name, _ in shapes("collision")] == ["pill", "pill_end1", "pill_end2", "egg"]
    assert float(shapes("collision")[3][1][1]["radius"]) == pytest.approx(0.2)
    ends = [e.find("origin").get("xyz") for e in link.findall("collision")[1:3]]
    assert ends == ["0.0 0.0 0.7", "0.0 0.0 1.3"]


def test_a_gimbal_locked_origin_is_exact():
    spec = mujoco.MjSpec.from_string(
        "<mujoco><worldbody><body name='a' quat='0.5 0.5 0.5 0.5'><joint name='j'/><geom size='.1' pos='.1 .2 .3'/>"
        "<body name='b' euler='37 90 12' pos='1 0 0'><joint name='k' axis='1 2 3'/><geom size='.1' pos='.3 .2 .1'/>"
        "</body></body></worldbody></mujoco>"
    )
    assert_same_robot(what_urdf_can_say(spec), read_by_mujoco(spec, own_inertias=False), 1e-14)


def test_names_and_links_survive_plain_mujoco(tmp_path):
    """Welded links too, which MuJoCo would fuse; and from a folder with spaces."""
    spec = mujoco.MjSpec.from_string(
        "<mujoco model='an arm'><worldbody><body name='a'><joint name='j'/><geom name='g' size='.1'/>"
        "<body name='camera' pos='1 0 0'/></body></worldbody></mujoco>"
    )
    path = tmp_path / "my results" / "calibrated robot.urdf"
    write_urdf(spec, path)
    found = mujoco.MjModel.from_xml_path(str(path))
    assert [found.body(i).name for i in range(found.nbody)] == ["world", "a", "camera"]
    assert found.geom(0).name == "g"
    assert found.body_mass.tolist() == spec.compile().body_mass.tolist()


def test_what_is_left_out_is_said(caplog):
    spec = mujoco.MjSpec.from_string(
        "<mujoco model='arm'><worldbody><body name='table'><geom size='.1'/></body><body name='a'><freejoint/>"
        "<geom size='.1'/><body name='b'><joint name='j' stiffness='2'/><geom size='.1'/></body></body></worldbody>"
        "<equality><joint joint1='j'/></equality></mujoco>"
    )
    with caplog.at_level(logging.WARNING):
        urdf_text(spec)
    assert caplog.messages == [
        "left out of the URDF, as it is not part of the robot:table",
        "the URDF of 'arm' leaves out: joint springs (1), equality constraints (1)",
    ]


BALL = "<body name='a'><joint name='j' type='ball'/><geom size='.1'/></body>"
TWO = "<body name='a'><freejoint/><geom size='.1'/></body><body name='b'><joint name='j'/><geom size='.1'/></body>"
UNNAMED_BODY = "<body><joint name='j'/><geom size='.1'/></body>"
UNNAMED_JOINT = "<body name='a'><joint/><geom size='.1'/></body>"


@pytest.mark.parametrize(
    ("bodies", "words"),
    [
        (
            BALL,
            "the link 'a' has a ball joint, which URDF does not know; expected hinge and slide joints. "
            "Replace it by three hinges, or use the MJCF",
        ),
        (
            TWO,
            "the model holds 2 things that move independently: a, b. "
            "URDF describes one robot; delete the others from the spec",
        ),
        (UNNAMED_BODY, "links without a name: 1; URDF needs a name for each"),
        (UNNAMED_JOINT, "the link 'a' has a joint without a name; URDF needs one"),
    ],
)
def test_what_urdf_cannot_say_is_refused_and_nothing_written(tmp_path, bodies, words):
    path = tmp_path / "calibrated.urdf"
    path.write_text("as it was")
    with pytest.raises(WriteUrdfError) as refused:
        write_urdf(mujoco.MjSpec.from_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>"), path)
    assert str(refused.value) == words
    assert [file.name for file in Path(tmp_path).iterdir()] == ["calibrated.urdf"]
    assert path.read_text() == "as it was"
