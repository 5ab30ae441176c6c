"""What the ledger knows of the index: chunks a page, when it went live, and what the index is expected to hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.sync import Mark
from kb_pipeline.model import Refresh
from kb_pipeline.store.named_queries import named

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from kb_pipeline.store.database import Database

_RECORD_CHUNKS: Final = named("indexing_record_chunks")
_MARK_LIVE: Final = named("indexing_mark_live")
_REFRESH_TO_END: Final = named("indexing_refresh_to_end")
_GENERATION: Final = named("indexing_generation")
_EXPECTED: Final = named("indexing_expected")
_EXPECTED_OF_FAILED: Final = named("indexing_expected_of_failed")
_EXPECTED_PAGES: Final = named("indexing_expected_pages")
_REMOVED: Final = named("indexing_removed")


@dataclass(frozen=True, slots=True)
class ChunkedPage:
    """A page and how many chunks it has; `title` None leaves the ledger's."""

    page_id: str
    title: str | None
    chunk_count: int


@dataclass(frozen=True, slots=True)
class Expected:
    """Pages and chunks that the index should hold."""

    pages: int
    chunks: int


class Indexing:
    """Repository over `pages` and `refreshes` for the stages after extraction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record_chunks(self, site_id: str, pages: Sequence[ChunkedPage]) -> None:
        """Write chunk counts and titles; a page that is not in the ledger is passed over."""
        self._database.execute(
            _RECORD_CHUNKS,
            site_id=site_id,
            page_ids=[page.page_id for page in pages],
            titles=[page.title for page in pages],
            chunk_counts=[page.chunk_count for page in pages],
        )

    def mark_live(self, site_id: str, page_ids: Sequence[str], now: datetime) -> None:
        """These pages' present content is what search finds from now on."""
        self._database.execute(_MARK_LIVE, site_id=site_id, page_ids=list(page_ids), now=now)

    def refresh_to_end(self, site_id: str) -> Refresh | None:
        """The open refresh, once every page of it has an outcome."""
        return self._database.one(_REFRESH_TO_END, Refresh, site_id=site_id)

    def generation(self, site_id: str) -> int:
        """The newest refresh whose pages were fetched, 0 before the first."""
        return self._database.require(_GENERATION, int, site_id=site_id)

    def expected(self, site_id: str) -> Expected:
        """What the ledger says the index holds."""
        return self._database.require(_EXPECTED, Expected, site_id=site_id)

    def expected_of_failed(self, site_id: str, step: str) -> Expected:
        """That part of `expected` that belongs to pages that the step could not do."""
        return self._database.require(_EXPECTED_OF_FAILED, Expected, site_id=site_id, step=step)

    def expected_pages(self, site_id: str) -> Iterator[Mark]:
        """Pages that the ledger says have chunks, ascending; without fingerprints."""
        return self._database.stream(_EXPECTED_PAGES, Mark, site_id=site_id)

    def removed(self, site_id: str) -> Iterator[str]:
        """Ids of pages whose copy was removed, ascending."""
        return self._database.stream(_REMOVED, str, site_id=site_id)
