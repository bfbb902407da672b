"""Clips that were spoilt in known ways become feasible again; what cannot be is told."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from tests.motions.clips import REAL_MOTIONS, g1, standing

from haloid.lab.loads import halo_setting, put_on
from haloid.motions.load import load_motion, read_frames
from haloid.robots.description import describe
from haloid.robots.load import load_spec
from haloid.skills.feasibility.check import feasibility_findings
from haloid.skills.feasibility.mend import mend
from haloid.skills.task.robot import tracked_robot_of
from haloid.trajectories.mujoco_states import states_of


def _errors(robot, motion):
    found = feasibility_findings(robot.model, robot.description, states_of(robot.model, motion.trajectory))
    return [finding for finding in found if finding.severity == "error"]


@pytest.mark.slow
def test_a_squat_that_leans_too_far_is_moved_back_over_its_soles(robot):
    squat = load_motion("squat").trajectory.poses()
    ahead = replace(squat, root_pos_w_m=squat.root_pos_w_m + np.array([0.13, 0.0, 0.0]))  # feet go along …
    hips = [squat.joint_names.index(f"{side}_hip_pitch_joint") for side in ("left", "right")]
    ankles = [squat.joint_names.index(f"{side}_ankle_pitch_joint") for side in ("left", "right")]
    angles = squat.joint_pos_rad.copy()
    angles[:, hips] += 0.22  # … but now stand 15 cm farther back
    angles[:, ankles] -= 0.22
    leaning = replace(ahead, joint_pos_rad=angles)
    mended = mend(leaning, robot, "g1")
    assert mended.feasible
    assert mended.pace == 1.0
    assert 0.02 < mended.shift_m < 0.2
    assert not _errors(robot, mended.motion)
    assert mended.in_words().startswith("feasible: pelvis moved by up to ")
    assert len(mended.motion) == len(squat)


def test_who_hangs_in_the_air_is_put_on_the_ground(robot):
    mended = mend(standing(g1(), frames=60, height_m=1.5), robot, "g1")
    assert mended.feasible
    assert mended.motion.body_pos_w_m[:, 0, 2] == pytest.approx(0.79, abs=0.02)


@pytest.mark.slow
def test_a_load_that_is_too_much_for_the_waist_makes_it_straighten_up():
    spec = load_spec("g1")
    put_on(spec, halo_setting(2, "g1"))
    loaded = tracked_robot_of(spec, describe("g1"))
    swallow = load_motion("swallow").trajectory.poses()
    mended = mend(swallow, loaded, "g1")
    assert mended.feasible
    assert not _errors(loaded, mended.motion)
    waist = mended.motion.joint_pos_rad[:, loaded.joint_names.index("waist_pitch_joint")]
    assert swallow.joint_pos_rad[:, loaded.joint_names.index("waist_pitch_joint")].max() == 0.0
    assert -0.4 < waist.min() < -0.05  # the torso lies flat: up is backwards


def test_a_jump_with_too_much_load_stays_infeasible_and_is_not_slowed():
    spec = load_spec("g1")
    put_on(spec, halo_setting(2, "g1"))
    loaded = tracked_robot_of(spec, describe("g1"))
    paces = []
    mended = mend(load_motion("yaw-jump").trajectory.poses(), loaded, "g1", paces.append)
    assert not mended.feasible
    assert paces == [1.0]
    assert "left_wrist_pitch_joint" in {finding.where for finding in mended.findings if finding.severity == "error"}


@pytest.mark.skipif(not REAL_MOTIONS.is_dir(), reason="the shared motions are not here")
@pytest.mark.parametrize("clip", ["asap/squat_level1.pkl", "asap/kick_level1.pkl"])
def test_public_clips_become_feasible(robot, clip):
    frames = read_frames(REAL_MOTIONS / clip, robot.model)
    mended = mend(frames, robot, "g1")
    assert mended.feasible
    assert mended.pace == 1.0
    assert not _errors(robot, mended.motion)


@pytest.mark.slow
def test_what_is_feasible_is_played_and_what_is_not_is_not(robot):
    """The oracle, MuJoCo itself, agrees with the check: a squat gets through, and not with an eighth of its torque."""
    pytest.importorskip("mjbatch")
    pytest.importorskip("torch")
    from haloid.skills.feasibility.play import part_played

    squat = load_motion("squat")
    assert part_played(robot, squat) == 1.0
    weak = replace(robot, model=copy.copy(robot.model))
    weak.model.actuator_forcerange[:] *= 0.12
    assert _errors(weak, squat)
    assert part_played(weak, squat) < 0.9
