"""What people are shown of sites and pages: listings over several tables for the command line. Read-only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kb_pipeline.model import PageStatus, RefreshKind, RefreshOutcome, SiteState  # noqa: TC001 - rows read the hints
from kb_pipeline.store.named_queries import named

if TYPE_CHECKING:
    from datetime import datetime

    from kb_pipeline.store.database import Database

_SITES: Final = named("overview_sites")
_PAGES_AT: Final = named("overview_pages_at")
_PAGES: Final = named("overview_pages")
_SERVER_VERSION: Final = named("overview_server_version")


@dataclass(frozen=True, slots=True)
class SiteLine:
    """One site, with what is live of it, how its newest refresh went, and its newest full one."""

    site_id: str
    url: str
    state: SiteState
    tenant: str
    approved_pages: int | None
    next_refresh_at: datetime | None
    last_error: str | None
    last_error_at: datetime | None
    live_pages: int | None
    live_chunks: int | None
    live_since: datetime | None
    live_table: str | None
    generation: int | None
    refresh_kind: RefreshKind | None
    refresh_started_at: datetime | None
    refresh_finished_at: datetime | None
    refresh_outcome: RefreshOutcome | None
    refresh_reason: str | None
    full_generation: int | None
    full_outcome: RefreshOutcome | None
    full_reason: str | None
    held_removals: int
    """Pages whose removal waits to be confirmed, whichever refresh found them gone."""

    @property
    def is_refreshing(self) -> bool:
        """Whether a refresh is open: running, or waiting to be taken up again or approved."""
        return self.generation is not None and self.refresh_finished_at is None


@dataclass(frozen=True, slots=True)
class PageAt:
    """A page that an address leads to."""

    site_id: str
    page_id: str
    known_as: str | None
    """How the address leads there (`redirect`, `canonical`, `same_identity`); None when it is the page's own."""
    tiers: list[dict[str, Any]]
    """What each tier of the last fetch gave, in order."""


@dataclass(frozen=True, slots=True)
class PageLine:
    """One page of a listing."""

    url: str
    state: PageStatus
    reason: str | None
    status_code: int | None
    tier: str | None
    characters: int | None
    chunk_count: int | None
    last_fetched_at: datetime | None
    last_indexed_at: datetime | None


class Overview:
    """Read-only queries for people."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def sites(self) -> list[SiteLine]:
        """Every site, by id."""
        return self._database.all(_SITES, SiteLine)

    def pages_at(self, url: str, page_id: str, *, site_id: str | None = None) -> list[PageAt]:
        """Pages that `url`, whose own page id would be `page_id`, leads to; by site."""
        return self._database.all(_PAGES_AT, PageAt, url=url, page_id=page_id, site_id=site_id)

    def pages(self, site_id: str, state: PageStatus | None, *, most: int) -> list[PageLine]:
        """Pages of a site, by address."""
        return self._database.all(_PAGES, PageLine, site_id=site_id, state=state, most=most)

    def server_version(self) -> str:
        """Version of the PostgreSQL server."""
        return self._database.require(_SERVER_VERSION, str)
