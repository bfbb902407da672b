"""Rollouts become transitions and windows of one robot, and what does not fit that robot is refused in words."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mjbatch")

from haloid.errors import HaloidError
from haloid.gap.replays.data import read_real_data, real_data
from haloid.skills.task.robot import TrackedRobot
from haloid.trajectories.mujoco_states import floating_trajectory
from haloid.trajectories.rollout import Episode, Rollout
from haloid.trajectories.rollout_file import write_rollout

ROWS = 12


def rollout_of(tracked: TrackedRobot, **changes) -> Rollout:
    """Two clips, the second of which falls; joints wander so that rows differ."""
    random, joints = np.random.default_rng(0), len(tracked.joint_names)
    qpos = np.tile(np.r_[0.0, 0.0, 0.8, 1.0, 0.0, 0.0, 0.0, tracked.default_joint_pos_rad], (ROWS, 1))
    qpos[:, 7:] += random.normal(0, 0.1, (ROWS, joints))
    target_rad = random.normal(0, 0.1, (ROWS, joints))
    rate_hz = changes.pop("rate_hz", 50.0)
    fields = {
        "robot": "g1",
        "trajectory": floating_trajectory(
            rate_hz, tracked.joint_names, qpos, random.normal(size=(ROWS, 6 + joints)), target_rad
        ),
        "time_s": np.concatenate([np.arange(7), np.arange(5)]) / rate_hz,
        "action": target_rad,
        "action_meaning": "the target",
        "episodes": (Episode(0, 7), Episode(7, 12, fell_row=10)),
        "simulator": "none: a log",
        "facts": {"motion": "squat"},
    }
    return Rollout(**(fields | changes))


def test_rows_are_in_the_robots_order_and_held_targets_are_the_rows_before(robot):
    rollout = rollout_of(robot)
    data = real_data([rollout], robot)
    shuffled = tuple(reversed(robot.joint_names))
    trajectory = rollout.trajectory
    turned = replace(
        trajectory,
        joint_names=shuffled,
        **{name: getattr(trajectory, name)[:, ::-1] for name in ("joint_pos_rad", "joint_vel_rad_s", "target_rad")},
    )
    again = real_data([replace(rollout, trajectory=turned)], robot)
    for name in ("qpos", "qvel", "target_rad", "held_rad"):
        np.testing.assert_array_equal(getattr(again, name), getattr(data, name), err_msg=name)
    np.testing.assert_array_equal(data.held_rad[1:7], data.target_rad[0:6])
    np.testing.assert_array_equal(data.held_rad[7], data.qpos[7, 7:])  # nothing is known before a clip begins
    assert data.transitions().tolist() == [*range(6), *range(7, 11)]
    assert data.transitions(with_falls=False).tolist() == [*range(6), 7, 8]
    assert data.windows(3, stride=2).tolist() == [0, 2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rate_hz": 100.0}, "run.npz: 100 rows per second. Expected 50, the rate of the policies: resample the log"),
        ({"clamp": "left_foot"}, "run.npz: left_foot is clamped in it. Expected a free robot on its feet"),
        (
            {"robot": "h1-2"},
            "run.npz: its robot is h1-2. Expected g1, the robot that is simulated: give its rollouts, or simulate the "
            "other with --model h1-2",
        ),
    ],
    ids=["rate", "clamp", "robot"],
)
def test_what_the_robot_cannot_replay_is_refused(robot, changes, message):
    with pytest.raises(HaloidError) as refused:
        real_data([rollout_of(robot, **changes)], robot, ["run.npz"])
    assert str(refused.value) == message


def test_other_joints_are_named(robot):
    rollout = rollout_of(robot)
    names = ("hip", *robot.joint_names[1:])
    other = replace(rollout, trajectory=replace(rollout.trajectory, joint_names=names))
    with pytest.raises(HaloidError, match=r"its joints and those of g1 differ in hip, left_hip_pitch_joint\. Expected"):
        real_data([other], robot, ["run.npz"])


def test_a_fixed_base_is_refused(robot):
    rollout = rollout_of(robot)
    root = dict.fromkeys(("root_pos_w_m", "root_quat_wxyz", "root_lin_vel_w_m_s", "root_ang_vel_b_rad_s"))
    with pytest.raises(HaloidError, match=r"run.npz: the robot's root is not in it. Expected a floating robot"):
        real_data([replace(rollout, trajectory=replace(rollout.trajectory, **root))], robot, ["run.npz"])


def test_rollouts_of_two_robots_are_not_mixed(robot):
    """The hash of the model that moved the robot tells; logs, which have none, go with any."""
    one, other = (rollout_of(robot, model_sha256=letters * 32) for letters in ("ab", "cd"))
    message = (
        "b.npz: its model_sha256 is cdcdcdcdcdcd, and that of a.npz is abababababab: its masses, gains or step "
        "differed. Expected rollouts of one robot: learn a delta model for each"
    )
    with pytest.raises(HaloidError) as refused:
        real_data([one, other], robot, ["a.npz", "b.npz"])
    assert str(refused.value) == message
    assert len(real_data([rollout_of(robot), one, one], robot)) == 3 * ROWS
    twin, genesis = (rollout_of(robot, facts={"stand_in": name}) for name in ("twin", "genesis"))
    with pytest.raises(HaloidError, match=r"b.npz: its stand-in is genesis, and that of a.npz is twin"):
        real_data([twin, genesis], robot, ["a.npz", "b.npz"])


def test_a_file_with_nan_is_refused_by_its_name(robot, tmp_path: Path):
    file = write_rollout(rollout_of(robot), tmp_path / "run.npz")
    with np.load(file) as plain:
        contents = dict(plain)
    contents["joint_pos_rad"][3, 0] = np.nan
    np.savez(file, **contents)
    with pytest.raises(HaloidError, match=r"run.npz: joint_pos_rad: NaN or infinite in 1 row"):
        read_real_data([tmp_path], robot)
    contents["meta"] = np.array(json.dumps(json.loads(str(contents["meta"])) | {"format": "other"}))
    np.savez(file, **contents)
    with pytest.raises(HaloidError, match=r"run.npz: meta: format: 'other'"):
        read_real_data([file], robot)


def test_an_empty_folder_is_refused(robot, tmp_path: Path):
    with pytest.raises(HaloidError, match="no rollout to learn from"):
        read_real_data([tmp_path], robot)
