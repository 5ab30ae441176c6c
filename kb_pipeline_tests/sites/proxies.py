"""Real proxies on loopback: HTTP with CONNECT (RFC 9110 §9.3.6), TLS to the proxy too, and SOCKS5 (RFC 1928, RFC
1929). Each writes down what it was asked for, and can misbehave. One thread a connection, two while it relays."""

from __future__ import annotations

import base64
import contextlib
import socket
import threading
from ipaddress import ip_address
from typing import TYPE_CHECKING

from kb_pipeline_tests.sites.listening import Listener
from kb_pipeline_tests.sites.replies import linger_reset

if TYPE_CHECKING:
    import ssl


class LoopbackProxy(Listener):
    """`with HttpProxy() as proxy:` relays until the block ends.

    `credentials` ("user", "password") are demanded when given. `says` is sent in place of an answer to what was asked,
    and the connection ended; `silent` answers nothing; `resets` ends with RST. Nothing is dialled then.
    """

    scheme = ""

    def __init__(
        self,
        *,
        credentials: tuple[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
        says: bytes | None = None,
        silent: bool = False,
        resets: bool = False,
        piecemeal: bool = False,
    ) -> None:
        super().__init__()
        self.credentials = credentials
        self.asked: list[str] = []
        """Targets as the proxy was asked for them, `address:port`."""
        self.logged_in: list[tuple[str, str]] = []
        self._tls = tls
        self._says = says
        self._silent = silent
        self._resets = resets
        self._piecemeal = piecemeal

    def url(self, userinfo: str = "") -> str:
        """As WEBSCRAPER_PROXY takes it."""
        return f"{self.scheme}{'s' if self._tls else ''}://{userinfo}{'@' if userinfo else ''}127.0.0.1:{self.port}"

    def serve(self, connection: socket.socket) -> None:
        """Agree TLS where the proxy speaks it, and converse."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            if self._tls:
                connection = self._tls.wrap_socket(connection, server_side=True)
                self._open.add(connection)
            self._converse(connection)
        connection.close()

    def _converse(self, client: socket.socket) -> None:
        raise NotImplementedError

    def _misbehaves(self, client: socket.socket) -> bool:
        if self._silent:
            self._closed.wait(60)
        elif self._resets:
            linger_reset(client)
        elif self._says is not None:
            client.sendall(self._says)
            client.shutdown(socket.SHUT_WR)
        else:
            return False
        return True

    def _send(self, client: socket.socket, answer: bytes) -> None:
        """In one piece, or octet by octet as TCP may deliver it."""
        if not self._piecemeal:
            client.sendall(answer)
            return
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for octet in answer:
            client.sendall(bytes([octet]))
            self._closed.wait(0.002)

    def _relay(self, client: socket.socket, site: socket.socket) -> None:
        self._open.add(site)
        back = threading.Thread(target=_pump, args=(site, client), daemon=True)
        back.start()
        _pump(client, site)
        back.join(10)
        site.close()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            sink.sendall(piece)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


class HttpProxy(LoopbackProxy):
    """CONNECT to any address; 407 without the right credentials; 502 when the target does not answer."""

    scheme = "http"

    def _converse(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            piece = client.recv(4096)
            if not piece:
                return
            head += piece
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self.asked.append(target)
        if self._misbehaves(client):
            return
        if not self._admits(headers.get("proxy-authorization", "")):
            self._send(client, b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        elif method != "CONNECT":
            self._send(client, b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n")
        else:
            self._connect(client, target)

    def _admits(self, authorization: str) -> bool:
        if self.credentials is None:
            return True
        given = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")[::2]
        self.logged_in.append((given[0], given[1]))
        return given == self.credentials

    def _connect(self, client: socket.socket, target: str) -> None:
        host, _, port = target.rpartition(":")
        try:
            site = socket.create_connection((host.strip("[]"), int(port)), timeout=5)
        except OSError:
            self._send(client, b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            return
        self._send(client, b"HTTP/1.1 200 Connection established\r\n\r\n")
        self._relay(client, site)


class SocksProxy(LoopbackProxy):
    """SOCKS5 CONNECT, with a user and a password when `credentials` are given."""

    scheme = "socks5"

    def _converse(self, client: socket.socket) -> None:
        methods = _exactly(client, _exactly(client, 2)[1])
        if self._misbehaves(client):
            return
        if self.credentials is None:
            self._send(client, b"\x05\x00")
        elif 2 not in methods:
            self._send(client, b"\x05\xff")
            return
        elif not self._log_in(client):
            return
        self._connect(client)

    def _log_in(self, client: socket.socket) -> bool:
        self._send(client, b"\x05\x02")
        user = _exactly(client, _exactly(client, 2)[1])
        password = _exactly(client, _exactly(client, 1)[0])
        self.logged_in.append((user.decode(), password.decode()))
        right = self.logged_in[-1] == self.credentials
        self._send(client, b"\x01\x00" if right else b"\x01\x01")
        return right

    def _connect(self, client: socket.socket) -> None:
        kind = _exactly(client, 4)[3]
        if kind == 3:
            host = _exactly(client, _exactly(client, 1)[0]).decode()
        else:
            host = str(ip_address(_exactly(client, 4 if kind == 1 else 16)))
        port = int.from_bytes(_exactly(client, 2))
        self.asked.append(f"{host}:{port}")
        try:
            site = socket.create_connection((host, port), timeout=5)
        except OSError:
            self._send(client, b"\x05\x05\x00\x01" + bytes(6))
            return
        # The bound address as a name: of the three kinds the one whose length must be read first.
        self._send(client, b"\x05\x00\x00\x03\x05proxy" + bytes(2))
        self._relay(client, site)


def _exactly(client: socket.socket, count: int) -> bytes:
    got = b""
    while len(got) < count:
        piece = client.recv(count - len(got))
        if not piece:
            raise ConnectionError
        got += piece
    return got
