"""Connections through the operator's proxy. The proxy is asked for the address that the guard has checked, never for a
name: it could resolve that to another one. The proxy's own address is the operator's word, and is not guarded."""

from __future__ import annotations

import base64
import re
import time
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address
from typing import TYPE_CHECKING, Final, NoReturn

import h11
import httpcore

from kb_pipeline.core.proxy_address import Proxy, authority
from kb_pipeline.errors import ProxyFailed
from kb_pipeline.fetch.streams import AsyncioBackend

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable

_PHRASE: Final = re.compile(r"[A-Za-z][A-Za-z' -]{1,59}")
_NO_ANSWER: Final = "closed the connection without an answer"
_NO_SOCKS: Final = "does not speak SOCKS5"
_MOST_HEAD_BYTES: Final = 32 * 1024
_MOST_INTERIM: Final = 16
_READ: Final = 4096
_UNAUTHORISED: Final = 407

_SOCKS: Final = 5
_NO_AUTHENTICATION: Final = 0
_PASSWORD: Final = 2
_CONNECT: Final = 1
_IPV4: Final = 1
_DOMAIN: Final = 3
_IPV6: Final = 4
_SUCCEEDED: Final = 0
_NOT_ALLOWED: Final = 2
_COMMAND_UNKNOWN: Final = 7
_SOCKS_REPLIES: Final = {
    1: "general failure",
    2: "not allowed by its rules",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "time to live expired",
    7: "it does not know CONNECT",
    8: "it does not know this kind of address",
}
"""RFC 1928 §6."""


class ThroughProxyError(httpcore.ConnectError):
    """The proxy works, and could not reach the address: the next one may do better."""


class ThroughProxyTimeoutError(httpcore.ConnectTimeout):
    """The proxy gave no connection within the time limit."""


