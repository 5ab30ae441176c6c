"""TCP and TLS connections of httpcore over asyncio's own streams. httpcore comes with the same over anyio, whose
cancel scopes and address look-ups cost more than the rest of a small request."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpcore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class AsyncioStream(httpcore.AsyncNetworkStream):
    """One connection. `timeout` is in seconds everywhere; None waits for ever."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - httpcore's
        """At most `max_bytes`; empty at the end of the stream."""
        with _as(httpcore.ReadTimeout, httpcore.ReadError):
            async with asyncio.timeout(timeout):
                if self._has_octets():
                    # Else a server that never lets the buffer run dry would keep every clock of the loop standing.
                    await asyncio.sleep(0)
                return await self._reader.read(max_bytes)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Send all of it."""
        if not buffer:
            return
        with _as(httpcore.WriteTimeout, httpcore.WriteError):
            self._writer.write(buffer)
            async with asyncio.timeout(timeout):
                await self._writer.drain()

    async def aclose(self) -> None:
        """End the connection at once: a site that does not take leave of TLS must not keep it open."""
        self._writer.transport.abort()

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
                    await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except BaseException:
            await self.aclose()
            raise
        return self

    def get_extra_info(self, info: str) -> Any:
        """`is_readable` tells a connection that the site has closed, or talks on unasked, from one that rests."""
        if info == "is_readable":
            # Bytes that nobody asked for, or the end of the stream: asyncio has read them when there are any.
            return self._reader.at_eof() or self._has_octets() or self._is_closing()
        if info in {"ssl_object", "socket"}:
            return self._writer.get_extra_info(info)
        names = {"server_addr": "peername", "client_addr": "sockname"}
        return self._writer.get_extra_info(names[info]) if info in names else None

    def _has_octets(self) -> bool:
        return bool(getattr(self._reader, "_buffer", b""))

    def _is_closing(self) -> bool:
        return self._reader.exception() is not None or self._writer.is_closing()


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
                reader, writer = await asyncio.open_connection(host, port, local_addr=local)
        for option in socket_options or ():
            writer.get_extra_info("socket").setsockopt(*option)
        return AsyncioStream(reader, writer)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


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
