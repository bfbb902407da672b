"""What a motion asks of a robot, against statics by hand, and the words about it."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from tests.motions.clips import g1, standing

from haloid.lab.loads import halo_setting, put_on
from haloid.motions.finding import Finding
from haloid.motions.load import load_motion
from haloid.robots.description import describe
from haloid.robots.load import load_spec
from haloid.skills.feasibility.check import feasibility_findings, in_words, warn_of_infeasible
from haloid.skills.feasibility.demands import demands_of
from haloid.skills.task.robot import TrackedRobot, tracked_robot_of
from haloid.trajectories.motion import motion_of
from haloid.trajectories.mujoco_states import ModelStates, states_of
from haloid.trajectories.trajectory import FloatingTrajectory


def _loaded(setting: int) -> TrackedRobot:
    spec = load_spec("g1")
    put_on(spec, halo_setting(setting, "g1"))
    return tracked_robot_of(spec, describe("g1"))


def _states(robot: TrackedRobot, frames: FloatingTrajectory) -> ModelStates:
    return states_of(robot.model, motion_of(frames, robot.model).trajectory)


def _own(robot: TrackedRobot, name: str) -> ModelStates:
    return states_of(robot.model, load_motion(name).trajectory)


def _findings(robot: TrackedRobot, states: ModelStates) -> dict[tuple[str, str], Finding]:
    found = feasibility_findings(robot.model, robot.description, states)
    return {(finding.what, finding.where): finding for finding in found}


def test_who_stands_still_needs_the_torque_of_statics_and_little_friction(robot):
    demands = demands_of(robot.model, _own(robot, "stand"))
    elbow = robot.joint_names.index("left_elbow_joint")
    data = mujoco.MjData(robot.model)
    data.qpos[:] = _own(robot, "stand").qpos[0]
    mujoco.mj_forward(robot.model, data)
    static_nm = abs(data.qfrc_bias[6 + elbow])
    assert demands.torque_of_limit[50, elbow] == pytest.approx(static_nm / robot.effort_nm[elbow], rel=1e-3)
    assert demands.outside_m.max() == 0.0
    assert demands.friction.max() < 0.01
    assert demands.not_falling_g.max() == 0.0
    assert not _findings(robot, _own(robot, "stand"))


def test_a_lean_beyond_the_toes_is_told_by_how_far(robot):
    """A stiff robot turned forwards about its ankles: at rest, the zero-moment point is below the centre of mass."""
    straight = standing(g1(), frames=60)
    flat = _states(robot, straight)
    data = mujoco.MjData(robot.model)
    data.qpos[:] = flat.qpos[0]
    mujoco.mj_forward(robot.model, data)
    soles, com_m = demands_of(robot.model, flat).contacts.geom_ids, data.subtree_com[1].copy()
    shift_m = data.geom_xpos[soles, 0].max() - com_m[0] + 0.03
    ankles = [straight.joint_names.index(f"{side}_ankle_pitch_joint") for side in ("left", "right")]
    angle_rad = np.arctan2(shift_m, com_m[2] - 0.035)
    joints = straight.joint_pos_rad.copy()
    joints[:, ankles] = -angle_rad
    half = np.array([np.cos(angle_rad / 2), 0.0, np.sin(angle_rad / 2), 0.0])
    ankle_to_root_m = np.array([0.0, 0.0, straight.root_pos_w_m[0, 2] - 0.035])
    turned_m = np.array([np.sin(angle_rad), 0.0, np.cos(angle_rad)]) * ankle_to_root_m[2]
    leaning = replace(
        straight,
        joint_pos_rad=joints,
        root_quat_wxyz=np.tile(half, (60, 1)),
        root_pos_w_m=straight.root_pos_w_m + turned_m - ankle_to_root_m,
    )
    states = _states(robot, leaning)
    data.qpos[:] = states.qpos[30]
    mujoco.mj_forward(robot.model, data)
    outside_m = data.subtree_com[1, 0] - data.geom_xpos[soles, 0].max()
    assert outside_m > 0.02
    assert demands_of(robot.model, states).outside_m[30] == pytest.approx(outside_m, abs=1e-3)


def test_who_hangs_in_the_air_does_not_fall_by_one_g(robot):
    hanging = standing(g1(), frames=60, height_m=1.5)
    finding = _findings(robot, _states(robot, hanging))["neither touches the ground nor falls freely", ""]
    assert finding.severity == "error"
    assert finding.amount == pytest.approx(1.0, abs=1e-3)
    assert (finding.start_s, finding.end_s) == (0.0, pytest.approx(1.18))


def test_who_falls_freely_needs_nothing(robot):
    fall = standing(g1(), frames=30, height_m=3.0)
    height_m = 3.0 - 0.5 * 9.81 * (np.arange(30) / 50) ** 2
    falling = replace(fall, root_pos_w_m=np.column_stack([np.zeros((30, 2)), height_m]))
    assert demands_of(robot.model, _states(robot, falling)).not_falling_g[3:-3].max() < 0.01


def test_quick_steps_to_the_side_slip(robot):
    """±3 cm at 3 Hz with still feet are 10.7 m/s² at the turn, more than 0.6 g."""
    squat = load_motion("squat").trajectory
    sway_m = 0.03 * np.sin(2 * np.pi * 3.0 * np.arange(60) / 50)
    from haloid.motions.leg_kinematics import SIDES, LegKinematics

    legs = LegKinematics(robot.model, robot.description)
    rest = states_of(robot.model, squat).qpos[60]
    rows = []
    for offset_m in sway_m:
        qpos = rest.copy()
        qpos[1] += offset_m
        for side in SIDES:
            qpos = legs.reach(side, qpos, *legs.foot_pose(side, rest))
        rows.append(qpos)
    qpos = np.array(rows)
    frames = FloatingTrajectory(
        rate_hz=50.0,
        joint_names=robot.joint_names,
        joint_pos_rad=qpos[:, 7:],
        root_pos_w_m=qpos[:, :3],
        root_quat_wxyz=qpos[:, 3:7],
    )
    finding = _findings(robot, _states(robot, frames))["slips", "both feet"]
    assert finding.limit == 0.6
    assert 0.66 < finding.amount < 1.2


@pytest.mark.slow
def test_setting_2_overloads_the_swallows_waist_and_the_jumps_wrists():
    """The issue's own figures: 1.07 of the waist's limit, and wrists far over theirs, which servos clip silently."""
    loaded = _loaded(2)
    torque = "more torque than the motor has"
    waist = _findings(loaded, _own(loaded, "swallow"))[torque, "waist_pitch_joint"]
    assert waist.severity == "error"
    assert waist.amount / waist.limit == pytest.approx(1.07, abs=0.02)
    assert 3.0 < waist.start_s < waist.end_s < 5.7
    jump = _findings(loaded, _own(loaded, "yaw-jump"))
    for side in ("left", "right"):
        wrist = jump[torque, f"{side}_wrist_pitch_joint"]
        assert wrist.limit == 5.0
        assert wrist.amount / wrist.limit > 1.5


def test_what_training_rebalances_is_a_warning():
    loaded = _loaded(1)
    finding = _findings(loaded, _own(loaded, "side-kick"))["tips over the edge of its soles", "left_ankle_roll_link"]
    assert finding.severity == "warning"
    assert finding.amount == pytest.approx(0.023, abs=0.003)
    assert finding.advice.startswith("Training mends it: it moves the pelvis by up to 3.")


def test_training_is_warned_in_words(robot, caplog):
    hanging = _states(robot, standing(g1(), frames=60, height_m=1.5))
    warn_of_infeasible(robot.model, robot.description, hanging, "hanging.csv")
    assert [record.getMessage() for record in caplog.records] == [
        "hanging.csv asks for more than the robot has: neither touches the ground nor falls freely (1 g, limit 0.25, "
        "0.00 to 1.18 s). Training goes on, and may fail there; haloid motions convert hanging.csv --feasible mends "
        "what can be mended"
    ]
    caplog.clear()
    warn_of_infeasible(robot.model, robot.description, _own(robot, "stand"), "stand")
    assert not caplog.records


def test_a_finding_in_words():
    finding = Finding("slips", "left_ankle_roll_link", 1.0, 1.5, 0.7, 0.6, "of friction", "")
    assert in_words(finding) == "left_ankle_roll_link slips (0.7 of friction, limit 0.6, 1.00 to 1.50 s)"
