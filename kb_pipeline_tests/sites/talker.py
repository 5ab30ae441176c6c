"""A port on loopback that speaks whatever its script speaks: for what no HTTP server would do. One thread a
connection; `requests` counts them."""

from __future__ import annotations

import socket
from collections.abc import Callable

from kb_pipeline_tests.sites.listening import Listener

Script = Callable[[socket.socket, Callable[[float], bool]], None]
"""Given the connection and a sleep (seconds) that returns False as soon as the port is closed."""


class Talker(Listener):
    """`with Talker(script) as port:` runs the script on every connection until the block ends."""

    def __init__(self, script: Script) -> None:
        super().__init__()
        self._script = script

    def url(self, path: str = "/", *, scheme: str = "http", host: str = "127.0.0.1") -> str:
        """Absolute address of a path."""
        return f"{scheme}://{host}:{self.port}{path}"

    def serve(self, connection: socket.socket) -> None:
        """Run the script."""
        with connection:
            self._script(connection, lambda seconds: not self._closed.wait(seconds))


def says(*pieces: bytes, pause: float = 0.0) -> Script:
    """Wait for the first octets, say the pieces with a pause (seconds) before each, end the connection."""

    def script(connection: socket.socket, sleep: Callable[[float], bool]) -> None:
        connection.recv(65536)
        for piece in pieces:
            if not sleep(pause):
                return
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(1)
        while connection.recv(65536):
            pass

    return script


def silence(_connection: socket.socket, sleep: Callable[[float], bool]) -> None:
    """Accept, and say nothing."""
    sleep(60)


def for_ever(piece: bytes, first: bytes = b"") -> Script:
    """`first`, then `piece` as fast as it is read."""

    def script(connection: socket.socket, sleep: Callable[[float], bool]) -> None:
        connection.recv(65536)
        connection.sendall(first)
        while sleep(0):
            connection.sendall(piece)

    return script
