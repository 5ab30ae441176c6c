"""Keep-alive connections by origin, one request at a time on each, HTTP/1.1 by ourselves (fetch.http1).

httpcore's own pool looks at every connection, and polls its socket, for each request and again for each response; with
16 connections that was half of the time of a crawl. Here a request looks at the one connection that it takes.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import httpcore

from kb_pipeline.fetch.http1 import end_in_head, framing_of, read_head
from kb_pipeline.fetch.streams import AsyncioStream

if TYPE_CHECKING:
    import ssl
    from contextlib import AbstractAsyncContextManager

    from kb_pipeline.fetch.guard import Target
    from kb_pipeline.fetch.http1 import ReceivedHead

Origin = tuple[str, str, int]
"""Scheme, host, port."""

_READ: Final = 64 * 1024
_SWITCHING: Final = 101
_FINAL: Final = 200
"""Statuses below are interim (RFC 9110 §15.2)."""
_LOST_WHILE_RESTING: Final = (httpcore.RemoteProtocolError, httpcore.ReadError, httpcore.WriteError)


@dataclass(slots=True)
class Request:
    """A request as it is sent, and to whom. Times are seconds."""

    target: Target
    octets: bytes
    connect_seconds: float
    read_seconds: float
    """For each read, and for each write."""
    resent: bool = False
    """It was sent twice: whoever counts requests counts two."""

    @property
    def origin(self) -> Origin:
        """Where it goes."""
        return self.target.scheme, self.target.host, self.target.port


class Connections:
    """Sends requests, each in a slot, of which there are `most`. At most `most_resting` connections rest, each for at
    most `keepalive_seconds`, and none beyond the first word of the site: a long-lived service asks most origins once.
    `network_backend` gives AsyncioStreams."""

    def __init__(
        self,
        *,
        ssl_context: ssl.SSLContext,
        network_backend: httpcore.AsyncNetworkBackend,
        most: int,
        most_resting: int,
        keepalive_seconds: float,
    ) -> None:
        self._ssl_context = ssl_context
        self._backend = network_backend
        self._most_resting = most_resting
        self._keepalive_seconds = keepalive_seconds
        self._slots = asyncio.Semaphore(most)
        self._resting: dict[_Connection, None] = {}
        """The one that rested last is last."""
        self._by_origin: dict[Origin, list[_Connection]] = {}
        """The same ones."""
        self._sweep: asyncio.TimerHandle | None = None
        """Ends those that have rested long enough; there is none while none rests."""

    def slot(self) -> AbstractAsyncContextManager[None]:
        """What a request is made in, until its answer is closed. Waiting for one has no time limit: the queue is
        ours, and says nothing about the site."""
        return self._slots

    async def send(self, request: Request) -> Answer:
        """Send a request, in a slot; the caller reads the answer's body, and closes it. Raises httpcore's errors.

        A connection that the site closed while it rested says nothing about the page: RFC 9112 §9.3.1 has the request
        sent again, once, on a new one.
        """
        resting = self._rested(request.origin)
        if resting is not None:
            try:
                return await self._exchange(resting, request)
            except _LOST_WHILE_RESTING:
                if resting.has_answered:
                    raise
            request.resent = True
        return await self._exchange(await self._open(request), request)

    async def aclose(self) -> None:
        """End every connection that rests."""
        for connection in list(self._resting):
            self._end(connection)
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None

    def finished(self, connection: _Connection, *, reusable: bool) -> None:
        """An answer was closed: keep its connection when it can take another request."""
        if not reusable or connection.stream.get_extra_info("is_readable"):
            connection.stream.abort()
            return
        connection.rested_at = time.monotonic()
        self._resting[connection] = None
        self._by_origin.setdefault(connection.origin, []).append(connection)
        connection.stream.watch(partial(self._end, connection))
        if len(self._resting) > self._most_resting:
            self._end(next(iter(self._resting)))
        if self._sweep is None:
            self._sweep_in(self._keepalive_seconds)

    def _sweep_in(self, seconds: float) -> None:
        self._sweep = asyncio.get_running_loop().call_later(seconds, self._end_expired)

    def _end_expired(self) -> None:
        self._sweep = None
        now = time.monotonic()
        while (oldest := next(iter(self._resting), None)) is not None:
            left = oldest.rested_at + self._keepalive_seconds - now
            if left > 0:
                self._sweep_in(left)
                return
            self._end(oldest)

    def _end(self, connection: _Connection) -> None:
        """One that rests."""
        self._take(connection)
        connection.stream.abort()

    async def _open(self, request: Request) -> _Connection:
        scheme, host, port = request.origin
        stream = await self._backend.connect_tcp(host, port, request.connect_seconds)
        if scheme == "https":
            # Closes the stream itself when TLS cannot be agreed.
            stream = await stream.start_tls(self._ssl_context, host, request.connect_seconds)
        assert isinstance(stream, AsyncioStream)
        return _Connection(request.origin, stream)

    def _rested(self, origin: Origin) -> _Connection | None:
        while known := self._by_origin.get(origin):
            connection = known[-1]
            self._take(connection)
            if time.monotonic() - connection.rested_at < self._keepalive_seconds:
                return connection
            connection.stream.abort()  # The loop was busy when it was to be swept.
        return None

    def _take(self, connection: _Connection) -> None:
        """Out of those that rest."""
        connection.stream.watch(None)
        del self._resting[connection]
        same = self._by_origin[connection.origin]
        same.remove(connection)
        if not same:
            del self._by_origin[connection.origin]

    async def _exchange(self, connection: _Connection, request: Request) -> Answer:
        try:
            head, early = await connection.ask(request)
            return Answer(self, connection, head, early, request.read_seconds)
        except BaseException:
            connection.stream.abort()
            raise


class Answer:
    """An answer, whose body is still to be read, and whose end gives the connection back."""

    def __init__(
        self, pool: Connections, connection: _Connection, head: ReceivedHead, early: bytes, seconds: float
    ) -> None:
        self.status = head.status
        self.headers = head.headers
        self.lines = head.lines
        self._keeps_alive = head.keeps_alive
        self._framing = framing_of(head)
        self._early = early
        """What came with the head."""
        self._pieces: deque[bytes] = deque()
        """Of the body, not given yet."""
        self._pool = pool
        self._connection = connection
        self._seconds = seconds
        self._closed = False

    async def read(self) -> bytes:
        """The next piece of the body; empty at its end. Not every call lets the loop have its turn. Raises httpcore's
        errors: a body that ends too early is no body."""
        while not self._pieces:
            if self._framing.ended:
                return b""
            octets = self._early or await self._connection.stream.read(_READ, self._seconds)
            self._early = b""
            if octets:
                self._pieces.extend(self._framing.feed(octets))
            else:
                self._framing.close()
        return self._pieces.popleft()

    async def drain(self, most: int) -> None:
        """Read the rest of the body, up to `most` octets or a piece more, where the connection can take another request
        by that. Raises httpcore's errors."""
        if not self._keeps_alive or self._framing.left > most:
            return
        while most > 0 and (piece := await self.read()):
            most -= len(piece)

    async def aclose(self) -> None:
        """Keep the connection, or end it where the body was not read to its end."""
        if self._closed:
            return
        self._closed = True
        # Octets behind an answer would be read as the next one, and be the wrong page's.
        said_more = self._early or self._framing.rest
        reusable = self._keeps_alive and self._framing.ended and not said_more
        self._pool.finished(self._connection, reusable=reusable)


class _Connection:
    def __init__(self, origin: Origin, stream: AsyncioStream) -> None:
        self.origin = origin
        self.stream = stream
        self.rested_at = 0.0
        """On the monotonic clock."""
        self.has_answered = False
        """The request at hand, if only in part."""

    async def ask(self, request: Request) -> tuple[ReceivedHead, bytes]:
        """Send a request, and read the head of its answer and what comes with it."""
        self.has_answered = False
        with suppress(httpcore.WriteError):
            # Some servers answer and close before they have read all of a request that they refuse.
            await self.stream.write(request.octets, request.read_seconds)
        octets, start, searched = b"", 0, 0
        while True:
            piece = await self.stream.read(_READ, request.read_seconds)
            if not piece:
                end_in_head(octets)
            self.has_answered = True
            octets += piece
            while (found := read_head(octets, start, searched)) is not None:
                head, start = found
                if head.status == _SWITCHING:
                    message = "it switches to another protocol"
                    raise httpcore.RemoteProtocolError(message)
                if head.status >= _FINAL:
                    return head, octets[start:]
            octets, start = octets[start:], 0
            searched = max(0, len(octets) - len(b"\r\n\r"))
