"""Cutting recordings: rows, history, joint order, gains."""

from dataclasses import replace

import numpy as np
import pytest

from haloid.engines.fragments import Fragments, cut
from haloid.recordings.recording import Recording

JOINTS = ("hip", "knee", "ankle")
ROWS = 30


def recording(**changes) -> Recording:
    """Every number tells its row and joint: row + joint/10, targets 100 more, velocities 200 more."""
    numbers = np.arange(ROWS)[:, None] + np.arange(3) / 10
    made = Recording(
        name="run",
        robot="g1",
        clamp=None,
        joint_names=JOINTS,
        time_s=np.arange(ROWS) * 0.02,
        q_rad=numbers,
        target_rad=numbers + 100,
        kp=np.array([1.0, 2.0, 3.0]),
        kd=np.array([0.1, 0.2, 0.3]),
    )
    return replace(made, **changes)


def cut_one(made: Recording, start: int = 7, rows: int = 4, joints=JOINTS, history: int = 3) -> Fragments:
    return cut([made], [np.array([start])], rows, joints, timestep_s=0.005, history=history)


def test_a_fragment_is_its_rows_with_the_inputs_before_its_start():
    fragments = cut_one(recording())
    assert (fragments.count, fragments.rows, fragments.substeps, fragments.history) == (1, 4, 4, 3)
    np.testing.assert_array_equal(fragments.readings[0, :, 0], [7, 8, 9, 10, 11])
    np.testing.assert_array_equal(fragments.inputs[0, :, 0], [104, 105, 106, 107, 108, 109, 110])
    assert fragments.velocities is None and not fragments.torque_mode
    np.testing.assert_array_equal(fragments.kp, [1, 2, 3])
    np.testing.assert_array_equal(fragments.kd, [0.1, 0.2, 0.3])


@pytest.mark.parametrize("start", [0, 2])
def test_before_a_recording_its_first_input_is_held(start):
    fragments = cut_one(recording(), start=start, rows=2)
    expected = np.maximum(np.arange(start - 3, start + 2), 0) + 100
    np.testing.assert_array_equal(fragments.inputs[0, :, 0], expected)


def test_the_last_row_can_end_a_fragment():
    np.testing.assert_array_equal(cut_one(recording(), start=25).readings[0, :, 0], [25, 26, 27, 28, 29])


def test_columns_come_in_the_order_that_is_asked_for():
    made = recording(dq_rad_s=recording().q_rad + 200)
    fragments = cut_one(made, joints=("ankle", "hip", "knee"))
    order = [0.2, 0.0, 0.1]
    np.testing.assert_allclose(fragments.readings[0, 0], np.add(7, order))
    np.testing.assert_allclose(fragments.inputs[0, 3], np.add(107, order))
    assert fragments.velocities is not None
    np.testing.assert_allclose(fragments.velocities[0, 0], np.add(207, order))
    np.testing.assert_array_equal(fragments.kp, [3, 1, 2])
    np.testing.assert_array_equal(fragments.kd, [0.3, 0.1, 0.2])


def test_velocities_are_there_only_if_all_recordings_have_them():
    measured = recording(dq_rad_s=recording().q_rad + 200)
    starts = [np.array([3, 9]), np.array([5])]
    assert cut([measured, recording()], starts, 4, JOINTS, 0.005).velocities is None
    velocities = cut([measured, measured], starts, 4, JOINTS, 0.005).velocities
    assert velocities is not None
    np.testing.assert_array_equal(velocities[:, 0, 0], [203, 209, 205])


def test_fragments_know_where_they_are_from():
    fragments = cut([recording(), recording()], [np.array([3, 9]), np.array([5])], 4, JOINTS, 0.005)
    np.testing.assert_array_equal(fragments.recording_index, [0, 0, 1])
    np.testing.assert_array_equal(fragments.start_row, [3, 9, 5])
    np.testing.assert_array_equal(fragments.readings[:, 0, 0], [3, 9, 5])


@pytest.mark.parametrize("varied", ["kp", "kd", "both"])
def test_gains_that_change_from_row_to_row_are_those_of_the_rows(varied):
    changing = np.arange(ROWS)[:, None] + np.array([1.0, 2.0, 3.0])
    kp = changing if varied != "kd" else recording().kp
    kd = changing / 10 if varied != "kp" else recording().kd
    fragments = cut_one(recording(kp=kp, kd=kd), joints=("ankle", "hip", "knee"))
    assert fragments.gains_vary and fragments.kp.shape == fragments.kd.shape == (1, 4, 3)
    np.testing.assert_allclose(fragments.kp[0, 2], np.array([3, 1, 2]) + (9 if varied != "kd" else 0))
    np.testing.assert_allclose(fragments.kd[0, 2], (np.array([3, 1, 2]) + (9 if varied != "kp" else 0)) / 10)


def test_gains_that_differ_between_recordings_stay_with_their_recording():
    stiff = recording(kp=np.array([10.0, 20.0, 30.0]))
    fragments = cut([recording(), stiff], [np.array([3]), np.array([5])], 4, JOINTS, 0.005)
    np.testing.assert_array_equal(fragments.kp[:, 0], [[1, 2, 3], [10, 20, 30]])
    np.testing.assert_array_equal(fragments.kd[:, 0], [[0.1, 0.2, 0.3]] * 2)


def test_gains_given_row_by_row_but_constant_are_constant():
    fragments = cut_one(recording(kp=np.tile([1.0, 2.0, 3.0], (ROWS, 1))))
    assert not fragments.gains_vary
    np.testing.assert_array_equal(fragments.kp, [1, 2, 3])


def test_in_torque_mode_the_inputs_are_torques():
    made = recording(actuation="torque", tau_nm=recording().q_rad + 300, target_rad=None, kp=None, kd=None)
    fragments = cut_one(made)
    assert fragments.torque_mode
    assert fragments.ahead == 3  # torques may be told late
    np.testing.assert_array_equal(fragments.inputs[0, :, 0], np.arange(304, 314))
    np.testing.assert_array_equal([fragments.kp, fragments.kd], np.zeros((2, 3)))


def changing_fragments() -> Fragments:
    changing = np.arange(ROWS)[:, None] + np.ones(3)
    made = recording(kp=changing, kd=changing, dq_rad_s=recording().q_rad + 200)
    return cut([made], [np.array([3, 9, 20])], 4, JOINTS, 0.005)


def test_shortened_fragments_are_fragments_cut_shorter():
    whole = changing_fragments()
    short = whole.shortened(2)
    assert short.rows == 2 and whole.shortened(9) is whole
    np.testing.assert_array_equal(short.readings, whole.readings[:, :3])
    np.testing.assert_array_equal(short.velocities, whole.velocities[:, :3])  # pyright: ignore[reportOptionalSubscript]
    np.testing.assert_array_equal(short.inputs, whole.inputs[:, :5])
    np.testing.assert_array_equal(short.kp, whole.kp[:, :2])
    np.testing.assert_array_equal(short.kd, whole.kd[:, :2])


@pytest.mark.parametrize("which", [np.array([2, 0]), np.array([True, False, True])])
def test_chosen_fragments_keep_all_that_is_theirs(which):
    whole = changing_fragments()
    some = whole.chosen(which)
    for field in ("readings", "velocities", "inputs", "kp", "kd", "recording_index", "start_row"):
        np.testing.assert_array_equal(getattr(some, field), getattr(whole, field)[which])
    constant = cut([recording()], [np.array([3, 9, 20])], 4, JOINTS, 0.005).chosen(which)
    np.testing.assert_array_equal(constant.kp, [1, 2, 3])
