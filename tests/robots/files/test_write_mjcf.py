"""The written MJCF, loaded by MuJoCo alone, against the spec in memory: at random states and number by number."""

import logging
import re
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from tests.random_trees import mjcf, tree_plans
from tests.robots.same_robot import assert_same_robot, change_like_an_identification

from haloid.robots.clamp import clamp
from haloid.robots.files.write_mjcf import WriteMjcfError, _xml_digits, mjcf_text, write_mjcf
from haloid.robots.load import load_spec

SHARED_ROBOTS = Path(__file__).parents[3] / "shared/data/robots"
EXACT = 1e-12
SETTINGS = settings(derandomize=True, deadline=None, max_examples=20)
KINDS = {"body": "nbody", "joint": "njnt", "geom": "ngeom", "site": "nsite", "actuator": "nu", "sensor": "nsensor"}
KINDS |= {
    "key": "nkey",
    "tendon": "ntendon",
    "equality": "neq",
    "material": "nmat",
    "camera": "ncam",
    "light": "nlight",
}

TETRAHEDRON = "v 0 0 0\nv .3 0 0\nv 0 .2 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
MESH_ARM = """
<mujoco model="mesh arm">
  <compiler meshdir="my meshes" settotalmass="4"/>
  <asset><mesh name="part" file="part.obj"/></asset>
  <worldbody>
    <body name="arm">
      <joint name="shoulder" axis="1 2 3" damping="0.1"/>
      <geom name="shape" type="mesh" mesh="part"/>
      <geom name="box" type="box" size=".1 .2 .3" pos=".1 .2 .3" group="3"/>
      <site name="tip" pos=".3 0 0"/>
    </body>
  </worldbody>
  <actuator><position name="servo" joint="shoulder" kp="7" dampratio="1"/></actuator>
</mujoco>
"""


def shared_spec(file: str) -> mujoco.MjSpec:
    if not (SHARED_ROBOTS / file).is_file():
        pytest.skip(f"the robot file {SHARED_ROBOTS / file} is not here")
    return load_spec(SHARED_ROBOTS / file)


def names(model: mujoco.MjModel) -> dict[str, list[str]]:
    return {kind: [getattr(model, kind)(i).name for i in range(getattr(model, count))] for kind, count in KINDS.items()}


def numeric_differences(one: mujoco.MjModel, other: mujoco.MjModel) -> dict[str, float]:
    """The largest difference of every field of the models that differs at all, relative to its largest number."""
    found = {}
    for field in dir(one):
        value = getattr(one, field)
        if not field.startswith("_") and isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
            difference = np.max(np.abs(value * 1.0 - getattr(other, field) * 1.0), initial=0.0)
            if difference:
                found[field] = difference / np.max(np.abs(value))
    return found


def written(spec: mujoco.MjSpec, folder: Path) -> mujoco.MjModel:
    path = folder / "calibrated.xml"
    write_mjcf(spec, path)
    return mujoco.MjModel.from_xml_path(str(path))


def assert_same_model(spec: mujoco.MjSpec, found: mujoco.MjModel) -> None:
    expected = spec.compile()
    assert names(found) == names(expected)
    differences = numeric_differences(expected, found)
    assert all(difference < EXACT for difference in differences.values()), differences
    for option in ("timestep", "integrator", "gravity", "solver", "tolerance"):
        np.testing.assert_array_equal(getattr(found.opt, option), getattr(expected.opt, option))
    assert_same_robot(expected, found, EXACT)


@pytest.mark.parametrize("link", [None, "left_ankle_roll_link", "pelvis"])
def test_the_changed_g1_comes_back_whole(tmp_path, link):
    spec = load_spec("g1")
    change_like_an_identification(spec, seed=1)
    if link:
        spec = clamp(spec, link)
    assert_same_model(spec, written(spec, tmp_path))


@pytest.mark.parametrize(
    "file",
    ["robotstudio_so101/so101_nomesh.xml", "unitree_h1_2/h1_2_handless.xml", "unitree_h1_2/h1_2_handless.urdf"],
)
def test_other_robots_come_back_whole(tmp_path, file):
    spec = shared_spec(file)
    change_like_an_identification(spec, seed=2)
    assert_same_model(spec, written(spec, tmp_path))


