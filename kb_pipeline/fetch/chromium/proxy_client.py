"""The browser's end of a connection to the proxy: requests as they come, answers as they go (h11), and the bytes of a
tunnel. Whom they are for is fetch.chromium.guard_proxy's business."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import h11

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kb_pipeline.fetch.chromium.traffic import PageTraffic

PIECE: Final = 64 * 1024
"""Bytes that are read at once."""
_MAX_HEAD_BYTES: Final = 64 * 1024
_HEAD_SECONDS: Final = 15.0
"""For a request's head to arrive: the browser is on this machine."""


class ProxyClient:
    """The browser's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._early = b""
        self.page: PageTraffic | None = None
        """Whose requests come by it."""
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD_BYTES)

    async def next_request(self) -> h11.Request | None:
        """The next request's head; None when no other comes. Raises h11.ProtocolError."""
        if self._http.our_state is h11.DONE and not await self._is_reusable():
            return None
        async with asyncio.timeout(_HEAD_SECONDS):
            event = await self._event()
        return event if isinstance(event, h11.Request) else None

    async def _event(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._reader.read(PIECE))
        return event

    async def _is_reusable(self) -> bool:
        """After an answer: whether the request was read to its end, and another may follow."""
        if self._http.their_state is h11.SEND_BODY and not isinstance(await self._event(), h11.EndOfMessage):
            return False
        if self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    async def body(self, page: PageTraffic) -> AsyncIterator[bytes]:
        """The request's body, as it comes."""
        while isinstance(event := await self._event(), h11.Data):
            page.count(sent=len(event.data))
            yield bytes(event.data)

    def begin_tunnel(self) -> None:
        """From here on bytes are nobody's HTTP. Those that came early are not lost."""
        self._early, _ = self._http.trailing_data

    async def read(self) -> bytes:
        """The next bytes of a tunnel; empty at its end."""
        early, self._early = self._early, b""
        return early or await self._reader.read(PIECE)

    async def write(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._writer.write(data)
        await self._writer.drain()

    async def send(self, event: h11.Response | h11.Data | h11.EndOfMessage) -> None:
        """Send a part of a response."""
        data = self._http.send(event)
        if data:
            await self.write(data)

    async def answer(self, status: int, headers: list[tuple[str, str]] | None = None) -> None:
        """Answer without a body, in our own name."""
        await self.send(h11.Response(status_code=status, headers=[*(headers or []), ("Content-Length", "0")]))
        await self.send(h11.EndOfMessage())
