"""Patches: there and back to the last bit, the same robot as the written MJCF, and the words of every refusal."""

import json
import math
import pickle
from functools import partial

import mujoco
import numpy as np
import pytest
from tests.robots.same_robot import assert_same_robot

from haloid.errors import HaloidError
from haloid.robots.files.write_mjcf import mjcf_text
from haloid.robots.inertia import LinkError, LinkParameters, Payload, attach, read_links
from haloid.robots.load import load_spec
from haloid.robots.patch import Patch, PatchError, PatchFileError, apply_patch, patched_spec, read_patch, write_patch

LINK = {"mass": 1.0, "com": [0, 0, 0.1], "inertia": [[0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]]}


def identified_g1() -> Patch:
    rng = np.random.default_rng(5)
    links = read_links(load_spec("g1"))
    chosen = ("pelvis", "torso_link", "left_wrist_yaw_link", "right_wrist_yaw_link")
    loaded = {name: attach(links[name], Payload(rng.uniform(0.5, 5), rng.normal(size=3) * 0.1)) for name in chosen}
    joints = {
        "left_knee_joint": {"damping": rng.uniform(), "frictionloss": rng.uniform(), "armature": rng.uniform() / 10},
        "waist_yaw_joint": {"damping": rng.uniform()},
    }
    return Patch("g1", loaded, joints)


def test_a_patch_comes_back_to_the_last_bit(tmp_path):
    patch = identified_g1()
    write_patch(patch, tmp_path / "my results" / "patch.json")
    found = read_patch(tmp_path / "my results" / "patch.json")
    assert found.robot == "g1" and found.joints == patch.joints and list(found.links) == list(patch.links)
    for name, link in patch.links.items():
        assert found.links[name].mass_kg == link.mass_kg
        np.testing.assert_array_equal(found.links[name].com_in_link_m, link.com_in_link_m)
        np.testing.assert_array_equal(found.links[name].inertia_about_com, link.inertia_about_com)


def test_the_patched_g1_is_the_written_one():
    """Applied here, or written out and loaded by MuJoCo alone."""
    spec = load_spec("g1")
    apply_patch(spec, identified_g1())
    assert_same_robot(spec.compile(), mujoco.MjModel.from_xml_string(mjcf_text(spec)), 1e-12)


def test_only_what_the_patch_names_changes():
    patch, nominal = identified_g1(), load_spec("g1").compile()
    spec = load_spec("g1")
    apply_patch(spec, patch)
    model = spec.compile()
    for i in range(1, model.nbody):
        name = model.body(i).name
        expected = patch.links.get(name) or read_links(nominal)[name]
        found = read_links(model)[name]
        assert found.mass_kg == expected.mass_kg
        np.testing.assert_array_equal(found.com_in_link_m, expected.com_in_link_m)
        np.testing.assert_allclose(found.inertia_about_com, expected.inertia_about_com, rtol=0, atol=1e-15)
    for quantity in ("damping", "frictionloss", "armature"):
        for j in range(1, model.njnt):
            name = model.joint(j).name
            was = getattr(nominal.joint(j), quantity)[0]
            assert getattr(model.joint(j), quantity)[0] == patch.joints.get(name, {}).get(quantity, was)
    np.testing.assert_array_equal(model.actuator_biasprm, nominal.actuator_biasprm)


def test_servo_gains_do_not_follow_the_payload():
    """MuJoCo would derive the damping of these from the new inertia."""
    text = (
        "<mujoco><worldbody><body name='arm'><joint name='a' springdamper='.5 1'/><geom size='.1' pos='1 0 0'/>"
        "<body name='hand' pos='1 0 0'><joint name='b'/><geom size='.1'/></body></body></worldbody>"
        "<actuator><position name='servo' joint='a' kp='9' dampratio='1'/></actuator></mujoco>"
    )
    nominal = mujoco.MjSpec.from_string(text).compile()
    spec = mujoco.MjSpec.from_string(text)  # never compiled
    loaded = attach(read_links(nominal)["hand"], Payload(20.0, np.array([0.3, 0, 0])))
    apply_patch(spec, Patch("arm", {"hand": loaded}, {"b": {"damping": 0.25}}))
    model = spec.compile()
    assert model.body("hand").mass[0] == loaded.mass_kg
    np.testing.assert_array_equal(model.actuator_biasprm, nominal.actuator_biasprm)
    np.testing.assert_array_equal(model.jnt_stiffness, nominal.jnt_stiffness)
    assert model.dof_damping.tolist() == [nominal.dof_damping[0], 0.25]


def test_a_spec_fn_can_be_pickled_and_called_again():
    spec_fn = pickle.loads(pickle.dumps(partial(patched_spec, partial(load_spec, "g1"), identified_g1())))
    first, second = spec_fn(), spec_fn()
    assert first is not second
    assert first.compile().body("torso_link").mass == identified_g1().links["torso_link"].mass_kg
    np.testing.assert_array_equal(first.compile().body_mass, second.compile().body_mass)


