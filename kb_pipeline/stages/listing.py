"""The half of discovery that asks the site: robots.txt, sitemaps, feeds, llms.txt and the start page, and what each
of them answered. Which of the addresses are kept is decided in selection."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from kb_pipeline.core.bodies import decode_html
from kb_pipeline.core.feeds import parse_llms_txt
from kb_pipeline.core.links import Links, harvest
from kb_pipeline.core.urls import same_site
from kb_pipeline.errors import FetchError, NothingDiscovered
from kb_pipeline.fetch.robots_gate import Access
from kb_pipeline.model import PageSource, SourceType
from kb_pipeline.stages.sitemap_walk import Fetched, SitemapWalk

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from kb_pipeline.core.listings import SitemapEntry
    from kb_pipeline.fetch.client import HttpClient, Response
    from kb_pipeline.fetch.robots_gate import RobotsGate, RobotsVerdict
    from kb_pipeline.model import Site
    from kb_pipeline.settings import Settings

MAX_FILE_BYTES: Final = 8 * 2**20
MAX_FEEDS: Final = 5

WELL_KNOWN_SITEMAPS: Final = (
    "/sitemap.xml",
    "/sitemap-index.xml",
    "/sitemap_index.xml",
    "/sitemap.xml.gz",
    "/sitemap.txt",
)
_REFUSED: Final = frozenset({401, 403, 406, 429})
_OK: Final = 200
_MISSING: Final = frozenset({404, 410})
_SLOW_DOWN: Final = 429
_SERVER_ERROR: Final = 500


@dataclass(frozen=True, slots=True)
class Listed:
    """An address as a source names it."""

    url: str
    source: PageSource
    depth: int = 0
    lastmod: datetime | None = None
    priority: float | None = None
    alternates: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, entry: SitemapEntry, source: PageSource) -> Listed:
        """A line of a sitemap or feed."""
        return cls(entry.url, source, 0, entry.lastmod, entry.priority, entry.alternates)


@dataclass(slots=True)
class Listing:
    """Everything the site names, in the order of its sources, and what each source answered."""

    pages: list[Listed] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    """One line a source, for the site's owner."""
    problems: list[str] = field(default_factory=list)
    """Those of the answers that tell of something broken."""
    has_list: bool = False
    """Whether a sitemap, a feed or llms.txt named pages, as opposed to links of the start page."""
    is_gone: bool = False
    """Whether it names no page because the site says that its list, or its start page, is gone (404, 410)."""
    start_page: Response | None = None
    crawl_delay: float | None = None

    def add(self, entries: Sequence[SitemapEntry], source: PageSource) -> None:
        """Take over the lines of a list."""
        self.pages += [Listed.of(entry, source) for entry in entries]
        self.has_list = self.has_list or bool(entries)


