"""`haloid robots`: the list, a robot's table, and what is said about a user's own model."""

import json
from pathlib import Path

import pytest

from haloid.cli import main as cli
from haloid.robots.entries import KNOWN_ROBOTS

ARM = """
<mujoco model="arm">
  <compiler angle="{angle}"/>
  <worldbody>
    <body name="upper">
      <joint name="shoulder" range="-2 2"/>
      <inertial pos="0 0 .1" mass="1" diaginertia="{inertia}"/>
      <body name="lower" pos="0 0 .2">
        <joint name="elbow" range="-1.5 1.5"/>
        <inertial pos="0 0 .1" mass="{mass}" diaginertia=".004 .004 .001"/>
      </body>
    </body>
  </worldbody>
  {actuators}
</mujoco>
"""
SERVOS = """<actuator>
  <position name="shoulder" joint="shoulder" kp="50" kv="5" forcerange="-9 9"/>
  <position name="elbow" joint="elbow" kp="50" kv="5" forcerange="-9 9"/>
</actuator>"""


def arm(folder: Path, angle="radian", inertia=".004 .004 .001", mass="0.5", actuators=SERVOS) -> Path:
    path = folder / "arm.xml"
    path.write_text(ARM.format(angle=angle, inertia=inertia, mass=mass, actuators=actuators))
    return path


def run(capsys, *words: object) -> tuple[int, str, str]:
    status = cli.main(["robots", *map(str, words)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_list_has_a_line_for_each(capsys):
    status, out, _ = run(capsys, "list")
    *lines, last = out.splitlines()
    assert last == "next: haloid robots show g1"
    assert status == 0 and [line.split()[0] for line in lines if not line.startswith(" ")] == list(KNOWN_ROBOTS)
    found = json.loads(run(capsys, "list", "--json")[1])
    assert [one["robot"] for one in found] == list(KNOWN_ROBOTS)
    g1 = next(one for one in found if one["robot"] == "g1")
    assert g1["format"] == "haloid-robot-1" and not any(g1["missing"].values()) and g1["flags"] == []


def test_show_tells_joints_limits_gains_and_tasks(capsys):
    status, out, _ = run(capsys, "show", "g1")
    assert status == 0
    for part in ("Unitree G1, 29 joints", "left_knee ", "139", "0.0251", "99.1", "mjlab, unitree, stiff, model"):
        assert part in out
    found = json.loads(run(capsys, "show", "h1-2", "--json")[1])
    knee = next(joint for joint in found["joints"] if joint["name"] == "left_knee_joint")
    assert (knee["effort_nm"], knee["speed_rad_s"], knee["kp"], knee["armature"]) == (300.0, 14.0, 157.7, 0.04)
    assert found["missing"]["train --backend mjlab"] and not found["missing"]["train"]


def test_a_sound_arm_is_enough_to_identify_and_lacks_what_a_humanoid_has(tmp_path, capsys):
    status, out, _ = run(capsys, "check", arm(tmp_path))
    assert status == 0
    assert "arm.xml: 2 joints" in out and "Nothing in the model looks like a mistake." in out
    found = json.loads(run(capsys, "check", arm(tmp_path), "--json")[1])
    assert found["missing"]["identify"] == [] and found["missing"]["calibrate"] == []
    assert found["missing"]["record"] == ["payload_links: [torso, left_hand]"]
    assert "a free joint in the model (<freejoint/> in its root link)" in found["missing"]["train"]
    (tmp_path / "arm.yaml").write_text("payload_links: [lower]")
    found = json.loads(run(capsys, "check", arm(tmp_path), "--json")[1])
    assert found["missing"]["record"] == [] and found["entries"]["payload_links"] == ["lower"]


@pytest.mark.parametrize(
    ("change", "what", "where"),
    [
        ({"angle": "degree"}, "ranges are tiny, such as [-0.035, 0.035] rad", ["shoulder", "elbow"]),
        ({"inertia": "4 4 1"}, "inertias are far too large for their mass", ["upper"]),
        ({"inertia": "1e-9 1e-9 1e-9"}, "inertias are next to nothing for their mass", ["upper"]),
        ({"mass": "1e-9"}, "links weigh less than 0.1 g", ["lower"]),
    ],
)
def test_a_model_that_would_make_results_wrong_is_an_error(tmp_path, capsys, change, what, where):
    status, out, err = run(capsys, "check", arm(tmp_path, **change), "--json")
    found = json.loads(out)
    assert status == 1 and "1 of the findings would make results wrong" in err
    (flag,) = [flag for flag in found["flags"] if flag["severity"] == "error"]
    assert what in flag["what"] and flag["where"] == where and flag["advice"]


def test_degrees_read_as_radians_are_noticed(tmp_path, capsys):
    path = arm(tmp_path)
    path.write_text(path.read_text().replace('range="-2 2"', 'range="-120 120"'))
    found = json.loads(run(capsys, "check", path, "--json")[1])
    assert "ranges look like degrees read as radians, such as [-120, 120] rad" in found["flags"][0]["what"]


def test_missing_actuators_and_limits_are_warnings(tmp_path, capsys):
    status, out, _ = run(capsys, "check", arm(tmp_path, actuators=""), "--json")
    found = json.loads(out)
    assert status == 0 and {flag["severity"] for flag in found["flags"]} == {"warning"}
    assert any("no actuators" in flag["what"] for flag in found["flags"])
    assert any(flag["what"] == "joints have no torque limit" for flag in found["flags"])


def test_what_cannot_be_read_is_one_message(tmp_path, capsys):
    status, _, err = run(capsys, "check", tmp_path / "none.xml")
    assert status == 1 and "No robot" in err
    (tmp_path / "arm.yaml").write_text("foots: 3")
    status, _, err = run(capsys, "check", arm(tmp_path))
    assert status == 1 and "arm.yaml: the entry 'foots' is unknown" in err
    with pytest.raises(SystemExit) as left:
        cli.main(["robots", "check"])
    assert left.value.code == 2
