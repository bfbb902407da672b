"""The web server behind the viewer: an address that is free, and a message when browsers connect or leave.

viser takes the next port when one is taken, and waits forever when an address is not this machine's; both are
checked before it starts, so that the address that was asked for is the address that answers.
"""

import errno
import io
import logging
import socket
from collections.abc import Callable
from contextlib import redirect_stdout

import viser

from haloid.errors import HaloidError
from haloid.view.look import dressed_servers

LOOPBACK = "127.0.0.1"


def start_server(host: str, port: int, say: Callable[[str], None]) -> viser.ViserServer:
    """Listening when it returns; `say` is called when a browser connects and when the last one leaves."""
    require_free(host, port)
    logging.getLogger("websockets").setLevel(logging.ERROR)  # a browser that closes is not an error
    with dressed_servers(), redirect_stdout(io.StringIO()):  # viser prints a banner; ours replaces it
        server = viser.ViserServer(host=host, port=port, verbose=False)
    server.gui.configure_theme(
        control_layout="floating", control_width="large", show_logo=False, show_share_button=False
    )

    @server.on_client_connect
    def _(client: viser.ClientHandle) -> None:
        say("a browser is connected")

    @server.on_client_disconnect
    def _(client: viser.ClientHandle) -> None:
        if not server.get_clients():
            say(f"the browser is closed; open {address(server)} again, or end with Ctrl-C")

    return server


def stop(server: viser.ViserServer) -> None:
    with redirect_stdout(io.StringIO()):
        server.stop()


def address(server: viser.ViserServer) -> str:
    host = server.get_host()
    return f"http://{'localhost' if host in ('0.0.0.0', '::') else host}:{server.get_port()}"


def require_free(host: str, port: int) -> None:
    """Raise unless a server could listen there."""
    if not 0 <= port <= 65535:
        raise HaloidError(f"--port is {port}; expected a number from 0 to 65535 (0: any that is free)")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except socket.gaierror as error:
        raise HaloidError(
            f"--host {host} is not an address: {error.strerror}. Leave it out, or give 0.0.0.0"
        ) from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise HaloidError(
                f"port {port} is taken, perhaps by another haloid view. End that one, or give another port: "
                f"--port {port + 1}"
            ) from error
        if error.errno == errno.EACCES:
            raise HaloidError(f"port {port} needs root. Give one above 1023, such as --port 8080") from error
        reason = (error.strerror or str(error)).lower()
        raise HaloidError(
            f"cannot listen on {host}, port {port}: {reason}. Leave out --host, or give 0.0.0.0"
        ) from error