class SiteReader:
    """Asks one site for its list of pages."""

    def __init__(
        self,
        site: Site,
        client: HttpClient,
        gate: RobotsGate,
        settings: Settings,
        *,
        was_listed: bool = False,
        has_copies: bool = False,
    ) -> None:
        """`was_listed`: an earlier refresh read a list of this site. `has_copies`: pages of it are held."""
        self._site = site
        self._has_copies = has_copies
        self._was_listed = was_listed
        self._client = client
        self._gate = gate
        self._settings = settings
        self._listing = Listing()
        self._statuses: dict[str, int] = {}
        """What each address answered; 0: nothing, or from another site."""

    async def read(self) -> Listing:
        """The site's list, by its source type.

        Raises NothingDiscovered when robots.txt could not be read, so that nothing may be asked, and when no source
        names a page, unless pages are held of a site that robots.txt forbids or that says that it is gone.
        """
        verdict = await self._verdict()
        self._listing.crawl_delay = verdict.crawl_delay
        match self._site.source_type:
            case SourceType.URL:
                self._listing.pages.append(Listed(self._site.url, PageSource.GIVEN))
            case SourceType.SITEMAP | SourceType.FEED:
                await self._read_given_list()
            case SourceType.AUTO:
                await self._read_all(verdict)
        if not self._listing.pages and self._has_copies:
            await self._note_forbidden_site()
        if not self._listing.pages:
            self._listing.is_gone = self._says_that_it_is_gone()
            if not (self._listing.is_gone and self._has_copies):
                raise NothingDiscovered(self._nothing())
        return self._listing

    async def _note_forbidden_site(self) -> None:
        """A robots.txt that forbids the lists and the start page alike wants the copies gone that are held: then the
        start page stands for a list, as a page that is forbidden, and the others are asked for one by one."""
        start = self._site.url if self._site.source_type is SourceType.AUTO else urljoin(self._site.url, "/")
        if (await self._gate.verdict(start)).access is Access.FORBIDDEN:
            self._listing.pages.append(Listed(start, PageSource.GIVEN))

    def _says_that_it_is_gone(self) -> bool:
        """Whether the registered address is gone, and no other source failed to answer: there may be a list there."""
        may_come_back = any(status in {0, _SLOW_DOWN} or status >= _SERVER_ERROR for status in self._statuses.values())
        return self._statuses.get(self._site.url) in _MISSING and not may_come_back

    async def _verdict(self) -> RobotsVerdict:
        try:
            verdict = await self._gate.verdict(self._site.url)
        except FetchError as error:
            message = f"{self._site.url} may not be fetched: {error}{self._cure()}"
            raise NothingDiscovered(message) from error
        if verdict.access is Access.UNAVAILABLE:
            message = (
                f"{verdict.reason}: nothing is fetched, and nothing is removed, until it can be read{self._cure()}"
            )
            raise NothingDiscovered(message)
        return verdict

    async def _read_given_list(self) -> None:
        walk = self._walk(feeds=self._site.source_type is SourceType.FEED)
        await walk.read([self._site.url])
        source = PageSource.FEED if self._site.source_type is SourceType.FEED else PageSource.SITEMAP
        self._take(walk, source)

    async def _read_all(self, verdict: RobotsVerdict) -> None:
        """`auto`: each source adds to one list, in this order whatever answers first."""
        at_root = partial(urljoin, self._site.url)
        walk, feeds = self._walk(invited=verdict.sitemaps), self._walk(feeds=True)
        guesses = [url for url in map(at_root, WELL_KNOWN_SITEMAPS) if url not in verdict.sitemaps]
        # The addresses depend on nothing, so they are asked for at once.
        _, links, llms = await asyncio.gather(
            walk.read([*verdict.sitemaps, *guesses], guesses=frozenset(guesses)),
            self._start_page(),
            self._llms_txt(at_root("/llms.txt")),
        )
        self._take(walk, PageSource.SITEMAP)
        await feeds.read(links.feeds[:MAX_FEEDS])
        self._take(feeds, PageSource.FEED)
        self._listing.add(llms, PageSource.LLMS_TXT)
        start = self._listing.start_page
        if start is not None and start.status == _OK:
            self._listing.pages.append(Listed(self._site.url, PageSource.GIVEN))
        if self._listing.has_list:
            return
        if self._was_listed and (walk.unanswered or feeds.unanswered):
            # A bad night of the sitemap's host must not import what the sitemap leaves out.
            self._listing.answers.append("the list that the site had before could not be read: no links were taken")
        else:
            self._add_links(links)

    def _walk(self, invited: Sequence[str] = (), *, feeds: bool = False) -> SitemapWalk:
        named = frozenset(invited)

        async def get(url: str) -> Fetched:
            return await self._get(url, invited=url in named)

        return SitemapWalk(get, max_file_bytes=MAX_FILE_BYTES, feeds=feeds)

    def _take(self, walk: SitemapWalk, source: PageSource) -> None:
        self._listing.add(walk.pages, source)
        self._listing.answers += walk.answers
        self._listing.problems += walk.problems

    async def _llms_txt(self, url: str) -> tuple[SitemapEntry, ...]:
        fetched = await self._get(url)
        entries = parse_llms_txt(fetched.body, fetched.url) if fetched.status == _OK else ()
        self._listing.answers.append(f"{url}: {f'{len(entries)} links' if entries else fetched.why or 'no links'}")
        return entries

    async def _start_page(self) -> Links:
        url = self._site.url
        response, why = await self._ask(url)
        if response is None or response.status != _OK:
            self._listing.start_page = response
            self._listing.answers.append(f"{url}: {why or _status(response)}")
            return Links()
        if not same_site(response.final_url, url, subdomains=self._site.options.subdomains):
            self._listing.answers.append(f"{url}: leads to another site, {response.final_url}")
            return Links()
        self._listing.start_page = response
        options = self._site.options
        links = await asyncio.to_thread(
            harvest,
            decode_html(response.body, response.content_type),
            response.final_url,
            token=self._settings.bot_token,
            include_nofollow=options.ignore_nofollow,
        )
        self._listing.answers.append(f"{url}: {len(links.pages)} links, {len(links.feeds)} feeds")
        return links

    def _add_links(self, links: Links) -> None:
        if links.nofollow and not self._site.options.ignore_nofollow:
            self._listing.answers.append(f"{self._site.url}: asks that its links are not followed")
            return
        self._listing.pages += [Listed(url, PageSource.LINK, depth=1) for url in links.pages]

    async def _get(self, url: str, *, invited: bool = False) -> Fetched:
        response, why = await self._ask(url, invited=invited)
        if response is None:
            return Fetched(url, 0, why=why)
        cut = " (cut at the limit of 8 MiB)" if response.truncated else ""
        return Fetched(
            response.final_url,
            response.status,
            response.body if response.status == _OK else b"",
            response.content_type,
            why=_status(response) + cut if response.status != _OK or cut else "",
        )

    async def _ask(self, url: str, *, invited: bool = False) -> tuple[Response | None, str]:
        """The response, or why there is none. `invited`: robots.txt itself names this address."""
        try:
            await self._check_robots(url, invited=invited)
            response = await self._request(url, self._settings.bot_user_agent)
            if response.status in _REFUSED:
                # Some shields know no crawler but the big ones; a page is asked for as a browser would, too.
                response = await self._request(url, None)
        except FetchError as error:
            self._statuses[url] = 0
            return None, str(error)
        stayed = same_site(response.final_url, self._site.url, subdomains=self._site.options.subdomains)
        self._statuses[url] = response.status if stayed else 0
        return response, ""

    async def _request(self, url: str, user_agent: str | None) -> Response:
        async def on_redirect(_source: str, target: str) -> None:
            await self._check_robots(target)

        return await self._client.get(
            url, max_bytes=MAX_FILE_BYTES, user_agent=user_agent, on_redirect=on_redirect, truncate=True
        )

    async def _check_robots(self, url: str, *, invited: bool = False) -> None:
        verdict = await self._gate.verdict(url)
        if verdict.access is Access.UNAVAILABLE or (verdict.access is Access.FORBIDDEN and not invited):
            raise FetchError(verdict.reason)

    def _nothing(self) -> str:
        start = self._listing.start_page
        if start is not None and start.status in _MISSING:
            opening = f"We couldn't find this page ({start.status})"
        else:
            opening = "No page was found"
        return f"{opening}: {'; '.join(self._listing.answers) or 'there was nothing to ask'}{self._cure()}"

    def _cure(self) -> str:
        """What ends it, once a site has been imported: a site that never answers again removes nothing by itself."""
        if self._site.approved_at is None:
            return ""
        return f". If the site is gone for good, `kb sites remove {self._site.site_id}` deletes what was imported of it"


def _status(response: Response | None) -> str:
    return f"status {response.status}" if response is not None else "no answer"
