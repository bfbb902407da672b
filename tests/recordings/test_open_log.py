"""A log with its json beside it: what the json may say, and the words for what it may not."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.identify.arm import write_arm

from haloid.recordings.errors import RecordingError
from haloid.recordings.open_log import open_log


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A csv without a header: time, three angles, three currents."""
    write_arm(tmp_path)
    time_s = 0.01 * np.arange(100)
    q_rad = 0.3 * np.sin(np.outer(time_s, [3.0, 4.0, 5.0]))
    np.savetxt(tmp_path / "run.csv", np.column_stack([time_s, q_rad, 2 * q_rad]), delimiter=",", fmt="%.17g")
    return tmp_path / "run.csv"


SAID = {
    "format": "haloid-log-1",
    "robot": "arm.xml",
    "columns": {"time": 0, "q": "1-3", "current": "4-6"},
    "actuation": "torque",
    "nm_per_a": {"shoulder": 10, "elbow": 5.0, "wrist": 2.0},
}


def test_columns_and_drive_constants_of_the_json(table: Path):
    table.with_suffix(".json").write_text(json.dumps(SAID))
    recording = open_log(table)
    assert recording.actuation == "torque" and recording.tau_nm is not None
    np.testing.assert_allclose(recording.tau_nm, 2 * recording.q_rad * [10, 5, 2])


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"actuation": "speed"}, "key 'actuation': found 'speed'. Expected one of 'position', 'torque'"),
        ({"angles": "grad"}, "key 'angles': found 'grad'. Expected one of 'rad', 'deg'"),
        ({"columns": ["time"]}, "key 'columns': found ['time']. Expected an object of columns by name"),
        ({"columns": {"time": None}}, "key 'columns': found {'time': None}. Expected an object of columns"),
        ({"nm_per_a": {"elbow": "5"}}, "key 'nm_per_a': found {'elbow': '5'}. Expected an object of numbers by joint"),
        ({"format": "haloid-log-2"}, "Expected haloid-log-1 for a robot's log"),
    ],
)
def test_what_the_json_may_not_say(table: Path, changed: dict, words: str):
    table.with_suffix(".json").write_text(json.dumps(SAID | changed))
    with pytest.raises(RecordingError) as caught:
        open_log(table)
    assert words in str(caught.value)


def test_a_broken_json_is_told_where(table: Path):
    table.with_suffix(".json").write_text('{"format": "haloid-log-1", }')
    with pytest.raises(RecordingError, match=r"run.json: line 1, character \d+: not valid json"):
        open_log(table)
