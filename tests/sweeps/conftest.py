"""The processes of the jobs find the functions in tests/sweeps/work.py."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _work_is_importable(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