def test_what_the_robot_does_not_have_is_refused_and_nothing_changed():
    spec = load_spec("g1")
    before = spec.to_xml()
    with pytest.raises(PatchError) as refused:
        apply_patch(spec, Patch("h1", identified_g1().links, {"left_knee": {"damping": 1.0}}))
    assert str(refused.value).startswith("the robot has no joint 'left_knee'; the nearest are: left_knee_joint")
    assert str(refused.value).endswith("identified with the robot 'h1'; apply it to the same robot")
    torso = identified_g1().links["torso_link"]
    with pytest.raises(LinkError, match="the robot has no link 'torso'; the nearest are: torso_link"):
        apply_patch(spec, Patch("g1", {"torso": torso}, {"left_knee_joint": {"damping": 1.0}}))
    with pytest.raises(PatchError, match=r"joint 'left_knee_joint': damping is -1.0; expected a number of 0 or more"):
        apply_patch(spec, Patch("g1", {"torso_link": torso}, {"left_knee_joint": {"damping": -1.0}}))
    with pytest.raises(LinkError, match="the mass would be -1 kg"):
        apply_patch(spec, Patch("g1", {"torso_link": LinkParameters(-1.0, np.zeros(3), np.eye(3))}))
    assert spec.to_xml() == before


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_an_impossible_value_is_not_written(tmp_path, value):
    path = tmp_path / "patch.json"
    with pytest.raises(HaloidError):
        write_patch(Patch("g1", joints={"left_knee_joint": {"armature": value}}), path)
    with pytest.raises(HaloidError):
        write_patch(Patch("g1", {"torso_link": LinkParameters(value, np.zeros(3), np.eye(3))}), path)
    assert not list(tmp_path.iterdir())


def document(**changes) -> str:
    return json.dumps({"format": "haloid-patch-1", "robot": "g1", "links": {}, "joints": {}} | changes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "it is not JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1)). "),
        ("[]", 'its "format" is null; expected "haloid-patch-1". Give the patch.json of an identification'),
        (document(format="haloid-result-1"), 'its "format" is "haloid-result-1"; expected "haloid-patch-1"'),
        (document(robot=3), '"robot" is 3; expected a name or a path'),
        (document(joint={}), "the patch has an unknown entry 'joint'. Did you mean 'joints'? Known: format, robot"),
        (document(links=[1]), '"links" is [1]; expected names and their values, {"name": {..}}'),
        (document(links={"torso": 3}), "link 'torso' is 3; expected all of: mass, com, inertia"),
        (document(links={"t": {"mass": 1}}), "link 't' is {\"mass\": 1}; expected all of: mass, com, inertia"),
        (document(links={"t": LINK | {"con": 1}}), "link 't' has an unknown entry 'con'. Did you mean 'com'?"),
        (document(links={"t": LINK | {"com": [1, 2]}}), "link 't': \"com\" is [1, 2]; expected 3 numbers"),
        (document(links={"t": LINK | {"mass": True}}), "link 't': \"mass\" is true; expected a number"),
        (document(links={"t": LINK | {"inertia": [1, 2, 3]}}), '"inertia" is [1, 2, 3]; expected 3 rows of 3'),
        (document(links={"t": LINK | {"mass": -2}}), "link 't': the mass would be -2 kg; a mass must not be negative"),
        (document(links={"t": LINK | {"mass": math.nan}}), "link 't': mass, CoM and inertia must be finite numbers"),
        (
            document(links={"t": LINK | {"inertia": [[1, 0, 0], [0, 1, 0], [0, 0, 3]]}}),
            "link 't': principal inertias 1, 1, 3 kg·m² violate the triangle inequality",
        ),
        (document(joints={"k": 1}), "joint 'k' is 1; expected some of: damping, frictionloss, armature"),
        (document(joints={"k": {"friction": 1}}), "joint 'k' has an unknown entry 'friction'. Did you mean 'friction"),
        (document(joints={"k": {"damping": "1"}}), 'joint \'k\': "damping" is "1"; expected a number'),
        (document(joints={"k": {"damping": -1}}), "joint 'k': damping is -1.0; expected a number of 0 or more"),
    ],
)
def test_a_wrong_file_is_refused_in_clear_words(tmp_path, text, words):
    path = tmp_path / "patch.json"
    path.write_text(text)
    with pytest.raises(PatchFileError) as refused:
        read_patch(path)
    assert str(refused.value).startswith(f"{path} is not a usable patch: ")
    assert words in str(refused.value)


def test_a_missing_file_is_refused_in_clear_words(tmp_path):
    with pytest.raises(PatchFileError, match=r"the system says «no such file or directory». Check the path"):
        read_patch(tmp_path / "patch.json")
