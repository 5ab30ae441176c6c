"""The ledger as discovery, approval and lifecycle see it: which pages a refresh asks for, and why others are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.model import PageSource, PageStatus
from kb_pipeline.store.named_queries import named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from kb_pipeline.model import Discovered
    from kb_pipeline.store.database import Database

CHARACTERS_A_TOKEN: Final = 4.5
"""English prose in the tokenizer of a sentence-embedding model."""

_KNOWN: Final = named("discovery_known")
_UNSEEN: Final = named("discovery_unseen")
_LINKS_LEFT_OUT: Final = named("discovery_links_left_out")
_ASK_FOR: Final = named("discovery_ask_for")
_TRIM_COPIES: Final = named("discovery_trim_copies")
_RETRIES: Final = named("discovery_retries")
_EXCLUDE: Final = named("discovery_exclude")
_WANT_LINKED: Final = named("discovery_want_linked")
_ADD_LINKS: Final = named("discovery_add_links")
_WANTED: Final = named("discovery_wanted")
_TRIM_EXCLUDED: Final = named("discovery_trim_excluded")
_READMIT: Final = named("discovery_readmit")
_TRIM_WANTED: Final = named("discovery_trim_wanted")
_LOCK_TENANT: Final = named("discovery_lock_tenant")
_TENANT_HOLDS: Final = named("discovery_tenant_holds")
_HISTORY: Final = named("discovery_history")
_SET_REASON: Final = named("discovery_set_reason")
_PROMOTE: Final = named("discovery_promote")
_DISCOVERED_AT: Final = named("discovery_discovered_at")
_WANT_RETRIES: Final = named("discovery_want_retries")
_FAILURES: Final = named("discovery_failures_in_a_row")


@dataclass(frozen=True, slots=True)
class KnownPage:
    """What selecting pages takes from the ledger."""

    page_id: str
    state: PageStatus
    has_copy: bool


@dataclass(frozen=True, slots=True)
class NamedPage:
    """A page as the site's rules look at it."""

    page_id: str
    url: str
    depth: int
    source: PageSource


@dataclass(frozen=True, slots=True)
class Holdings:
    """What the other sites of a tenant hold, or will when the imports under way have ended."""

    pages: int
    characters: int


@dataclass(frozen=True, slots=True)
class History:
    """Characters of a site's indexed pages: number of pages, mean, standard deviation."""

    pages: int
    mean: float
    spread: float


