"""The scraper itself: one chain with its connections, on the event loop that opened it."""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import structlog

from kb_pipeline.core.site_config import SiteConfig
from kb_pipeline.fetch.answers import Answer, PageRequest
from kb_pipeline.fetch.asking import PROGRAM, ask_page, fault, without_tiers
from kb_pipeline.fetch.budget import OwnBudget
from kb_pipeline.fetch.chain import Chain
from kb_pipeline.fetch.client import HttpClient
from kb_pipeline.fetch.tiers import Workshop, default_tiers
from kb_pipeline.fetch.winner_cache import WinnerCache
from kb_pipeline.web_scraper.hosts import Hosts
from kb_pipeline.web_scraper.reading import content_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from kb_pipeline.fetch.answers import PageResult
    from kb_pipeline.fetch.tiers import TiersFor
    from kb_pipeline.settings import Settings
    from kb_pipeline.web_scraper.content import ScrapedContent

log = structlog.get_logger(__name__)


class Scraper:
    """Scrapes pages until its block ends."""

    def __init__(self, chain: Chain, hosts: Hosts, config: SiteConfig, *, ignore_noindex: bool) -> None:
        self._chain = chain
        self._hosts = hosts
        self._config = config
        self._ignore_noindex = ignore_noindex

    @classmethod
    @contextlib.asynccontextmanager
    async def open(
        cls, settings: Settings, *, tiers_for: TiersFor | None = None, ignore_noindex: bool = False
    ) -> AsyncIterator[Scraper]:
        """A scraper for the block. Raises ConfigError."""
        config = SiteConfig.parse(settings.site_config.get_secret_value())
        async with AsyncExitStack() as stack:
            hosts = Hosts(settings)
            client = await stack.enter_async_context(HttpClient(settings, turns=hosts, site_config=config))
            hosts.ask_with(client)
            workshop = Workshop(client, settings, stack, OwnBudget(), on_redirect=hosts.on_redirect, turns=hosts)
            tiers = (tiers_for or default_tiers)(workshop)
            chain = Chain(tiers, on_redirect=hosts.on_redirect, policy_for=config.policy_for, cache=WinnerCache())
            yield cls(chain, hosts, config, ignore_noindex=ignore_noindex)

    async def scrape(self, url: str, seconds: float | None = None) -> ScrapedContent:
        """The page at `url`, within so many seconds. Whatever the site does raises nothing."""
        result = await self._within(url, seconds)
        return content_of(url, result, datetime.now(UTC))

    async def _within(self, url: str, seconds: float | None) -> PageResult:
        try:
            async with asyncio.timeout(seconds) as limit:
                return await self._ask(url)
        except TimeoutError:
            if not limit.expired():
                raise
            return without_tiers(PROGRAM, Answer.TIMED_OUT, f"no result within the {seconds:g} s that were given")

    async def _ask(self, url: str) -> PageResult:
        request = PageRequest(url, ignore_noindex=self._ignore_noindex, policy=self._config.policy_for(url))
        try:
            return await ask_page(request, self._chain, self._hosts)
        except Exception as error:  # the per-page boundary: a bug on one page is that page's result
            log.exception("scraper.page_fault", url=url)
            return fault(error)
