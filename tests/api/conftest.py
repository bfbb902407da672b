"""A folder as a user has it: logs/ with small recordings, and out/result that was identified from them."""

from pathlib import Path

import pytest
from tests.small_recordings import write_small_recordings

import haloid

LINKS = ["torso_link", "left_wrist_yaw_link", "right_wrist_yaw_link"]


@pytest.fixture(scope="session")
def user_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("user")
    (folder / "logs").mkdir()
    write_small_recordings(folder / "logs")
    return folder


@pytest.fixture(scope="session")
def result(user_folder: Path) -> haloid.Result:
    """One stage, which takes a second; saved as out/result."""
    loaded = haloid.read(user_folder / "logs" / "loaded-*.csv")
    result = haloid.identify([], loaded, LINKS, stages="one", fragments=4, rows=8)
    result.save(user_folder / "out" / "result")
    return result


@pytest.fixture
def in_user_folder(user_folder: Path, result: haloid.Result, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(user_folder)
    return user_folder
