"""TCP and TLS connections of httpcore over asyncio's transports. httpcore comes with the same over anyio, and asyncio
with streams; what either does for each read costs more than the rest of a small request."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

import httpcore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_MOST_AHEAD: Final = 128 * 1024
"""Octets that may wait for a reader; past them the other side is not read from."""


class AsyncioStream(httpcore.AsyncNetworkStream):
    """One connection. `timeout` is in seconds everywhere; None waits for ever. One task reads and one writes."""

    def __init__(self, transport: asyncio.Transport, wire: _Wire) -> None:
        self._transport = transport
        self._wire = wire

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's
        """At most `max_bytes`; empty at the end of the stream."""
        wire = self._wire
        if not wire.has_arrived:
            # Every wait passes through the loop, and what has arrived is bounded: no flood keeps its clocks standing.
            await wire.arrival(timeout)
        return wire.take(max_bytes)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Send all of it."""
        if not buffer:
            return
        if self._transport.is_closing():
            message = "the connection was lost"
            raise httpcore.WriteError(message)
        self._transport.write(buffer)
        if self._wire.is_full:
            await self._wire.room(timeout)

    async def aclose(self) -> None:
        """See `abort`."""
        self.abort()

    def abort(self) -> None:
        """End the connection at once: a site that does not take leave of TLS must not keep it open."""
        self._transport.abort()

    def watch(self, on_arrival: Callable[[], None] | None) -> None:
        """Have `on_arrival` called, by the loop, when octets arrive or the stream ends; None: no more."""
        self._wire.on_arrival = on_arrival

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore.AsyncNetworkStream:
        """Agree TLS on the connection; also inside TLS, as through an https proxy."""
        try:
            with _as(httpcore.ConnectTimeout, httpcore.ConnectError):
                async with asyncio.timeout(timeout):
                    await self._agree(ssl_context, server_hostname)
        except BaseException:
            await self.aclose()
            raise
        return self

    async def _agree(self, ssl_context: ssl.SSLContext, server_hostname: str | None) -> None:
        if self._wire.has_arrived:
            # Anybody on the way could have said it, and it would be read as the word of the site.
            message = "it spoke before TLS was agreed"
            raise ConnectionError(message)
        loop = asyncio.get_running_loop()
        over = await loop.start_tls(self._transport, self._wire, ssl_context, server_hostname=server_hostname)
        if over is None:
            raise ConnectionResetError
        self._transport = over
        self._wire.connection_made(over)

    def get_extra_info(self, info: str) -> Any:
        """`is_readable` tells a connection that the site has closed, or talks on unasked, from one that rests."""
        if info == "is_readable":
            # Octets that nobody asked for, or the end of the stream: asyncio has read them when there are any.
            return self._wire.has_arrived or self._transport.is_closing()
        return self._transport.get_extra_info(info) if info == "ssl_object" else None


class _Wire(asyncio.Protocol):
    """What has arrived on a connection and was not read yet, and whether there is room to write."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._pieces: list[bytes] = []
        self._held = 0
        self._is_paused = False
        self._ended = False
        self._lost: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._writer: asyncio.Future[None] | None = None
        self.has_arrived = False
        """Octets, or the end of the stream."""
        self.is_full = False
        """The other side does not read as fast as we write."""
        self.on_arrival: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._pieces.append(data)
        self._held += len(data)
        if self._held > _MOST_AHEAD and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
        self._arrived()

    def eof_received(self) -> bool:
        self._ended = True
        self._arrived()
        # What is half closed can still be written to; TLS knows no such state.
        return self._transport is not None and self._transport.get_extra_info("sslcontext") is None

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._lost = exc
        self._arrived()
        self.resume_writing()

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        _wake(self._writer)

    async def arrival(self, seconds: float | None) -> None:
        """Wait for octets, or for the end."""
        self._reader = asyncio.get_running_loop().create_future()
        try:
            await _within(seconds, self._reader, httpcore.ReadTimeout)
        finally:
            self._reader = None

    async def room(self, seconds: float | None) -> None:
        """Wait until the other side has read on."""
        self._writer = asyncio.get_running_loop().create_future()
        try:
            await _within(seconds, self._writer, httpcore.WriteTimeout)
        finally:
            self._writer = None

    def take(self, most: int) -> bytes:
        """What has arrived, as far as it goes; empty at the end of the stream."""
        pieces = self._pieces
        if not pieces:
            if self._lost is not None:
                with _as(httpcore.ReadTimeout, httpcore.ReadError):
                    raise self._lost
            return b""
        if self._held <= most:
            octets = pieces[0] if len(pieces) == 1 else b"".join(pieces)
            pieces.clear()
        elif len(pieces[0]) <= most:
            octets = pieces.pop(0)
        else:
            octets, pieces[0] = pieces[0][:most], pieces[0][most:]
        self._held -= len(octets)
        self.has_arrived = bool(pieces) or self._ended
        if self._is_paused and not pieces and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        return octets

    def _arrived(self) -> None:
        self.has_arrived = True
        _wake(self._reader)
        if self.on_arrival is not None:
            self.on_arrival()


async def _within(seconds: float | None, waiter: asyncio.Future[None], timed_out: type[Exception]) -> None:
    """Wait for `waiter`. One handle of the loop: `asyncio.timeout` costs as much as the rest of a read."""
    timer = None
    if seconds is not None:
        timer = asyncio.get_running_loop().call_later(seconds, _expire, waiter, timed_out)
    try:
        await waiter
    finally:
        if timer is not None:
            timer.cancel()


def _expire(waiter: asyncio.Future[None], timed_out: type[Exception]) -> None:
    if not waiter.done():
        waiter.set_exception(timed_out())


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)


class AsyncioBackend(httpcore.AsyncNetworkBackend):
    """Dials. Whoever hands it a name lets the system resolve it: the guard hands it addresses."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Open a connection. Raises httpcore.ConnectError or ConnectTimeout."""
        local = None if local_address is None else (local_address, 0)
        with _as(httpcore.ConnectTimeout, httpcore.ConnectError):
            async with asyncio.timeout(timeout):
                loop = asyncio.get_running_loop()
                transport, wire = await loop.create_connection(_Wire, host, port, local_addr=local)
        for option in socket_options or ():
            transport.get_extra_info("socket").setsockopt(*option)
        return AsyncioStream(transport, wire)


@contextmanager
def _as(timed_out: type[Exception], broken: type[Exception]) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        # An OSError as well: the system's own time-out of a connection is told by its number.
        if error.errno is not None:
            raise broken(error.strerror or "timed out") from error
        raise timed_out from error
    except ssl.SSLError as error:
        raise broken(error) from error
    except (OSError, EOFError) as error:
        raise broken(getattr(error, "strerror", None) or str(error)) from error
