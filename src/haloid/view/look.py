"""The look of viser's page: light or dark as the browser wants it, and with its panel below the robot on a phone.

viser's own dark theme is the server's to choose, for everybody; what a browser wants only the page can ask (head.html).
"""

import atexit
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import viser.infra

HEAD = Path(__file__).with_name("head.html")


def dressed(page: str) -> str:
    """viser's page with head.html as the last of its head."""
    return page.replace("</head>", f"{HEAD.read_text(encoding='utf-8')}</head>", 1)


@contextmanager
def dressed_servers() -> Iterator[None]:
    """Servers that start inside hand out the dressed page. viser has no setting for the page it hands out."""
    plain = viser.infra.WebsockServer

    class Dressed(plain):
        def __init__(self, *arguments, http_server_root: Path, **named) -> None:
            super().__init__(*arguments, http_server_root=_dressed_folder(http_server_root), **named)

    viser.infra.WebsockServer = Dressed
    try:
        yield
    finally:
        viser.infra.WebsockServer = plain


@cache
def _dressed_folder(root: Path) -> Path:
    """What viser hands out, in a folder that lasts as long as this process. It is one file."""
    folder = TemporaryDirectory(prefix="haloid-view-")
    atexit.register(folder.cleanup)
    page = (root / "index.html").read_text(encoding="utf-8")
    (Path(folder.name) / "index.html").write_text(dressed(page), encoding="utf-8")
    return Path(folder.name)
