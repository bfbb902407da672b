"""Loading: names, paths, missing files, and the order of joints."""

import logging
from pathlib import Path

import mujoco
import pytest

from haloid.errors import HaloidError
from haloid.robots.entries import KNOWN_ROBOTS
from haloid.robots.load import actuated_joints, load_spec, model_file_of

SHARED_ROBOTS = Path(__file__).parents[3] / "shared/data/robots"

ARM = """
<mujoco>
  <compiler meshdir="meshes"/>
  <asset>
    <mesh name="upper" file="upper.stl"/>
    <texture name="wood" type="2d" file="wood.png"/>
    <material name="wooden" texture="wood"/>
    <hfield name="ground" file="ground.png" size="1 1 1 1"/>
  </asset>
  <worldbody>
    <geom name="terrain" type="hfield" hfield="ground"/>
    <body name="upper_arm">
      {inertial}
      <joint name="shoulder"/>
      <geom name="upper_shape" type="mesh" mesh="upper" material="wooden"/>
      <geom name="upper_box" type="box" size=".1 .1 .1" material="wooden"/>
      <body name="lower_arm" pos="1 0 0">
        <joint name="elbow"/>
        <geom name="lower_shape" size=".1"/>
      </body>
    </body>
  </worldbody>
  <contact><pair geom1="upper_shape" geom2="lower_shape"/></contact>
  <sensor>
    <distance name="gap" geom1="lower_shape" geom2="upper_shape" cutoff="1"/>
    <framepos name="place" objtype="geom" objname="upper_shape"/>
    <jointpos name="angle" joint="elbow"/>
  </sensor>
  <actuator><motor name="m2" joint="elbow"/><motor name="m1" joint="shoulder"/></actuator>
</mujoco>
"""
INERTIAL = '<inertial mass="2" pos="0.1 0 0" diaginertia="0.1 0.2 0.25"/>'

URDF = """
<!-- Not MJCF, whatever <mujoco> says below. -->
<robot name="arm">
  <mujoco><compiler discardvisual="false"/></mujoco>
  <link name="base"/>
  <link name="arm">
    <inertial><origin xyz="0.2 0 0"/><mass value="1.5"/>
      <inertia ixx="0.1" iyy="0.2" izz="0.25" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="package://arm/arm_look.dae"/></geometry></visual>
    <collision><geometry><mesh filename="meshes/arm.stl"/></geometry></collision>
  </link>
  <link name="camera"><collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="7" velocity="3"/></joint>
  <joint name="mount" type="fixed"><parent link="arm"/><child link="camera"/></joint>
</robot>
"""


def write(folder: Path, text: str, name: str = "arm.xml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_known_robot_loads_by_name():
    assert all(model_file_of(name).is_file() for name in KNOWN_ROBOTS)
    assert load_spec("g1").compile().nu == 29


def test_any_path_loads_as_text_or_path(tmp_path):
    path = write(tmp_path, "<mujoco><worldbody><body name='b'><joint/><geom size='1'/></body></worldbody></mujoco>")
    for robot in (path, str(path)):
        assert load_spec(robot).body("b") is not None


def test_unknown_name_says_what_is_known():
    with pytest.raises(HaloidError) as error:
        load_spec("G1")
    assert "No robot 'G1'" in str(error.value)
    assert "Did you mean g1?" in str(error.value)
    assert "Known robots: g1" in str(error.value)
    assert "MJCF (.xml) or URDF (.urdf)" in str(error.value)


def test_missing_file_names_its_near_miss(tmp_path):
    write(tmp_path, "", "my_arm.urdf")
    with pytest.raises(HaloidError) as error:
        load_spec(tmp_path / "my_amr.urdf")
    assert f"Did you mean {tmp_path / 'my_arm.urdf'}?" in str(error.value)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("not xml at all", "is not a robot model that MuJoCo can read"),
        ("<mujoco><worldbody><bodi/></worldbody></mujoco>", "unrecognized element"),
        ("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>", "mass and inertia of moving bodies"),
    ],
)
def test_unreadable_files_carry_mujocos_reason(tmp_path, text, reason):
    with pytest.raises(HaloidError) as error:
        load_spec(write(tmp_path, text))
    assert str(tmp_path / "arm.xml") in str(error.value)
    assert reason in str(error.value)
    assert "Expected an MJCF (<mujoco>) or URDF (<robot>) file" in str(error.value)


def test_missing_files_drop_their_geometry_and_keep_the_inertia(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        model = load_spec(write(tmp_path, ARM.format(inertial=INERTIAL))).compile()
    assert [record.getMessage() for record in caplog.records] == [
        "arm.xml: dropped 2 geoms because 3 mesh, texture or height-field files are missing (first: upper.stl); "
        "inertias are as the file states them"
    ]
    assert [model.geom(i).name for i in range(model.ngeom)] == ["upper_box", "lower_shape"]
    assert model.body("upper_arm").mass == 2.0
    assert list(model.body("upper_arm").ipos) == [0.1, 0, 0]
    assert model.npair == 0
    assert [model.sensor(i).name for i in range(model.nsensor)] == ["angle"]


def test_present_files_stay_without_a_note(tmp_path, caplog):
    (tmp_path / "meshes").mkdir()
    tetrahedron = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "meshes" / "tetra.obj").write_text(tetrahedron)
    text = (
        "<mujoco><compiler meshdir='meshes'/><asset><mesh file='tetra.obj'/></asset><worldbody>"
        "<body><joint name='j'/><geom type='mesh' mesh='tetra'/></body></worldbody></mujoco>"
    )
    model = load_spec(write(tmp_path, text)).compile()
    assert model.nmesh == 1 and model.ngeom == 1 and not caplog.records