class ProxyDialler(httpcore.AsyncNetworkBackend):
    """Dials addresses through a proxy: by CONNECT (RFC 9110 §9.3.6), for port 80 too, or by SOCKS5 (RFC 1928). TLS to
    an https proxy is checked with `ssl_context`; TLS to the site runs inside the tunnel, as ever.

    Raises ProxyFailed for what is the proxy's own fault; ThroughProxyError and ThroughProxyTimeoutError else.
    """

    def __init__(
        self, proxy: Proxy, ssl_context: ssl.SSLContext, dialler: httpcore.AsyncNetworkBackend | None = None
    ) -> None:
        self.proxy = proxy
        self._ssl_context = ssl_context
        self._dialler = dialler or AsyncioBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Give a stream to an address; `host` is one, as the guard gives them out. All within `timeout` seconds."""
        deadline = _Deadline.after(timeout)
        stream = await self._to_proxy(deadline, local_address, socket_options)
        opened = False
        try:
            await self._tunnel(stream, host, port, deadline)
            opened = True
        finally:
            if not opened:
                await stream.aclose()
        return stream

    async def connect_unix_socket(self, path: str, *_args: object, **_options: object) -> httpcore.AsyncNetworkStream:
        """Never: no site is a file."""
        raise ProxyFailed(path)

    async def _to_proxy(
        self,
        deadline: _Deadline,
        local_address: str | None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None,
    ) -> httpcore.AsyncNetworkStream:
        proxy = self.proxy
        try:
            stream = await self._dialler.connect_tcp(
                proxy.host, proxy.port, deadline.left(), local_address, socket_options
            )
            if proxy.scheme == "https":
                # Closes the stream itself when TLS cannot be agreed.
                stream = await stream.start_tls(self._ssl_context, proxy.host, deadline.left())
        except httpcore.ConnectTimeout:
            self._fail("did not answer within the time limit")
        except httpcore.ConnectError as error:
            self._fail(f"cannot be reached ({str(error)[:200] or 'it closed the connection'})")
        return stream

    async def _tunnel(self, stream: httpcore.AsyncNetworkStream, host: str, port: int, deadline: _Deadline) -> None:
        ask = self._ask_socks if self.proxy.scheme == "socks5" else self._ask_http
        try:
            await ask(stream, host, port, deadline)
        except httpcore.TimeoutException as error:
            message = f"the proxy at {self.proxy.shown} gave no connection within the time limit"
            raise ThroughProxyTimeoutError(message) from error
        except httpcore.NetworkError as error:
            if isinstance(error, ThroughProxyError):
                raise
            self._fail("broke the connection off")

    async def _ask_http(self, stream: httpcore.AsyncNetworkStream, host: str, port: int, deadline: _Deadline) -> None:
        target = authority(host, port)
        headers = [("Host", target)]
        if self.proxy.user:
            credentials = f"{self.proxy.user}:{self.proxy.password}".encode()
            headers.append(("Proxy-Authorization", f"Basic {base64.b64encode(credentials).decode()}"))
        wire = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MOST_HEAD_BYTES)
        request = wire.send(h11.Request(method="CONNECT", target=target, headers=headers))
        await stream.write(request or b"", deadline.left())
        try:
            answer = await _http_answer(wire, stream, deadline)
        except h11.RemoteProtocolError:
            self._fail("does not speak HTTP")
        if answer is None:
            self._fail(_NO_ANSWER)
        self._judge_http(answer.status_code, answer.reason.decode("latin-1"))
        if wire.trailing_data[0]:
            self._fail("spoke before the site was asked anything")

    def _judge_http(self, status: int, phrase: str) -> None:
        if 200 <= status < 300:  # noqa: PLR2004
            return
        # A proxy may say anything there, our own credentials among it.
        said = f"{status} {phrase}" if _PHRASE.fullmatch(phrase) and not self._is_told_in(phrase) else str(status)
        if status >= 500:  # noqa: PLR2004 - it tried
            message = f"the proxy at {self.proxy.shown} could not reach it: {said}"
            raise ThroughProxyError(message)
        wants = " (it wants a user and a password, or others)" if status == _UNAUTHORISED else ""
        self._fail(f"refused: {said}{wants}")

    def _is_told_in(self, phrase: str) -> bool:
        password = self.proxy.password
        return bool(password) and password.lower() in phrase.lower()

    async def _ask_socks(self, stream: httpcore.AsyncNetworkStream, host: str, port: int, deadline: _Deadline) -> None:
        # Read octet by octet of what is expected: socksio wants each reply in one piece, which TCP does not promise.
        wire = _Octets(stream, deadline, self.proxy)
        await self._greet(wire)
        address = ip_address(host)
        kind = _IPV4 if isinstance(address, IPv4Address) else _IPV6
        await wire.write(bytes((_SOCKS, _CONNECT, 0, kind)) + address.packed + port.to_bytes(2, "big"))
        version, reply, _reserved, bound = await wire.read(4)
        if version != _SOCKS:
            self._fail(_NO_SOCKS)
        self._judge_socks(reply)
        lengths = {_IPV4: 4, _IPV6: 16}
        length = (await wire.read(1))[0] if bound == _DOMAIN else lengths.get(bound)
        if length is None:
            self._fail(_NO_SOCKS)
        await wire.read(length + 2)

    async def _greet(self, wire: _Octets) -> None:
        """Agree on how we say who we are, and say it (RFC 1928 §3, RFC 1929)."""
        proxy = self.proxy
        methods = (_NO_AUTHENTICATION, _PASSWORD) if proxy.user else (_NO_AUTHENTICATION,)
        await wire.write(bytes((_SOCKS, len(methods), *methods)))
        version, method = await wire.read(2)
        if version != _SOCKS:
            self._fail(_NO_SOCKS)
        if method not in methods:
            wants = "it wants a user and a password" if not proxy.user else "it takes none of our ways to log in"
            self._fail(f"refused: {wants}")
        if method == _PASSWORD:
            user, password = proxy.user.encode(), proxy.password.encode()
            await wire.write(bytes((1, len(user))) + user + bytes((len(password),)) + password)
            if (await wire.read(2))[1] != 0:
                self._fail("refused: wrong user or password")

    def _judge_socks(self, reply: int) -> None:
        if reply == _SUCCEEDED:
            return
        said = _SOCKS_REPLIES.get(reply, f"reply {reply}")
        if reply in {_NOT_ALLOWED, _COMMAND_UNKNOWN}:
            self._fail(f"refused: {said}")
        message = f"the proxy at {self.proxy.shown} could not reach it: {said}"
        raise ThroughProxyError(message)

    def _fail(self, what: str) -> NoReturn:
        raise _fault(self.proxy, what)


def _fault(proxy: Proxy, what: str) -> ProxyFailed:
    return ProxyFailed(f"the proxy at {proxy.shown} {what}")


@dataclass(frozen=True, slots=True)
class _Deadline:
    """A moment on the monotonic clock; None: never."""

    at: float | None

    @classmethod
    def after(cls, seconds: float | None) -> _Deadline:
        return cls(None if seconds is None else time.monotonic() + seconds)

    def left(self) -> float | None:
        return None if self.at is None else max(0.001, self.at - time.monotonic())


@dataclass(frozen=True, slots=True)
class _Octets:
    """Reads so many octets and no more: what follows is the site's."""

    stream: httpcore.AsyncNetworkStream
    deadline: _Deadline
    proxy: Proxy

    async def read(self, count: int) -> bytes:
        got = b""
        while len(got) < count:
            piece = await self.stream.read(count - len(got), self.deadline.left())
            if not piece:
                raise _fault(self.proxy, _NO_ANSWER)
            got += piece
        return got

    async def write(self, octets: bytes) -> None:
        await self.stream.write(octets, self.deadline.left())


async def _http_answer(
    wire: h11.Connection, stream: httpcore.AsyncNetworkStream, deadline: _Deadline
) -> h11.Response | None:
    """The proxy's answer to CONNECT; None when there was none. Raises h11.RemoteProtocolError."""
    interim = 0
    while True:
        event = wire.next_event()
        if event is h11.NEED_DATA:
            piece = await stream.read(_READ, deadline.left())
            if not piece and not wire.trailing_data[0]:
                return None
            wire.receive_data(piece)  # At the end of a stream that was cut in a head, h11 raises.
        elif isinstance(event, h11.Response):
            return event
        else:
            interim += 1
            if interim > _MOST_INTERIM:
                return None
