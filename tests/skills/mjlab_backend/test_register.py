"""mjlab finds the tasks by itself, through the entry point of the installed package."""

import subprocess
import sys

import pytest

pytest.importorskip("mjlab")

pytestmark = pytest.mark.slow


def test_importing_mjlab_is_enough_for_its_commands_to_know_the_tasks():
    listing = "import mjlab, mjlab.tasks; from mjlab.tasks.registry import list_tasks; print(*list_tasks())"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, timeout=300)
    assert "Haloid-Tracking-G1-Nominal Haloid-Tracking-G1-Nominal-No-State-Estimation" in done.stdout
    assert "Failed to load task package" not in done.stderr