def test_inertia_that_would_come_from_a_missing_mesh_is_an_error(tmp_path):
    with pytest.raises(HaloidError) as error:
        load_spec(write(tmp_path, ARM.format(inertial="")))
    assert "Body 'upper_arm' takes its inertia from the geometry in 'upper.stl'" in str(error.value)
    assert "state the inertia with <inertial>" in str(error.value)


def test_urdf_keeps_fixed_links_by_name_and_only_stated_masses(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        model = load_spec(write(tmp_path, URDF, "arm.urdf")).compile()
    assert [model.body(i).name for i in range(model.nbody)] == ["world", "base", "arm", "camera"]
    assert list(model.body_mass) == [0.0, 0.0, 1.5, 0.0]
    assert list(model.jnt_actfrcrange[0]) == [-7.0, 7.0]
    assert actuated_joints(model) == ("hinge",)
    assert "dropped 2 geoms because 2 mesh" in caplog.text


def test_actuated_joints_come_in_qpos_order_from_spec_and_model(tmp_path):
    spec = load_spec(write(tmp_path, ARM.format(inertial=INERTIAL)))
    assert actuated_joints(spec) == actuated_joints(spec.compile()) == ("shoulder", "elbow")


def test_actuated_joints_leave_out_joints_without_a_motor():
    one_motor = """<mujoco><worldbody><body name="a"><freejoint/><geom size="1"/>
      <body><joint name="free_hinge"/><geom size="1"/><body><joint name="driven" type="slide"/><geom size="1"/></body>
      </body></body></worldbody>{}</mujoco>"""
    driven = mujoco.MjSpec.from_string(one_motor.format("<actuator><motor joint='driven'/></actuator>"))
    assert actuated_joints(driven) == actuated_joints(driven.compile()) == ("driven",)
    undriven = mujoco.MjSpec.from_string(one_motor.format(""))
    assert actuated_joints(undriven) == actuated_joints(undriven.compile()) == ("free_hinge", "driven")


def test_actuated_joints_of_a_spec_follow_the_tree_not_the_order_of_adding():
    spec = mujoco.MjSpec()
    first, second = spec.worldbody.add_body(name="first"), spec.worldbody.add_body(name="second")
    for body, joint in ((second, "b"), (first.add_body(name="child"), "a_child"), (first, "a")):
        body.add_joint(name=joint)
        body.add_geom(size=[0.1, 0, 0])
    assert actuated_joints(spec) == ("a", "a_child", "b")
    assert actuated_joints(spec.compile()) == ("a", "a_child", "b")


def test_a_joint_without_a_name_is_an_error():
    spec = mujoco.MjSpec.from_string(
        "<mujoco><worldbody><body name='arm'><joint/><geom size='1'/></body></worldbody></mujoco>"
    )
    for robot in (spec, spec.compile()):
        with pytest.raises(HaloidError, match="Body 'arm' has a joint without a name"):
            actuated_joints(robot)


@pytest.mark.skipif(not SHARED_ROBOTS.is_dir(), reason=f"no robot files at {SHARED_ROBOTS}")
@pytest.mark.parametrize(
    ("file", "mass_kg", "n_actuated"),
    [
        ("unitree_g1/g1_29dof_rev_1_0.urdf", 33.34114202, 29),
        ("unitree_h1_2/h1_2_handless.urdf", 66.984, 27),
        ("unitree_h1_2/h1_2_handless.xml", 66.984, 27),
        ("robotstudio_so101/so101_nomesh.xml", 0.632006, 6),
    ],
)
def test_published_robots_load_without_their_meshes(file, mass_kg, n_actuated):
    model = load_spec(SHARED_ROBOTS / file).compile()
    assert model.body_mass.sum() == pytest.approx(mass_kg, abs=1e-6)
    assert len(actuated_joints(model)) == n_actuated


def test_an_include_from_outside_the_folder_is_refused(tmp_path: Path):
    folder = tmp_path / "robot"
    (folder / "parts").mkdir(parents=True)
    part = '<mujoco><worldbody><body name="a"><geom size="1" mass="1"/><joint name="j"/></body></worldbody></mujoco>'
    (tmp_path / "secret.xml").write_text(part)
    (folder / "parts" / "part.xml").write_text(part)
    (folder / "robot.xml").write_text("<mujoco><include file='parts/part.xml'/></mujoco>")
    assert actuated_joints(load_spec(folder / "robot.xml")) == ("j",)
    (folder / "robot.xml").write_text(
        '<mujoco><!-- <include file="../no.xml"/> --><include file="../secret.xml"/></mujoco>'
    )
    with pytest.raises(HaloidError, match=r"robot.xml includes ../secret.xml, which lies outside the folder"):
        load_spec(folder / "robot.xml")
    (folder / "parts" / "part.xml").write_text('<mujoco><include file="../secret.xml"/></mujoco>')
    (folder / "robot.xml").write_text('<mujoco><include file="parts/part.xml"/></mujoco>')
    with pytest.raises(HaloidError, match="outside the folder"):
        load_spec(folder / "robot.xml")
