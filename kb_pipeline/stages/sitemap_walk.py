"""Reads sitemaps and the sitemaps they name: one level down, each once, within bounds. How an address is asked for
is the caller's business."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.sitemaps import Sitemap, may_list, parse_sitemap
from kb_pipeline.core.urls import resolve, without_fragment

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from kb_pipeline.core.listings import SitemapEntry

MAX_SITEMAPS: Final = 500
MAX_RUN_BYTES: Final = 32 * 2**20
MAX_PAGES: Final = 500_000
AT_ONCE: Final = 4
LOOKED_AT: Final = 500
_OK: Final = 200
_NOT_NOW: Final = frozenset({0, 429})
_SERVER_ERROR: Final = 500


@dataclass(frozen=True, slots=True)
class Fetched:
    """What an address answered. `status` 0: nothing did, and `why` says why not."""

    url: str
    """Final address, after redirects: the base of relative locations."""
    status: int
    body: bytes = b""
    content_type: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class _Read:
    """What one address gave. Its body is not kept."""

    sitemap: Sitemap
    answer: str
    problem: str
    """"" where there is none."""
    octets: int = 0
    unanswered: bool = False


@dataclass(slots=True)
class SitemapWalk:
    """One reading of a site's sitemaps (or feeds, which may serve as such)."""

    get: Callable[[str], Awaitable[Fetched]]
    max_file_bytes: int
    max_run_bytes: int = MAX_RUN_BYTES
    """Decompressed. Those that are asked for at once when it is reached are read all the same."""
    max_pages: int = MAX_PAGES
    feeds: bool = False
    """What is read are feeds, which may name any address."""
    answers: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    unanswered: bool = False
    """Whether one of the addresses gave no answer, or only that it has none now: there may be a list all the same."""
    _pages: dict[str, SitemapEntry] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    _bytes: int = 0

    @property
    def pages(self) -> tuple[SitemapEntry, ...]:
        """The pages found so far, once each, in the order of the sitemaps."""
        return tuple(self._pages.values())

    async def read(self, urls: Sequence[str], *, guesses: frozenset[str] = frozenset()) -> None:
        """Read these sitemaps and those that they name. A guess that is not there is no problem."""
        named = await self._level(urls, guesses)
        deeper = await self._level(named, frozenset())
        if unread := [url for url in deeper if _identity(url) not in self._seen]:
            self._problem(f"{unread[0]}: an index within an index, not read ({len(unread)} such sitemaps)")

    async def _level(self, urls: Iterable[str], guesses: frozenset[str]) -> list[str]:
        """Read sitemaps of one level; the addresses of further ones, in order."""
        named: list[str] = []
        fresh = self._fresh(urls)
        asked: deque[asyncio.Task[_Read]] = deque()
        try:
            # Taken in the order of the list, not of the answers: discovery gives the same list each time. Of what has
            # answered out of turn only the next AT_ONCE are held: a list may name hundreds of large files.
            for place, url in enumerate(fresh):
                if len(asked) == AT_ONCE:
                    named += self._take(await asked.popleft())
                if enough := self._enough():
                    self._problem(f"{url}: not read ({len(fresh) - place} such sitemaps): {enough}")
                    break
                asked.append(asyncio.create_task(self._one(url, guessed=url in guesses)))
            while asked:
                named += self._take(await asked.popleft())
        finally:
            for task in asked:
                task.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        return named

    def _fresh(self, urls: Iterable[str]) -> list[str]:
        """Those that were not asked for yet, and for which there is room."""
        fresh = []
        for url in urls:
            identity = _identity(url)
            if identity in self._seen:
                continue
            if len(self._seen) >= MAX_SITEMAPS:
                self._problem(f"more than {MAX_SITEMAPS} sitemaps: the rest was not read")
                break
            self._seen.add(identity)
            fresh.append(url)
        return fresh

    def _enough(self) -> str:
        """Why no further sitemap is asked for; "" while there is room."""
        if len(self._pages) >= self.max_pages:
            return f"{self.max_pages:,} pages are enough"
        if self._bytes >= self.max_run_bytes:
            return f"{self.max_run_bytes // 2**20} MiB of sitemaps are enough"
        return ""

    async def _one(self, url: str, *, guessed: bool) -> _Read:
        fetched = await self.get(url)
        if fetched.status != _OK:
            return _unread(url, fetched, guessed=guessed)
        sitemap = await asyncio.to_thread(
            parse_sitemap, fetched.body, fetched.url, fetched.content_type, max_bytes=self.max_file_bytes
        )
        said = [*sitemap.problems, *([fetched.why] if fetched.why else [])]
        found = f"{len(sitemap.pages)} pages"
        if sitemap.sitemaps:
            found += f", {len(sitemap.sitemaps)} sitemaps"
        # Taken all the same, since most crawlers do; others leave out what sitemaps.org does not allow.
        stray = None if self.feeds else _stray(fetched.url, sitemap.pages)
        noted = [f"some are outside the sitemap's own folder, such as {stray}"] if stray else []
        is_problem = bool(said) and not (guessed and not sitemap.pages and not sitemap.sitemaps)
        return _Read(
            sitemap,
            answer=f"{url}: {'; '.join([found, *said, *noted])}",
            problem=f"{url}: {'; '.join(said)}" if is_problem else "",
            # What follows a compressed file, and is no part of it, was sent all the same.
            octets=max(sitemap.octets, len(fetched.body)),
        )

    def _take(self, read: _Read) -> tuple[str, ...]:
        """Add what a sitemap says; the further ones that it names."""
        self.answers.append(read.answer)
        if read.problem:
            self.problems.append(read.problem)
        self.unanswered = self.unanswered or read.unanswered
        self._bytes += read.octets
        self._add(read.sitemap.pages)
        return read.sitemap.sitemaps

    def _add(self, entries: Iterable[SitemapEntry]) -> None:
        for entry in entries:
            if entry.url not in self._pages and len(self._pages) >= self.max_pages:
                self._problem(f"more than {self.max_pages:,} pages are listed: the rest was not read")
                return
            known = self._pages.setdefault(entry.url, entry)
            if known.lastmod is None and known.priority is None:
                self._pages[entry.url] = entry

    def _problem(self, text: str) -> None:
        if text not in self.problems:
            self.answers.append(text)
            self.problems.append(text)


def _unread(url: str, fetched: Fetched, *, guessed: bool) -> _Read:
    answer = f"{url}: {fetched.why}"
    unanswered = fetched.status in _NOT_NOW or fetched.status >= _SERVER_ERROR
    return _Read(Sitemap(), answer, "" if guessed else answer, unanswered=unanswered)


def _stray(sitemap_url: str, pages: Sequence[SitemapEntry]) -> str | None:
    """An address among the first that a sitemap at this place may not list."""
    return next((page.url for page in pages[:LOOKED_AT] if not may_list(sitemap_url, page.url)), None)


def _identity(url: str) -> str:
    return without_fragment(resolve(None, url) or url)
