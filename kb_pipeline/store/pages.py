"""The ledger: one row a URL of a site. What the fetch frontier and reports add is in their own repositories."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.sync import Mark
from kb_pipeline.model import Page, PageStatus
from kb_pipeline.store.named_queries import named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from kb_pipeline.model import Discovered
    from kb_pipeline.store.database import Database

_GET: Final = named("pages_get")
_LIST: Final = named("pages_list")
_OF_IDS: Final = named("pages_of_ids")
_COUNT_BY_STATE: Final = named("pages_count_by_state")
_COUNT_EXCLUSIONS: Final = named("pages_count_exclusions")
_COUNT_WITH_COPY: Final = named("pages_count_with_copy")
_SNAPSHOT_MARKS: Final = named("pages_snapshot_marks")
_DISCOVERED: Final = named("pages_discovered")
_WANT_UNSEEN: Final = named("pages_want_unseen")

_UPSERT_ROWS: Final = 2000


@dataclass(frozen=True, slots=True)
class Amount:
    """One line of a count."""

    name: str
    amount: int


class Pages:
    """Repository of `pages`. `page_id` is ascending in every list and stream."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, site_id: str, page_id: str) -> Page | None:
        """One page, or None."""
        return self._database.one(_GET, Page, site_id=site_id, page_id=page_id)

    def of_ids(self, site_id: str, page_ids: Sequence[str]) -> list[Page]:
        """Those of the pages that exist."""
        return self._database.all(_OF_IDS, Page, site_id=site_id, page_ids=list(page_ids))

    def stream(self, site_id: str, states: Iterable[PageStatus] | None = None) -> Iterator[Page]:
        """Every page, or those in one of the states, with bounded memory."""
        wanted = None if states is None else [state.value for state in states]
        return self._database.stream(_LIST, Page, site_id=site_id, states=wanted)

    def count_by_state(self, site_id: str) -> Counter[PageStatus]:
        """Pages in each state."""
        rows = self._database.all(_COUNT_BY_STATE, Amount, site_id=site_id)
        return Counter({PageStatus(row.name): row.amount for row in rows})

    def count_exclusions(self, site_id: str) -> dict[str, int]:
        """Pages left out by reason, the most frequent first."""
        return {row.name: row.amount for row in self._database.all(_COUNT_EXCLUSIONS, Amount, site_id=site_id)}

    def count_with_copy(self, site_id: str) -> int:
        """Pages of which a copy is, or may be, indexed."""
        return self._database.require(_COUNT_WITH_COPY, int, site_id=site_id)

    def snapshot_marks(self, site_id: str) -> Iterator[Mark]:
        """(page_id, content hash) of pages that have a snapshot and were not removed; weight in bytes of body."""
        return self._database.stream(_SNAPSHOT_MARKS, Mark, site_id=site_id)

    def record_discovered(self, site_id: str, generation: int, found: Sequence[Discovered], now: datetime) -> None:
        """Upsert what discovery found. Kept pages are asked for in `generation`; a page_id given twice in one
        call counts once, the later one."""
        unique = sorted({page.page_id: page for page in found}.values(), key=lambda page: page.page_id)
        with self._database.transaction():
            for start in range(0, len(unique), _UPSERT_ROWS):
                self._upsert(site_id, generation, unique[start : start + _UPSERT_ROWS], now)

    def want_unseen(self, site_id: str, generation: int) -> int:
        """Ask again for pages that have a copy and were not found this time; how many."""
        return self._database.execute(_WANT_UNSEEN, site_id=site_id, generation=generation)

    def _upsert(self, site_id: str, generation: int, found: Sequence[Discovered], now: datetime) -> None:
        self._database.execute(
            _DISCOVERED,
            site_id=site_id,
            generation=generation,
            now=now,
            page_ids=[page.page_id for page in found],
            urls=[page.url for page in found],
            states=[_state(page) for page in found],
            reasons=[page.excluded_because for page in found],
            sources=[page.source.value for page in found],
            depths=[page.depth for page in found],
            priorities=[page.priority for page in found],
            lastmods=[page.lastmod for page in found],
            alternates=[json.dumps(page.alternates) for page in found],
        )


def _state(page: Discovered) -> str:
    if page.forbidden:
        return PageStatus.FORBIDDEN.value
    return PageStatus.EXCLUDED.value if page.excluded_because else PageStatus.PENDING.value
