"""Motions as one table of frames."""

from dataclasses import replace

import numpy as np
import pytest
from tests.recordings.words import assert_words

from haloid.errors import HaloidError
from haloid.skills.task.reference import reference_of
from haloid.trajectories.kinematics import BodyStates
from haloid.trajectories.motion import Motion


def cut(motion: Motion, start: int, end: int) -> Motion:
    bodies = motion.bodies
    arrays = (bodies.pos_w_m, bodies.quat_wxyz, bodies.lin_vel_w_m_s, bodies.ang_vel_w_rad_s)
    return Motion(
        motion.trajectory.rows(slice(start, end)),
        BodyStates(bodies.body_names, *(values[start:end] for values in arrays)),
    )


def test_joints_and_bodies_are_found_by_name(robot, motion):
    """A motion whose joints and bodies are told in another order is the same reference."""
    joints, bodies = np.random.default_rng(1).permutation(29), np.random.default_rng(2).permutation(30)
    shuffled = Motion(
        replace(
            motion.trajectory,
            joint_names=tuple(motion.joint_names[row] for row in joints),
            joint_pos_rad=motion.joint_pos_rad[:, joints],
            joint_vel_rad_s=motion.joint_vel_rad_s[:, joints],
        ),
        motion.bodies.ordered([motion.body_names[row] for row in bodies]),
    )
    straight, found = reference_of(robot, [motion]).frames, reference_of(robot, [shuffled]).frames
    knee = robot.joint_names.index("left_knee_joint")
    np.testing.assert_array_equal(
        found.joint_pos[:, knee], motion.joint_pos_rad[:, motion.joint_names.index("left_knee_joint")].astype("f4")
    )
    for name in straight.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(found, name), getattr(straight, name))
        assert getattr(found, name).dtype == np.float32


def test_several_motions_lie_one_after_the_other(robot, motion):
    first, second = cut(motion, 0, 30), cut(motion, 40, 52)
    reference = reference_of(robot, [first, second], ["a", "b"])
    assert (len(reference), reference.names) == (42, ("a", "b"))
    assert (reference.first.tolist(), reference.last.tolist()) == ([0, 30], [29, 41])
    assert reference.motion_of_frame.tolist() == [0] * 30 + [1] * 12
    np.testing.assert_array_equal(reference.frames.joint_pos[30:], second.joint_pos_rad.astype(np.float32))
    some = reference.frames.at(np.array([31, 2]))
    np.testing.assert_array_equal(some.body_pos_w[1], reference.frames.body_pos_w[2])
    assert len(some) == 2


def test_motions_that_cannot_be_tracked_are_refused(robot, motion):
    with pytest.raises(HaloidError, match="no motion to track"):
        reference_of(robot, [])
    with pytest.raises(HaloidError) as refusal:
        reference_of(robot, [motion, replace(motion, trajectory=replace(motion.trajectory, rate_hz=30.0))])
    assert_words(str(refusal.value), "30 frames per second", "50 Hz", "haloid motions convert", "--fps 50")
    with pytest.raises(HaloidError, match="at least two frames; found 1"):
        reference_of(robot, [cut(motion, 0, 1)])
    names = ("odd", *motion.joint_names[1:])
    renamed = replace(motion, trajectory=replace(motion.trajectory, joint_names=names))
    with pytest.raises(HaloidError, match=f"does not say where these are: {motion.joint_names[0]}"):
        reference_of(robot, [renamed])
