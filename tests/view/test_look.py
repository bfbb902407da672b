"""The page that the viewer's server hands out asks the browser whether it should be dark."""

from urllib.request import urlopen

import pytest

pytest.importorskip("viser")

import viser.infra

from haloid.view.look import HEAD
from haloid.view.server import LOOPBACK, address, start_server, stop


def test_the_server_hands_out_the_page_with_our_head_and_viser_is_left_as_it_was():
    plain = viser.infra.WebsockServer
    server = start_server(LOOPBACK, 0, lambda words: None)
    try:
        with urlopen(address(server)) as answer:
            page = answer.read().decode()
    finally:
        stop(server)
    head, body = page.split("</head>", 1)
    assert head.endswith(HEAD.read_text(encoding="utf-8"))
    assert "<body" in body
    assert viser.infra.WebsockServer is plain
