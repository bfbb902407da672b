"""Tables and datasets: the names that scripts, PlotJuggler and LeRobot give to columns."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.identify.arm import write_arm
from tests.recordings.logs.write_bag import G1_MOTORS

from haloid.errors import HaloidError
from haloid.recordings.errors import RecordingError
from haloid.recordings.files.read import read_recording
from haloid.recordings.files.write import write_recording
from haloid.recordings.logs.column_map import parse_columns
from haloid.recordings.logs.column_names import channel_and_joint_of, time_unit_s
from haloid.recordings.logs.convert import LogOptions, read_log
from haloid.recordings.recording import Recording

GAINS = LogOptions(clamp="left_ankle_roll_link", gains="stiff")


@pytest.mark.parametrize(
    ("column", "channel"),
    [
        ("q_3", "q"), ("q[3]", "q"), ("dq_left_knee_joint", "dq"), ("left_knee.pos", "q"), ("q:left_knee_joint", "q"),
        ("/lowstate/motor_state[3]/q", "q"), ("motor_state[3].tau_est", "tau"), ("motor_cmd[3].q", "target"),
        ("/lowcmd/motor_cmd[3]/kp", "kp"), ("q_des_3", "target"), ("action_left_knee", "target"),
        ("tau_ff_3", "tau_ff"),
    ],
)  # fmt: skip
def test_column_names(column: str, channel: str):
    assert channel_and_joint_of(column, G1_MOTORS, G1_MOTORS) == (channel, "left_knee_joint")


def test_other_names():
    assert [
        channel_and_joint_of(name, G1_MOTORS, G1_MOTORS) for name in ("q_40", "imu", "q_tail", "motor_state[3].vol")
    ] == [None] * 4
    assert [time_unit_s(name) for name in ("__time", "timestamp_us", "tick", "torque")] == [1.0, 1e-6, 1e-3, None]


def write_csv(swing: Recording, file: Path) -> None:
    assert swing.target_rad is not None
    names = ["timestamp_ms", *(f"q_{i}" for i in range(29)), *(f"q_des_{i}" for i in range(29))]
    table = np.column_stack([1e3 * swing.time_s + 77, swing.q_rad, swing.target_rad])
    np.savetxt(file, table, delimiter=",", header=",".join(names), comments="", fmt="%.17g")


def test_csv_by_motor_number(swing: Recording, tmp_path: Path):
    write_csv(swing, tmp_path / "run.csv")
    recording = read_log(tmp_path / "run.csv", GAINS)
    np.testing.assert_allclose(recording.q_rad, swing.q_rad, atol=1e-12)
    np.testing.assert_allclose(recording.target_rad, swing.target_rad, atol=1e-12)
    assert recording.kp is not None and recording.kp[3] == 600
    assert "rows as logged" in recording.note


def test_an_uneven_loop_keeps_its_own_times(swing: Recording, tmp_path: Path):
    """8 to 13 ms a row, none lost: no even clock fits, and none is made up."""
    stamps_s = np.r_[0.0, np.cumsum(np.random.default_rng(0).uniform(0.008, 0.013, 999))]
    write_csv(replace(swing, time_s=stamps_s), tmp_path / "run.csv")
    recording = read_log(tmp_path / "run.csv", GAINS)
    np.testing.assert_allclose(recording.time_s, stamps_s, atol=1e-9)
    assert (
        "0 lost" in recording.note and "rows as logged, uneven, at their own times; 0 rows left out" in recording.note
    )
    resampled = read_log(tmp_path / "run.csv", replace(GAINS, rate_hz=100))
    assert resampled.is_even and len(resampled.time_s) == pytest.approx(100 * stamps_s[-1], abs=2)


def test_late_stamps_of_a_steady_loop_become_even(swing: Recording, tmp_path: Path):
    late_s = 0.01 * np.arange(1000) + 0.004 * np.random.default_rng(0).random(1000)
    write_csv(replace(swing, time_s=late_s), tmp_path / "run.csv")
    recording = read_log(tmp_path / "run.csv", GAINS)
    np.testing.assert_allclose(np.diff(recording.time_s), 0.01, rtol=1e-3)


def test_resampled_readings_remember_the_encoders_step(swing: Recording, tmp_path: Path):
    step_rad = 2 * np.pi / 4096
    coarse = replace(swing, q_rad=step_rad * np.round(swing.q_rad / step_rad))
    write_csv(coarse, tmp_path / "run.csv")
    as_logged = read_log(tmp_path / "run.csv", GAINS)
    assert as_logged.encoder_step_rad is None
    np.testing.assert_allclose(as_logged.least_noise_rad, step_rad / np.sqrt(12), rtol=1e-6)
    resampled = read_log(tmp_path / "run.csv", replace(GAINS, rate_hz=130))
    np.testing.assert_allclose(resampled.least_noise_rad, step_rad / np.sqrt(12), rtol=1e-6)
    written = read_recording(write_recording(resampled, tmp_path / "out"))
    np.testing.assert_allclose(written.least_noise_rad, step_rad / np.sqrt(12), rtol=1e-6)


def test_csv_of_two_topics_with_empty_cells(swing: Recording, tmp_path: Path):
    assert swing.target_rad is not None
    lines = [",".join(["__time", *(f"/lowstate/motor_state[{i}]/q" for i in range(29)),
                       *(f"/lowcmd/motor_cmd[{i}]/q" for i in range(29))])]  # fmt: skip
    for time_s, q, target in zip(swing.time_s, swing.q_rad, swing.target_rad, strict=True):
        lines.append(",".join([repr(float(time_s)), *map(repr, q.tolist()), *[""] * 29]))
        lines.append(",".join([repr(float(time_s) + 0.0005), *[""] * 29, *map(repr, target.tolist())]))
    (tmp_path / "run.csv").write_text("\n".join(lines) + "\n")
    recording = read_log(tmp_path / "run.csv", GAINS)
    np.testing.assert_allclose(recording.target_rad, swing.target_rad[:999], atol=1e-6)
    np.testing.assert_allclose(
        recording.q_rad[1:-1], (swing.q_rad + np.gradient(swing.q_rad, axis=0) / 4)[1:998], atol=1e-4
    )


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_arrays_by_channel(swing: Recording, tmp_path: Path, kind: str):
    assert swing.target_rad is not None
    arrays = {"time": swing.time_s, "q": np.rad2deg(swing.q_rad), "target": np.rad2deg(swing.target_rad)}
    file = tmp_path / f"run.{kind}"
    if kind == "npz":
        np.savez(file, **arrays)
    else:
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.table({name: values.tolist() for name, values in arrays.items()}), file)
    recording = read_log(file, replace(GAINS, angles="deg"))
    np.testing.assert_allclose(recording.q_rad, swing.q_rad, atol=1e-12)
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(RecordingError, match="cut off"):
        read_log(file, GAINS)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("timestamp_ms", "stempel", "there is no time column"),
        ("q_des_", "wanted_", "there are no commands"),
        ("q_des_7", "x", "the channel target has 28 joints; missing: 'right_hip_roll_joint'"),
    ],
)
def test_a_table_that_lacks_something(swing: Recording, tmp_path: Path, old: str, new: str, words: str):
    write_csv(swing, tmp_path / "run.csv")
    header, rest = (tmp_path / "run.csv").read_text().split("\n", 1)
    (tmp_path / "run.csv").write_text(f"{header.replace(old, new)}\n{rest}")
    with pytest.raises(RecordingError, match=words):
        read_log(tmp_path / "run.csv", GAINS)


def test_lerobot(swing: Recording, tmp_path: Path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    assert swing.target_rad is not None
    names = [f"{name}.pos" for name in reversed(G1_MOTORS)]
    features = {name: {"dtype": "float32", "shape": [29], "names": names} for name in ("observation.state", "action")}
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta" / "info.json").write_text(json.dumps({"codebase_version": "v3.0", "features": features}))
    folder = tmp_path / "data" / "chunk-000"
    folder.mkdir(parents=True)
    half = len(swing.time_s) // 2
    for file, rows in ((0, slice(0, half)), (1, slice(half, None))):
        table = {
            "timestamp": swing.time_s[rows],
            "episode_index": np.full(half, 3),
            "observation.state": swing.q_rad[rows, ::-1].tolist(),
            "action": swing.target_rad[rows, ::-1].tolist(),
        }
        parquet.write_table(arrow.table(table), folder / f"file-00{file}.parquet")
    recording = read_log(tmp_path, replace(GAINS, episode=3))
    np.testing.assert_allclose(recording.q_rad, swing.q_rad, atol=1e-12)
    with pytest.raises(RecordingError, match=r"there is no episode 0; the dataset has 3 to 3.*Give --episode"):
        read_log(tmp_path, GAINS)


ARM_JOINTS = ("shoulder", "elbow", "wrist")


@pytest.fixture
def arm_table(tmp_path: Path) -> tuple[LogOptions, np.ndarray]:
    """The small arm, and 200 rows of time, three angles and three targets."""
    time_s = 0.01 * np.arange(200)
    q_rad = 0.3 * np.sin(np.outer(time_s, [3.0, 4.0, 5.0]))
    return LogOptions(robot=write_arm(tmp_path)), np.column_stack([time_s, q_rad, 1.1 * q_rad])


def write_table(file: Path, table: np.ndarray, names: list[str] | None = None) -> Path:
    header = "" if names is None else ",".join(names)
    np.savetxt(file, table, delimiter=",", fmt="%.17g", header=header, comments="")
    if names is None:
        file.write_text(file.read_text().lstrip("\n"))
    return file


def test_numbers_are_the_joints_of_any_robot(arm_table, tmp_path: Path):
    options, table = arm_table
    names = ["time", "q_0", "q_1", "q_2", "tau_cmd_0", "tau_cmd_1", "tau_cmd_2"]
    recording = read_log(write_table(tmp_path / "run.csv", table, names), options)
    assert recording.joint_names == ARM_JOINTS and recording.actuation == "torque"
    np.testing.assert_allclose(recording.q_rad, table[:, 1:4])
    assert recording.tau_nm is not None
    np.testing.assert_allclose(recording.tau_nm, table[:, 4:])


@pytest.mark.parametrize("names", [None, ["t", "a0", "a1", "a2", "w_shoulder", "w_elbow", "w_wrist"]])
def test_columns_by_a_mapping(arm_table, tmp_path: Path, names: list[str] | None):
    options, table = arm_table
    file = write_table(tmp_path / "run.csv", table, names)
    with pytest.raises(RecordingError, match="--columns"):
        read_log(file, options)
    words = ["time=0", "q=1-3", "tau_ff=4-6"] if names is None else ["time=t", "q=a{}", "tau_ff=w_{}"]
    recording = read_log(file, replace(options, columns=parse_columns(words)))
    np.testing.assert_allclose(recording.q_rad, table[:, 1:4])
    assert recording.tau_nm is not None
    np.testing.assert_allclose(recording.tau_nm, table[:, 4:])


def test_a_mapping_in_a_file(tmp_path: Path):
    file = tmp_path / "map.yaml"
    file.write_text('time: 0\n"q:elbow": pos_el\n')
    assert parse_columns([str(file)]) == {"time": "0", "q:elbow": "pos_el"}
    file.write_text("- 1\n")
    with pytest.raises(HaloidError, match="expected NAME: COLUMN lines"):
        parse_columns([str(file)])
    with pytest.raises(HaloidError, match="cannot be read"):
        parse_columns([str(tmp_path / "none.yaml")])
    with pytest.raises(HaloidError, match="expected NAME=COLUMN"):
        parse_columns(["time", "q=1"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["time=t", "q=b{}"], "there is no column 'b0' among"),
        (["time=t", "q=1-2"], "2 columns for the robot's 3 joints"),
        (["time=t", "q:elbows=a1"], "Did you mean 'q:elbow'?"),
        (["time=t", "q=a{}"], "there are no commands"),
        (["q=a{}"], "there is no time column"),
    ],
)
def test_a_mapping_that_does_not_fit(arm_table, tmp_path: Path, words: list[str], message: str):
    options, table = arm_table
    file = write_table(tmp_path / "run.csv", table, ["t", "a0", "a1", "a2", "b_0", "b_1", "b_2"])
    with pytest.raises(RecordingError) as caught:
        read_log(file, replace(options, columns=parse_columns(words)))
    assert message in str(caught.value)


def test_currents_as_the_command(arm_table, tmp_path: Path):
    options, table = arm_table
    names = ["time", *(f"q_{i}" for i in range(3)), *(f"current_{i}" for i in range(3))]
    file = write_table(tmp_path / "run.csv", table, names)
    with pytest.raises(RecordingError, match="--actuation torque"):
        read_log(file, options)
    with pytest.raises(RecordingError, match="currents without drive constants"):
        read_log(file, replace(options, actuation="torque"))
    with pytest.raises(RecordingError, match="no drive constant for 'wrist'"):
        read_log(file, replace(options, actuation="torque", nm_per_a={"shoulder": 10.0, "elbow": 5.0}))
    constants = {"shoulder": 10.0, "elbow": 5.0, "wrist": 2.0}
    recording = read_log(file, replace(options, actuation="torque", nm_per_a=constants))
    assert recording.actuation == "torque" and recording.tau_nm is not None
    np.testing.assert_allclose(recording.tau_nm, table[:, 4:] * [10.0, 5.0, 2.0])
    assert "the measured torques are taken as the commands" in recording.note


def test_a_row_with_a_hole_is_left_out_and_the_others_stay(arm_table, tmp_path: Path):
    options, table = arm_table
    names = ["time", *(f"q_{i}" for i in range(3)), *(f"tau_cmd_{i}" for i in range(3))]
    table[40:44, 2] = np.nan
    recording = read_log(write_table(tmp_path / "run.csv", table, names), options, allow_gaps=True)
    np.testing.assert_array_equal(recording.q_rad, np.delete(table, range(40, 44), axis=0)[:, 1:4])
    assert "4 rows without complete states or commands left out" in recording.note
    assert "rows as logged" in recording.note


def test_absurd_rows_are_left_out_and_told(arm_table, tmp_path: Path):
    options, table = arm_table
    names = ["time", *(f"q_{i}" for i in range(3)), *(f"tau_cmd_{i}" for i in range(3))]
    table[50, 2], table[120, 5] = 1e282, -1e30
    recording = read_log(write_table(tmp_path / "run.csv", table, names), options, allow_gaps=True)
    assert len(recording.time_s) == 198 and np.abs(recording.q_rad).max() < 1
    assert "2 rows with absurd numbers left out" in recording.note
    table[:50, 2] = 1e282
    with pytest.raises(RecordingError, match="52 of 200 rows hold numbers that no robot could send"):
        read_log(write_table(tmp_path / "run.csv", table, names), options)
