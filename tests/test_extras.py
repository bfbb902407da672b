"""Commands name the packages they lack and how to get them."""

import json
import sys
from pathlib import Path

import pytest

from haloid import extras
from haloid.errors import HaloidError
from haloid.extras import install_command, require_extra


def test_missing_packages_are_named_with_their_extra():
    require_extra("evaluate", "learn", "numpy")
    with pytest.raises(HaloidError) as failure:
        require_extra("evaluate", "learn", "numpy", "no_such_package")
    assert str(failure.value) == (
        "haloid evaluate needs the package no_such_package, which this installation lacks. "
        f"Install with: {install_command('learn')}"
    )


class Installed:
    """As pip notes where it got haloid from."""

    def __init__(self, origin: dict | None) -> None:
        self.origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self.origin is None else json.dumps(self.origin)


@pytest.mark.parametrize(
    ("origin", "source"),
    [
        (None, "'haloid[view,learn]'"),
        ({"url": "https://github.com/someone/haloid.git", "vcs_info": {}}, "'haloid[view,learn]'"),
        ({"url": "file://{here}", "dir_info": {"editable": True}}, "-e '.[view,learn]'"),
        ({"url": "file://{here}/dist/haloid-0.2.0.whl", "archive_info": {}}, "'dist/haloid-0.2.0.whl[view,learn]'"),
        ({"url": "file:///opt/my%20wheels/h.whl", "archive_info": {}}, "'/opt/my wheels/h.whl[view,learn]'"),
    ],
)
def test_the_command_installs_from_where_haloid_came(origin, source, monkeypatch, tmp_path: Path):
    if origin is not None:
        origin = origin | {"url": origin["url"].format(here=tmp_path)}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(extras, "distribution", lambda name: Installed(origin))
    monkeypatch.setattr(extras.shutil, "which", lambda name: str(Path(sys.executable).with_name("pip")))
    assert install_command("view", "learn") == f"pip install {source}"


def test_another_pip_than_ours_is_not_named(monkeypatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(extras, "distribution", lambda name: Installed(None))
    monkeypatch.setattr(extras.sys, "executable", str(tmp_path / "env" / "bin" / "python"))
    monkeypatch.setattr(extras.shutil, "which", lambda name: "/usr/bin/pip")
    assert install_command("view") == "env/bin/python -m pip install 'haloid[view]'"
