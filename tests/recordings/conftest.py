"""A valid recording of the G1, and a pair of files of it to spoil in one place at a time."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from haloid.recordings.errors import RecordingError
from haloid.recordings.files.read import read_recording
from haloid.recordings.files.write import write_recording
from haloid.recordings.recording import Recording
from haloid.robots.load import actuated_joints, load_spec

ROWS = 60
PERIOD_S = 0.02


@pytest.fixture(scope="session")
def recording() -> Recording:
    """1.2 s of all joints swinging around the middle of their ranges; its smallest angles are near 0.1 rad."""
    model = load_spec("g1").compile()
    joints = actuated_joints(model)
    limits = np.array([model.joint(joint).range for joint in joints])
    time_s = np.arange(ROWS) * PERIOD_S
    phase = np.arange(len(joints))
    amplitude_rad = 0.2 * (limits[:, 1] - limits[:, 0])
    q_rad = limits.mean(axis=1) + amplitude_rad * np.sin(9.0 * time_s[:, None] + phase)
    return Recording(
        name="swing",
        robot="g1",
        clamp="left_ankle_roll_link",
        joint_names=joints,
        time_s=time_s,
        q_rad=q_rad,
        target_rad=q_rad + 0.01 * np.cos(time_s)[:, None],
        kp=np.linspace(40.0, 120.0, len(joints)),
        kd=np.linspace(1.0, 7.0, len(joints)),
        payload="none",
        note="swing",
    )


class RunFiles:
    """NAME.csv and NAME.json on disk. Rows count from 1, as in messages."""

    def __init__(self, recording: Recording, folder: Path):
        self.csv = write_recording(recording, folder / "run.csv")
        self.json = folder / "run.json"

    def rows(self) -> list[list[str]]:
        return [line.split(",") for line in self.csv.read_text().splitlines()]

    def write_rows(self, rows: list[list[str]]) -> None:
        self.csv.write_text("".join(",".join(row) + "\n" for row in rows))

    def set_cell(self, column: str, row: int, text: str) -> None:
        rows = self.rows()
        rows[row][rows[0].index(column)] = text
        self.write_rows(rows)

    def map_column(self, column: str, function: Callable[[float], float]) -> None:
        rows = self.rows()
        index = rows[0].index(column)
        for row in rows[1:]:
            row[index] = repr(function(float(row[index])))
        self.write_rows(rows)

    def rename(self, old: str, new: str) -> None:
        rows = self.rows()
        rows[0][rows[0].index(old)] = new
        self.write_rows(rows)

    def drop(self, prefix: str) -> None:
        rows = self.rows()
        kept = [i for i, name in enumerate(rows[0]) if not name.startswith(prefix)]
        self.write_rows([[row[i] for i in kept] for row in rows])

    def add_column(self, column: str, cells: list[str]) -> None:
        rows = self.rows()
        self.write_rows([[*row, cell] for row, cell in zip(rows, [column, *cells], strict=True)])

    def set_meta(self, **values: object) -> None:
        self.json.write_text(json.dumps(json.loads(self.json.read_text()) | values))

    def drop_meta(self, key: str) -> None:
        meta = json.loads(self.json.read_text())
        del meta[key]
        self.json.write_text(json.dumps(meta))

    def read(self, **options: bool) -> Recording:
        return read_recording(self.csv, **options)

    def error(self, **options: bool) -> str:
        with pytest.raises(RecordingError) as caught:
            read_recording(self.csv, **options)
        return str(caught.value)


@pytest.fixture
def run(recording: Recording, tmp_path: Path) -> RunFiles:
    return RunFiles(recording, tmp_path)