@given(plan=tree_plans())
@SETTINGS
def test_any_tree_comes_back_whole(plan):
    """Degrees, frames, defaults, tendons, equalities, keyframes and inertias from geometry among it."""
    spec = mujoco.MjSpec.from_string(mjcf(plan))
    assert_same_model(spec, mujoco.MjModel.from_xml_string(mjcf_text(spec)))


def test_writing_leaves_the_spec_and_mujocos_digits_alone(tmp_path):
    spec = load_spec("g1")
    before = spec.to_xml()
    write_mjcf(spec, tmp_path / "calibrated.xml")
    assert spec.to_xml() == before
    assert '"14.2506"' in before


def test_the_digits_are_restored_when_the_block_fails():
    with pytest.raises(RuntimeError), _xml_digits(17):
        raise RuntimeError
    assert "0.333333 " in mujoco.MjSpec.from_string("<mujoco><option gravity='0.3333333333 0 0'/></mujoco>").to_xml()


def test_every_inertia_is_stated_whatever_it_came_from():
    spec = mujoco.MjSpec.from_string(
        "<mujoco><compiler inertiafromgeom='true' settotalmass='7' balanceinertia='true'/><worldbody><body name='a'>"
        "<joint name='j'/><geom size='.1 .2 .3' type='box' pos='.1 .2 .3'/><body name='b'><geom size='.1'/></body>"
        "<inertial mass='5' pos='0 0 0' diaginertia='1 1 1'/></body></worldbody></mujoco>"
    )
    text = mjcf_text(spec)
    assert text.count("<inertial") == 2
    assert mujoco.MjModel.from_xml_string(text).body_mass.sum() == pytest.approx(7.0, rel=1e-15)
    assert_same_model(spec, mujoco.MjModel.from_xml_string(text))


def test_geometry_in_files_is_left_out_and_its_inertia_kept(tmp_path, caplog):
    folder = tmp_path / "a folder with spaces"
    (folder / "my meshes").mkdir(parents=True)
    (folder / "my meshes" / "part.obj").write_text(TETRAHEDRON)
    (folder / "the arm.xml").write_text(MESH_ARM)
    spec = load_spec(folder / "the arm.xml")
    with caplog.at_level(logging.WARNING):
        write_mjcf(spec, tmp_path / "result of today" / "calibrated.xml")
    assert caplog.messages == [
        "the MJCF of 'mesh arm': left out 1 geoms because 1 mesh, texture or height-field files hold them "
        "(first: part.obj); inertias are kept"
    ]
    text = (tmp_path / "result of today" / "calibrated.xml").read_text()
    assert "part.obj" not in text and "my meshes" not in text
    found = mujoco.MjModel.from_xml_string(text)
    assert [found.geom(i).name for i in range(found.ngeom)] == ["box"]
    assert_same_robot(spec.compile(), found, EXACT)


def test_no_path_is_in_the_file():
    text = mjcf_text(shared_spec("unitree_h1_2/h1_2_handless.xml"))
    assert not re.search(r'(file|meshdir|texturedir)="', text)
    assert '="/' not in text


def test_a_model_that_does_not_come_back_is_refused_and_nothing_written(tmp_path):
    """MuJoCo forgets to write that a free joint was moved to its body's centre of mass."""
    spec = mujoco.MjSpec.from_string(
        "<mujoco><worldbody><body name='box'><freejoint align='true'/>"
        "<geom type='box' size='.1 .2 .3' pos='.1 .2 .3'/></body></worldbody></mujoco>"
    )
    path = tmp_path / "calibrated.xml"
    path.write_text("as it was")
    with pytest.raises(WriteMjcfError) as refused:
        write_mjcf(spec, path)
    assert str(refused.value) == (
        "qpos0 changes when MuJoCo writes the model and reads it back. "
        "Simplify the robot's file around what is named, or report this with the file"
    )
    assert [file.name for file in tmp_path.iterdir()] == ["calibrated.xml"]
    assert path.read_text() == "as it was"
