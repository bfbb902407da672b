"""Whatever needs more than the core says so before it starts, with the command that installs it here."""

import json
import os
import shutil
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlparse

from haloid.errors import HaloidError


class MissingExtraError(HaloidError):
    def __init__(self, command: str, packages: list[str], extra: str) -> None:
        noun = "package" if len(packages) == 1 else "packages"
        super().__init__(
            f"haloid {command} needs the {noun} {', '.join(packages)}, which this installation lacks. "
            f"Install with: {install_command(extra)}"
        )


def require_extra(command: str, extra: str, *packages: str) -> None:
    """Raise unless all packages, which `extra` brings, can be imported."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise MissingExtraError(command, missing, extra)


def install_command(*extras: str) -> str:
    """What adds extras to this very installation: its own pip, and haloid from where it was installed."""
    pip = shutil.which("pip")
    ours = pip is not None and Path(pip).parent == Path(sys.executable).parent
    return f"{'pip' if ours else f'{_short(Path(sys.executable))} -m pip'} install {_source(','.join(extras))}"


def _source(extras: str) -> str:
    """From a checkout or a wheel if it came from there, else from the package index."""
    try:
        origin = json.loads(distribution("haloid").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        origin = {}
    url = urlparse(origin.get("url", ""))
    if url.scheme != "file":
        return f"'haloid[{extras}]'"
    place = _short(Path(unquote(url.path)))
    editable = origin.get("dir_info", {}).get("editable", False)
    return f"{'-e ' if editable else ''}'{place}[{extras}]'"


def _short(path: Path) -> str:
    """From the working directory if it is below, else whole."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