class DiscoveryLedger:
    """Repository over `pages` and `refreshes` for one site. The caller holds the site's lock."""

    def __init__(self, database: Database, site_id: str) -> None:
        self._database = database
        self._site_id = site_id

    def known(self) -> dict[str, KnownPage]:
        """Every page of the ledger, by id."""
        rows = self._database.stream(_KNOWN, KnownPage, site_id=self._site_id)
        return {row.page_id: row for row in rows}

    def unseen(self, generation: int) -> Iterator[NamedPage]:
        """Pages with a copy, or that only links lead to, that were not seen in this refresh."""
        return self._database.stream(_UNSEEN, NamedPage, site_id=self._site_id, generation=generation)

    def links_left_out(self, generation: int) -> list[NamedPage]:
        """Pages that only links lead to, that were left out, and not by this refresh; the best first."""
        return self._database.all(_LINKS_LEFT_OUT, NamedPage, site_id=self._site_id, generation=generation)

    def ask_for(self, generation: int, page_ids: Sequence[str]) -> int:
        """Take these pages into the refresh as if they were new; how many."""
        return self._database.execute(_ASK_FOR, site_id=self._site_id, generation=generation, page_ids=list(page_ids))

    def exclude(self, reasons: Sequence[tuple[str, str]]) -> None:
        """Leave these pages out: (page id, reason)."""
        if reasons:
            self._database.execute(
                _EXCLUDE,
                site_id=self._site_id,
                page_ids=[page_id for page_id, _ in reasons],
                reasons=[reason for _, reason in reasons],
            )

    def want_linked(self, generation: int, now: datetime) -> int:
        """Ask again for the pages that only links lead to; how many."""
        return self._database.execute(_WANT_LINKED, site_id=self._site_id, generation=generation, now=now)

    def add_links(self, generation: int, found: Sequence[Discovered], now: datetime) -> int:
        """Add pages that pages lead to; how many were not seen in this refresh before."""
        return self._database.execute(
            _ADD_LINKS,
            site_id=self._site_id,
            generation=generation,
            now=now,
            page_ids=[page.page_id for page in found],
            urls=[page.url for page in found],
            states=[(PageStatus.EXCLUDED if page.excluded_because else PageStatus.PENDING).value for page in found],
            reasons=[page.excluded_because for page in found],
            sources=[page.source.value for page in found],
            depths=[page.depth for page in found],
        )

    def wanted(self, generation: int) -> int:
        """How many pages the refresh asks for."""
        return self._database.require(_WANTED, int, site_id=self._site_id, generation=generation)

    def trim_excluded(self, most: int) -> int:
        """Forget all but the newest rows of pages left out; how many."""
        return self._database.execute(_TRIM_EXCLUDED, site_id=self._site_id, most=most)

    def readmit(self, generation: int, reason: str) -> int:
        """Ask for the pages that were left out for this reason; how many."""
        return self._database.execute(_READMIT, site_id=self._site_id, generation=generation, reason=reason)

    def trim_wanted(self, generation: int, most: int, reason: str) -> int:
        """Leave out all that the refresh asks for but the `most` best; how many."""
        return self._database.execute(
            _TRIM_WANTED, site_id=self._site_id, generation=generation, most=most, reason=reason
        )

    def trim_copies(self, generation: int, most: int, reason: str) -> int:
        """Leave out copies that this refresh's list does not name, the least ones, as far as the site has more than
        `most`; how many."""
        return self._database.execute(
            _TRIM_COPIES, site_id=self._site_id, generation=generation, most=most, reason=reason
        )

    def lock_tenant(self, tenant: str) -> None:
        """Until the transaction ends, nobody else checks an import against this tenant's allowance."""
        self._database.execute(_LOCK_TENANT, tenant=tenant)

    def tenant_holds(self, tenant: str) -> Holdings:
        """What the tenant's other sites take of its allowance."""
        return self._database.require(
            _TENANT_HOLDS, Holdings, tenant=tenant, site_id=self._site_id, characters_a_token=CHARACTERS_A_TOKEN
        )

    def history(self) -> History:
        """How long the site's indexed pages are."""
        return self._database.require(_HISTORY, History, site_id=self._site_id)

    def set_reason(self, generation: int, reason: str | None) -> None:
        """Say what an open refresh waits for."""
        self._database.execute(_SET_REASON, site_id=self._site_id, generation=generation, reason=reason)

    def promote(self, generation: int) -> bool:
        """Make an open retry a full refresh; whether it was a retry."""
        return self._database.execute(_PROMOTE, site_id=self._site_id, generation=generation) > 0

    def discovered_at(self, generation: int) -> datetime | None:
        """When the refresh's discovery ended; None while it has not."""
        row = self._database.one(_DISCOVERED_AT, dict, site_id=self._site_id, generation=generation)
        return row["discovered_at"] if row else None

    def retries(self, generation: int, now: datetime) -> Iterator[NamedPage]:
        """Pages whose retry time has come, by id."""
        return self._database.stream(_RETRIES, NamedPage, site_id=self._site_id, generation=generation, now=now)

    def want_retries(self, generation: int, now: datetime) -> int:
        """Ask for the pages whose retry time has come; how many."""
        return self._database.execute(_WANT_RETRIES, site_id=self._site_id, generation=generation, now=now)

    def failures_in_a_row(self) -> int:
        """How many full refreshes have failed since one was published or held."""
        return self._database.require(_FAILURES, int, site_id=self._site_id)
