"""What the data store has lost and the ledger still counts on: a table that was deleted, a backup older than the
ledger. A row that is missing is not a page that is gone: it is made again, and nothing after it goes with it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

import structlog

from kb_pipeline.core.ordered import ordered
from kb_pipeline.store.lance_marks import page_marks
from kb_pipeline.store.schemas import SNAPSHOTS

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from kb_pipeline.core.sync import Mark
    from kb_pipeline.store.frontier import Frontier
    from kb_pipeline.store.stores import Stores

log = structlog.get_logger(__name__)

_AT_ONCE: Final = 1000


def ask_for_lost_bodies(stores: Stores, frontier: Frontier, site_id: str) -> int:
    """Ask in this refresh, without comparison, for every page whose stored body is not the one that the ledger has:
    the site would answer that nothing has changed, and the page would stay lost. How many. Raises StoreError."""
    store = stores.site(site_id)
    held = page_marks(store.table(SNAPSHOTS), "content_hash") if store.exists(SNAPSHOTS) else iter(())
    lost = lacking(stores.pages.snapshot_marks(site_id), held, by_content=True)
    asked = 0
    while page_ids := [mark.key for mark in islice(lost, _AT_ONCE)]:
        asked += frontier.ask_anew(page_ids)
    if asked:
        log.warning("crawl.bodies_lost", site=site_id, pages=asked)
    return asked


def lacking(expected: Iterator[Mark], held: Iterator[Mark], *, by_content: bool = False) -> Generator[Mark, None, None]:
    """Marks of `expected` whose key `held` lacks, or, `by_content`, has with another fingerprint. All ascend by
    key."""
    with ordered(expected, "ledger") as marks, ordered(held, "table") as stored:
        while (mark := marks.pop()) is not None:
            while stored.pop_below(mark.key) is not None:
                pass
            found = stored.pop_if(mark.key)
            if found is None or (by_content and found.fingerprint != mark.fingerprint):
                yield mark


def accounted(stored: Iterator[Mark], expected: Iterator[Mark], source: Iterator[Mark]) -> Generator[Mark, None, None]:
    """The marks of `stored` without those of pages that are `expected` and that `source` lacks.

    A sync deletes the keys that its source no longer has. Rows whose source row was lost are none of these, and a
    sync that does not see them leaves them alone.
    """
    yield from lacking(stored, lacking(expected, source))
