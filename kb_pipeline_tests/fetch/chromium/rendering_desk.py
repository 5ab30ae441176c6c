"""A renderer over sites on loopback, kept open for all tests of a module: starting a browser takes a second or more."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from kb_pipeline.core.fetch_policy import FetchPolicy
from kb_pipeline.fetch.answers import PageRequest
from kb_pipeline.fetch.budget import OwnBudget
from kb_pipeline.fetch.chromium import ChromiumRenderer
from kb_pipeline.fetch.client import HttpClient
from kb_pipeline.fetch.guard import Guard
from kb_pipeline.fetch.tiers import Workshop
from kb_pipeline.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from kb_pipeline.fetch.rendering import Rendered


class Desk:
    """Renders pages one after the other, in one event loop. `names` are host names and what each look-up of them gives:
    an address, or a list of them, one a look-up, the last one repeated."""

    def __init__(self, names: dict[str, str | list[str]] | None = None, **settings: object) -> None:
        self.names = names or {}
        self.looked_up: list[str] = []
        self.settings = Settings(**settings)  # type: ignore[arg-type]
        self.guard = Guard(self.settings.allow_private, resolver=self._resolve)
        self.on_redirect: Callable[[str, str], Awaitable[None]] | None = None
        self.hops: list[tuple[str, str]] = []
        self.turns: object = None
        self._runner = asyncio.Runner()
        self._stack = contextlib.AsyncExitStack()
        self.renderer = self.run(self._open())

    def run(self, work):
        """Run a coroutine in this desk's loop."""
        return self._runner.run(work)

    def content(self, url: str, **policy: object) -> Rendered:
        """The page's HTML."""
        return self.run(self.renderer.content(PageRequest(url, policy=FetchPolicy(**policy))))  # type: ignore[arg-type]

    def html(self, url: str, **policy: object) -> str:
        """The same, as text."""
        return self.content(url, **policy).body.decode()

    def screenshot(self, url: str, **policy: object) -> Rendered:
        """The page's picture."""
        return self.run(self.renderer.screenshot(PageRequest(url, policy=FetchPolicy(**policy))))  # type: ignore[arg-type]

    def close(self) -> None:
        """End the browsers, and the loop."""
        self.run(self._stack.aclose())
        self._runner.close()

    async def _open(self) -> ChromiumRenderer:
        client = await self._stack.enter_async_context(HttpClient(self.settings, guard=self.guard))
        workshop = Workshop(client, self.settings, self._stack, OwnBudget(), self._hop, self)  # type: ignore[arg-type]
        renderer = ChromiumRenderer(workshop)
        self._stack.push_async_callback(renderer.aclose)
        return renderer

    async def _resolve(self, host: str, _port: int) -> list[str]:
        self.looked_up.append(host)
        known = self.names.get(host)
        if known is None:
            raise OSError(-2, "Name or service not known")
        if isinstance(known, list):
            return [known.pop(0) if len(known) > 1 else known[0]]
        return [known]

    async def _hop(self, source: str, target: str) -> None:
        self.hops.append((source, target))
        if self.on_redirect is not None:
            await self.on_redirect(source, target)

    @contextlib.asynccontextmanager
    async def turn(self, url: str):
        """A turn at a host; what it was told is kept."""
        taken = TurnTaken(url)
        self.turns = taken
        yield taken


class TurnTaken:
    def __init__(self, url: str) -> None:
        self.url = url
        self.status = 0
        self.has_failed = False

    def answered(self, status, _headers, _seconds) -> None:
        self.status = status

    def failed(self) -> None:
        self.has_failed = True


@contextlib.contextmanager
def desk(names=None, **settings) -> Iterator[Desk]:
    opened = Desk(names, **settings)
    try:
        yield opened
    finally:
        opened.close()
