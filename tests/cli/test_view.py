"""`haloid view` says what it cannot do before it starts."""

import socket
from pathlib import Path

import pytest

from haloid.cli import main as cli
from haloid.extras import install_command


def test_a_missing_file_is_one_message(capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("viser")
    assert cli.main(["view", "no/such/run.csv"]) == 1
    assert capsys.readouterr().err.startswith(
        "haloid: cannot show no/such/run.csv: there is no such file or folder, and no motion of that name ("
    )


def test_a_taken_port_is_one_message(capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("viser")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        assert cli.main(["view", "squat", "--port", str(other.getsockname()[1])]) == 1
    assert "is taken, perhaps by another haloid view." in capsys.readouterr().err


def test_an_export_of_another_kind_is_one_message(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    assert cli.main(["view", "squat", "--export", str(tmp_path / "squat.avi")]) == 1
    message = f"haloid: --export {tmp_path / 'squat.avi'}: expected a name that ends in .html, .mp4, .gif\n"
    assert capsys.readouterr().err == message
    assert list(tmp_path.iterdir()) == []


def test_without_viser_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr("haloid.extras.find_spec", lambda name: None)
    assert cli.main(["view", "squat"]) == 1
    assert capsys.readouterr().err == (
        "haloid: haloid view needs the package viser, which this installation lacks. "
        f"Install with: {install_command('view')}\n"
    )
