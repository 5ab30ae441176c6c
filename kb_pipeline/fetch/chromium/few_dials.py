"""A limit on how many connections are being opened for pages at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import httpcore

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST: Final = 24
"""Of the names that can be looked up at once in this process (fetch.guard), the rest is for pages that need no browser:
one that names a hundred dead hosts would have them all."""


class FewDials(httpcore.AsyncNetworkBackend):
    """Dials by another backend, MOST at once. Waiting for that has no time limit: the page's clock runs."""

    def __init__(self, backend: httpcore.AsyncNetworkBackend) -> None:
        self._backend = backend
        self._places = asyncio.Semaphore(MOST)

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the signature is httpcore's
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Open a connection, when there is a place."""
        async with self._places:
            return await self._backend.connect_tcp(host, port, timeout, local_address, socket_options)
