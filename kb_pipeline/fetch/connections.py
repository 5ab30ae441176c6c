"""Keep-alive connections by origin, one request at a time on each.

httpcore's own pool looks at every connection, and polls its socket, for each request and again for each response; with
16 connections that was half of the time of a crawl. Here a request looks at the one connection that it takes.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import h11
import httpcore

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

RESENT: Final = "resent"
"""Set in a request's extensions when it was sent twice: whoever counts requests counts two."""
_LOST_WHILE_RESTING: Final = (httpcore.RemoteProtocolError, httpcore.ReadError, httpcore.WriteError)


class Connections:
    """Sends httpcore requests, each in a slot, of which there are `most`. At most `most_resting` connections rest, each
    for at most `keepalive_seconds`."""

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
        self._resting: OrderedDict[httpcore.AsyncHTTPConnection, httpcore.Origin] = OrderedDict()
        """The one that rested last is last."""

    def slot(self) -> AbstractAsyncContextManager[None]:
        """What a request is made in, until its response is closed. Waiting for one has no time limit: the queue is
        ours, and says nothing about the site."""
        return self._slots

    async def handle_async_request(self, request: httpcore.Request) -> httpcore.Response:
        """Send a request, in a slot; the body of the response is read, and the response closed, by the caller. Raises
        httpcore's errors."""
        connection, response = await self._send(request)
        stream = _Stream(self, connection, request.url.origin, response)
        return httpcore.Response(
            response.status, headers=response.headers, content=stream, extensions=response.extensions
        )

    async def aclose(self) -> None:
        """End every connection that rests."""
        while self._resting:
            connection, _ = self._resting.popitem()
            await connection.aclose()

    async def _send(self, request: httpcore.Request) -> tuple[httpcore.AsyncHTTPConnection, httpcore.Response]:
        """A connection that the site closed while it rested says nothing about the page: RFC 9112 §9.3.1 has the
        request sent again, once, on a new one."""
        resting = await self._rested(request.url.origin)
        if resting is not None:
            with suppress(*_LOST_WHILE_RESTING):
                return resting, await _exchange(resting, request)
            request.extensions[RESENT] = True
        fresh = httpcore.AsyncHTTPConnection(
            origin=request.url.origin,
            ssl_context=self._ssl_context,
            keepalive_expiry=self._keepalive_seconds,
            network_backend=self._backend,
        )
        return fresh, await _exchange(fresh, request)

    async def _rested(self, origin: httpcore.Origin) -> httpcore.AsyncHTTPConnection | None:
        for connection in [known for known, its in reversed(self._resting.items()) if its == origin]:
            del self._resting[connection]
            if connection.is_available() and not connection.has_expired():
                return connection
            await connection.aclose()
        return None

    async def finished(self, connection: httpcore.AsyncHTTPConnection, origin: httpcore.Origin) -> None:
        """A response was closed: keep its connection when it can take another request."""
        if not connection.is_idle() or _said_more_than_its_answer(connection):
            await connection.aclose()
            return
        self._resting[connection] = origin
        if len(self._resting) > self._most_resting:
            oldest, _ = self._resting.popitem(last=False)
            await oldest.aclose()


class _Stream:
    """A response's body, whose end gives the connection back."""

    def __init__(
        self,
        pool: Connections,
        connection: httpcore.AsyncHTTPConnection,
        origin: httpcore.Origin,
        response: httpcore.Response,
    ) -> None:
        self._pool = pool
        self._connection = connection
        self._origin = origin
        self._response = response
        self._closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._response.aiter_stream():
            yield piece

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            await self._response.aclose()
        finally:
            await self._pool.finished(self._connection, self._origin)


def _said_more_than_its_answer(connection: httpcore.AsyncHTTPConnection) -> bool:
    """Whether octets came behind the end of an answer: they would be read as the next one, and be the wrong page's.
    httpcore keeps them, and shows them nowhere but in its own fields."""
    wire = getattr(getattr(connection, "_connection", None), "_h11_state", None)
    return isinstance(wire, h11.Connection) and bool(wire.trailing_data[0])


async def _exchange(connection: httpcore.AsyncHTTPConnection, request: httpcore.Request) -> httpcore.Response:
    try:
        return await connection.handle_async_request(request)
    except BaseException:
        await connection.aclose()
        raise
