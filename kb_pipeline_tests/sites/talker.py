"""A port on loopback that speaks whatever its script speaks: for what no HTTP server would do. One thread a
connection; `requests` counts them."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

Script = Callable[[socket.socket, Callable[[float], bool]], None]
"""Given the connection and a sleep (seconds) that returns False as soon as the port is closed."""


class Talker:
    """`with Talker(script) as port:` runs the script on every connection until the block ends."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.connections = 0
        self._closed = threading.Event()
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]

    def url(self, path: str = "/", *, scheme: str = "http", host: str = "127.0.0.1") -> str:
        """Absolute address of a path."""
        return f"{scheme}://{host}:{self.port}{path}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
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
