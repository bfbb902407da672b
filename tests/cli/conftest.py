"""Small real recordings of the lab's G1, made once for all tests of the commands."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.small_recordings import write_small_recordings


@pytest.fixture(scope="session")
def made_recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_recordings(tmp_path_factory.mktemp("recordings"))


@pytest.fixture
def recordings(made_recordings: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    folder = tmp_path / "recordings"
    shutil.copytree(made_recordings, folder)
    return folder


@pytest.fixture
def changed(recordings: Path) -> Callable[..., Path]:
    """Writes a copy of a recording whose json says something else; returns its csv."""

    def change(name: str, **says: object) -> Path:
        metadata = json.loads((recordings / f"{name}.json").read_text()) | says
        (recordings / "changed.json").write_text(json.dumps(metadata))
        return Path(shutil.copy(recordings / f"{name}.csv", recordings / "changed.csv"))

    return change
