"""With HALOID_TEST_WHEEL set, the tests are of the installed wheel and of nothing else."""

import os
from pathlib import Path

import pytest

import haloid


def pytest_configure() -> None:
    found = Path(haloid.__file__)
    if os.environ.get("HALOID_TEST_WHEEL") and "site-packages" not in found.parts:
        pytest.exit(f"The tests of the wheel found haloid at {found}, not in a site-packages folder.", returncode=1)
