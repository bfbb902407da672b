"""`haloid doctor` knows every extra and says how to get what is missing."""

import tomllib
from pathlib import Path

import pytest

from haloid.cli import doctor
from haloid.cli import main as cli
from haloid.extras import install_command

ROOT = Path(__file__).parents[2]


def test_every_extra_for_users_is_known():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(doctor.EXTRAS) <= set(extras)
    assert set(extras) - set(doctor.EXTRAS) == {"dev", "docs"}


def test_what_is_missing_is_told_with_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(doctor, "_found", lambda name: name not in ("viser", "ray"))
    assert cli.main(["doctor"]) == 0
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert any(line.split()[0] == "view" and line.endswith("lacks viser") for line in lines if line.strip())
    assert any(line.split()[0] == "learn" and line.endswith("ready") for line in lines if line.strip())
    assert lines[-2:] == [f"to get everything: {install_command('view', 'cluster')}", "next: haloid demo"]


def test_nothing_missing_is_nothing_to_install(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(doctor, "_found", lambda name: True)
    assert cli.main(["doctor"]) == 0
    assert "pip install" not in capsys.readouterr().out
