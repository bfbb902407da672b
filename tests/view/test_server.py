"""An address that cannot be listened at is told before anything starts."""

import socket

import pytest

pytest.importorskip("viser")

from haloid.errors import HaloidError
from haloid.view.server import require_free


def test_a_taken_port_names_the_next():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(HaloidError) as failure:
            require_free("127.0.0.1", port)
    assert str(failure.value) == (
        f"port {port} is taken, perhaps by another haloid view. End that one, or give another port: --port {port + 1}"
    )
    require_free("127.0.0.1", port)


@pytest.mark.parametrize(
    ("host", "port", "words"),
    [
        ("127.0.0.1", 70000, r"--port is 70000; expected a number from 0 to 65535"),
        ("192.0.2.1", 8080, r"cannot listen on 192\.0\.2\.1, port 8080: .*Leave out --host"),
        ("no.such.host.invalid", 8080, r"--host no\.such\.host\.invalid is not an address"),
    ],
)
def test_a_wrong_address_is_told(host: str, port: int, words: str):
    with pytest.raises(HaloidError, match=words):
        require_free(host, port)
