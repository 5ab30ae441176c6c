"""What a site is asked with: its politeness and its robots gate, and the connections of one discovery, which have a
small allowance."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.fetch.client import HttpClient
from kb_pipeline.fetch.hops import Hops
from kb_pipeline.fetch.politeness import Politeness, SharedClock
from kb_pipeline.fetch.robots_gate import RobotsGate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from kb_pipeline.fetch.turns import Turn
    from kb_pipeline.model import Site
    from kb_pipeline.settings import Settings
    from kb_pipeline.store.stores import Stores

PROMPT_REQUESTS: Final = 24
CONNECTIONS: Final = 4


class DiscoveryTurns:
    """Turns of discovery's requests (implements fetch.turns.Turns).

    The first PROMPT_REQUESTS do not wait the gap of pages: they are the handful of small files that tell a crawler
    how to behave (robots.txt, sitemaps, llms.txt, the start page) and the sample, and at one a second finding a
    site would take half a minute. They are few at once, a Retry-After holds for them as for all others, and a long
    index of sitemaps goes on at the gap that all runs share.
    """

    def __init__(self, politeness: Politeness) -> None:
        self._politeness = politeness
        self._left = PROMPT_REQUESTS

    def turn(self, url: str) -> AbstractAsyncContextManager[Turn]:
        """Wait until this address may be asked."""
        self._left -= 1
        return self._politeness.turn(url, prompt=self._left >= 0)


def request_gap(settings: Settings, site: Site) -> float:
    """Seconds between two requests to the site's host: its own option, else the setting."""
    own = site.options.request_gap_seconds
    return settings.request_gap_seconds if own is None else own


def shared_politeness(stores: Stores, settings: Settings, site: Site, *, connections: int | None = None) -> Politeness:
    """Politeness that every run against the site's hosts shares; at most `connections` requests at once, by default
    those of the settings."""
    return Politeness(
        SharedClock(stores.hosts),
        gap=request_gap(settings, site),
        max_crawl_delay=settings.max_crawl_delay_seconds,
        host_connections=min(connections or settings.host_connections, settings.host_connections),
    )


def open_gate(client: HttpClient, stores: Stores, settings: Settings, politeness: Politeness) -> RobotsGate:
    """The robots gate under our own name. It tells `politeness` of each Crawl-delay."""
    return RobotsGate(
        client,
        stores.robots_files,
        token=settings.bot_token,
        user_agent=settings.bot_user_agent,
        politeness=politeness,
    )


@dataclass(frozen=True, slots=True)
class SiteSession:
    """What a discovery asks a site with."""

    client: HttpClient
    gate: RobotsGate
    hops: Hops
    gap: float
    """Seconds between two pages of the site."""

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, stores: Stores, settings: Settings, site: Site) -> AsyncIterator[SiteSession]:
        """A session that ends with the block."""
        politeness = shared_politeness(stores, settings, site, connections=CONNECTIONS)
        async with HttpClient(settings, turns=DiscoveryTurns(politeness)) as client:
            gate = open_gate(client, stores, settings, politeness)
            hops = Hops(gate, site.url, subdomains=site.options.subdomains)
            yield cls(client, gate, hops, request_gap(settings, site))
