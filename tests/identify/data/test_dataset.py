"""Recordings to fragments: where they may start, what is known of their states, and which do not belong together."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.identify.arm import CONTROL_DT_S, TIMESTEP_S, blank, heavier_hand, played, simulator_of, write_arm

from haloid.identify.data.dataset import DataError, Dataset, build_simulator, check_agreement, prepare
from haloid.identify.data.usable import motion_of, saturated
from haloid.recordings.recording import Recording

ROWS = 10


@pytest.fixture
def run(tmp_path) -> Recording:
    recording = blank(write_arm(tmp_path))
    simulator = simulator_of(recording)
    return played(recording, simulator, heavier_hand(simulator.nominal), noise_rad=5e-4)


def prepared(*recordings: Recording, rows: int = ROWS, fragments: int = 100, held_out: float = 0.0) -> Dataset:
    simulator = simulator_of(recordings[0])
    return prepare(recordings, simulator, rows=rows, fragments_per_recording=fragments, held_out_share=held_out)


def without(recording: Recording, rows: slice) -> Recording:
    """The log with some rows lost."""
    kept = np.ones(len(recording.time_s), bool)
    kept[rows] = False
    return replace(
        recording,
        time_s=recording.time_s[kept],
        q_rad=recording.q_rad[kept],
        target_rad=recording.target_rad[kept],
    )


def covered(dataset: Dataset) -> np.ndarray:
    return np.concatenate([np.arange(start, start + ROWS + 1) for start in dataset.fragments.start_row])


def test_no_reading_is_used_twice(run):
    """A reading in two fragments would count as two measurements and make the error bars too small."""
    dataset = prepared(run)
    rows = covered(dataset)
    assert len(rows) == len(set(rows)) > 0.9 * len(run.time_s)


def test_fragments_are_spread_over_the_whole_run(run):
    starts = prepared(run, fragments=8).fragments.start_row
    assert len(starts) == 8
    assert starts[0] < 20 and starts[-1] > len(run.time_s) - 40
    assert np.ptp(np.diff(starts)) <= ROWS + 1


def test_no_fragment_spans_a_gap(run):
    gappy = without(without(run, slice(200, 203)), slice(90, 91))
    dataset = prepared(gappy)
    for start in dataset.fragments.start_row:
        before = max(start - 5, 0)  # the inputs that delayed commands come from
        assert np.ptp(np.diff(gappy.time_s[before : start + ROWS + 1])) < 1e-9
    assert dataset.fragments.count >= 25


def test_velocities_are_not_smoothed_across_a_gap(run):
    gappy = without(run, slice(150, 190))
    dataset = prepared(gappy, fragments=200)
    simulator = simulator_of(run)
    true = played(run, simulator, heavier_hand(simulator.nominal))
    velocity = np.gradient(true.q_rad, CONTROL_DT_S, axis=0)
    rows = np.searchsorted(run.time_s, gappy.time_s[dataset.fragments.start_row] - 1e-9)
    assert np.abs(dataset.states[:, 3:] - velocity[rows]).max() < 0.15


def test_joint_stops_are_left_out(run, caplog):
    stopped = replace(run, q_rad=run.q_rad.copy())
    stopped.q_rad[100:110, 1] = 1.9995
    rows = covered(prepared(stopped))
    assert not set(rows) & set(range(100, 110))
    assert len(rows) > 300
    assert caplog.messages == ["arm run: 10 of 400 rows are left out, because a joint is at its stop there"]


def test_saturated_servos_are_kept(run):
    pushed = replace(run, target_rad=run.target_rad.copy())
    pushed.target_rad[50:60, 2] += 4.0  # 80 N·m at kp 20, and the motor has 60
    assert np.array_equal(covered(prepared(pushed)), covered(prepared(run)))
    assert set(range(50, 60)) <= set(covered(prepared(pushed)))


def test_gains_that_change_are_counted_in_saturation(run):
    kp = np.broadcast_to(run.kp, (len(run.time_s), 3)).copy()
    kp[50:60, 2] = 2e5
    stiff = replace(run, kp=kp, kd=np.broadcast_to(run.kd, kp.shape))
    simulator = simulator_of(stiff)
    assert not saturated(motion_of(run, simulator), simulator).any()
    at_limit = saturated(motion_of(stiff, simulator), simulator)
    assert at_limit[50:60, 2].mean() > 0.5 and not at_limit[:50].any() and not at_limit[60:].any()


def test_too_short_a_run_is_refused_in_words(run):
    short = without(run, slice(12, None))
    words = (
        "arm run has no 0.2 s without a gap or a joint at its stop; record longer, off the stops, or shorten the "
        "fragments"
    )
    with pytest.raises(DataError, match=f"^{re.escape(words)}$"):
        prepared(short)


@pytest.mark.parametrize(("share", "expected"), [(0.0, 0.0), (0.2, 0.2), (0.5, 0.5), (0.3, 1 / 3)])
def test_a_share_is_held_out(run, share, expected):
    dataset = prepared(run, run, fragments=15, held_out=share)
    assert dataset.fragments.count == 30
    assert dataset.held_out.mean() == pytest.approx(expected, abs=0.04)
    for number in (0, 1):  # of every recording
        assert dataset.held_out[dataset.fragments.recording_index == number].mean() == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("share", [-0.1, 0.7, 1.0])
def test_too_large_a_share_is_refused_in_words(run, share):
    words = f"a share of {share:g} of the fragments was to be held out; expected 0 to 0.5"
    with pytest.raises(DataError, match=f"^{re.escape(words)}"):
        prepared(run, held_out=share)


@pytest.mark.parametrize(("rows", "fragments"), [(2, 5), (10, 0)])
def test_too_few_rows_or_fragments_are_refused_in_words(run, rows, fragments):
    words = f"{fragments} fragments of {rows} control steps were asked for; expected at least 1 of at least 3"
    with pytest.raises(DataError, match=f"^{words}$"):
        prepared(run, rows=rows, fragments=fragments)


def test_first_guesses_are_close(run):
    """Positions within two, velocities within about forty times the noise a second (50 Hz)."""
    simulator = simulator_of(run)
    true = played(run, simulator, heavier_hand(simulator.nominal))
    dataset = prepared(run)
    starts = dataset.fragments.start_row
    velocity = np.gradient(true.q_rad, CONTROL_DT_S, axis=0)[starts]
    assert np.sqrt(np.mean((dataset.states[:, :3] - true.q_rad[starts]) ** 2)) < 1e-3
    off = dataset.states[:, 3:] - velocity
    assert np.all(np.abs(off) < 4 * dataset.velocity_std_rad_s)
    assert dataset.noise_rad == pytest.approx(5e-4, rel=0.15)


def test_measured_velocities_are_the_first_guesses(run):
    measured = replace(run, dq_rad_s=np.gradient(run.q_rad, CONTROL_DT_S, axis=0))
    dataset = prepared(measured)
    np.testing.assert_array_equal(dataset.states[:, 3:], measured.dq_rad_s[dataset.fragments.start_row])


def test_torque_runs_give_torque_fragments(tmp_path):
    recording = blank(write_arm(tmp_path), actuation="torque")
    simulator = simulator_of(recording)
    dataset = prepared(played(recording, simulator, simulator.nominal))
    fragments = dataset.fragments
    assert fragments.torque_mode and not fragments.kp.any()
    first = fragments.start_row[0]
    last = first + ROWS + fragments.ahead  # a log may tell torques late
    np.testing.assert_array_equal(fragments.inputs[0, fragments.history :], recording.tau_nm[first:last])


def test_one_robot_clamp_and_drive_at_a_time(run):
    other = replace(run, name="other", clamp="base")
    words = "other has clamp 'base' but arm run has None; identify recordings of one robot, clamp and support at a time"
    with pytest.raises(DataError, match=f"^{re.escape(words)}$"):
        check_agreement([run, other])
    with pytest.raises(DataError, match="has support 'double' but arm run has 'single'"):
        check_agreement([run, replace(run, support="double")])
    with pytest.raises(DataError, match="has actuation 'torque' but arm run has 'position'"):
        check_agreement([run, replace(run, actuation="torque")])
    check_agreement([run, replace(run, name="again")])


def test_recordings_are_named_by_their_files(run):
    other = replace(run, source=Path("/somewhere/second.csv"), robot="g1")
    with pytest.raises(DataError, match=r"^second.csv has robot 'g1' but arm run has "):
        check_agreement([run, other])


def test_one_set_of_gains(run):
    other = replace(run, name="other", kd=np.array([3.0, 2.5, 1.0]))
    words = (
        "other was recorded with kd 2.5 at elbow but arm run with 2; give the gains of each run as kd:JOINT columns, "
        "or identify runs with the same gains"
    )
    with pytest.raises(DataError, match=f"^{re.escape(words)}$"):
        check_agreement([run, other])
    rows = np.broadcast_to(other.kd, run.q_rad.shape)
    check_agreement([run, replace(other, kd=rows, kp=np.broadcast_to(run.kp, run.q_rad.shape))])


def test_one_rate(run):
    slower = replace(run, name="slower", time_s=1.25 * run.time_s)
    words = "slower has a row every 0.025 s but arm run every 0.02 s; resample them to one rate"
    with pytest.raises(DataError, match=f"^{re.escape(words)}$"):
        check_agreement([run, slower])


def test_one_clamp_pose(run):
    pose = np.array([0.0, 0, 1, 1, 0, 0, 0])
    turned = replace(run, name="turned", clamp_pose=pose)
    words = "turned and arm run disagree about clamp_pose; identify them separately"
    with pytest.raises(DataError, match=f"^{words}$"):
        check_agreement([run, turned])
    check_agreement([turned, replace(turned, clamp_pose=pose + 1e-12)])


def test_the_simulator_is_the_robot_as_it_was_driven(run):
    simulator = build_simulator(run, TIMESTEP_S)
    assert simulator.model.opt.timestep == TIMESTEP_S
    assert simulator.model.actuator_gainprm[:, 0].tolist() == [60.0, 40.0, 20.0]
    assert simulator.effort_limit.tolist() == [60.0] * 3
    torque = build_simulator(replace(run, actuation="torque", kp=None, kd=None), TIMESTEP_S)
    assert torque.model.actuator_gainprm[:, 0].tolist() == [1.0] * 3
