"""Tables and datasets: the names that scripts, PlotJuggler and LeRobot give to columns."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from haloid.recordings.errors import RecordingError
from haloid.recordings.logs.column_names import channel_and_joint_of, time_unit_s
from haloid.recordings.logs.convert import LogOptions, read_log
from haloid.recordings.logs.unitree_messages import G1_MOTORS
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
    assert channel_and_joint_of(column, G1_MOTORS) == (channel, "left_knee_joint")


def test_other_names():
    assert [channel_and_joint_of(name, G1_MOTORS) for name in ("q_40", "imu", "q_tail", "motor_state[3].vol")] == [
        None
    ] * 4
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
        ("timestamp_ms", "stempel", "there is no column of time"),
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
