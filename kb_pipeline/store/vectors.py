"""Reads a vectors table as a whole: what changed between two versions of it, and whether it agrees with the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.sync import Mark
from kb_pipeline.store.indexing import Indexing
from kb_pipeline.store.lance import count_rows, read_pages
from kb_pipeline.store.lance_marks import DAMAGED, page_marks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kb_pipeline.store.indexing import Expected
    from kb_pipeline.store.lance import Table
    from kb_pipeline.store.stores import Stores

LIVE_TAG: Final = "live"
MOST_LISTED: Final = 50
_AT_ONCE: Final = 500
_END: Final = Mark("\uffff", "")


@dataclass(frozen=True, slots=True)
class VectorIntegrity:
    """A vectors table held against the ledger. `*_pages` tuples list at most MOST_LISTED page ids."""

    rows: int
    pages: int
    expected: Expected
    removed: int
    """Pages with vectors that the ledger calls removed."""
    removed_pages: tuple[str, ...]
    damaged: int
    """Pages with a chunk id twice, or with rows of different derivations."""
    damaged_pages: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether nothing is there that should not be, and the counts are those of the ledger."""
        counts_agree = (self.pages, self.rows) == (self.expected.pages, self.expected.chunks)
        return counts_agree and not self.removed and not self.damaged


@dataclass(frozen=True, slots=True)
class PageChange:
    """A page whose rows differ between two versions; `gone` when the later one has none."""

    page_id: str
    gone: bool


def inspect_vectors(stores: Stores, site_id: str, table_name: str) -> VectorIntegrity:
    """Compare the newest version of the table with the ledger. Raises StoreError when it cannot be read."""
    table = stores.site(site_id).table(table_name)
    indexing = Indexing(stores.database)
    removed_ids = indexing.removed(site_id)
    gone = next(removed_ids, None)
    pages = 0
    removed: list[str] = []
    damaged: list[str] = []
    for mark in page_marks(table, "mark", row_key="chunk_id"):
        pages += 1
        while gone is not None and gone < mark.key:
            gone = next(removed_ids, None)
        if gone == mark.key:
            removed.append(mark.key)
        if mark.fingerprint == DAMAGED:
            damaged.append(mark.key)
    return VectorIntegrity(
        rows=count_rows(table),
        pages=pages,
        expected=indexing.expected(site_id),
        removed=len(removed),
        removed_pages=tuple(removed[:MOST_LISTED]),
        damaged=len(damaged),
        damaged_pages=tuple(damaged[:MOST_LISTED]),
    )


def failures_explain(stores: Stores, site_id: str, table_name: str, step: str, vectors: VectorIntegrity) -> bool:
    """Whether the counts agree once the pages that `step` could not do are left out of both: such a page keeps the
    vectors it had, or has none. Raises StoreError when the table cannot be read."""
    table = stores.site(site_id).table(table_name)
    failed = stores.failures.stream(site_id, step)
    pages = rows = 0
    while page_ids := [failure.key for failure in islice(failed, _AT_ONCE)]:
        held = read_pages(table, page_ids, columns=["page_id"])["page_id"]
        pages += len(held.unique())
        rows += len(held)
    wanted, failing = vectors.expected, Indexing(stores.database).expected_of_failed(site_id, step)
    others = (wanted.pages - failing.pages, wanted.chunks - failing.chunks)
    return (vectors.pages - pages, vectors.rows - rows) == others


def page_changes(before: Table | None, after: Table) -> Iterator[PageChange]:
    """Pages whose rows differ between two versions, in order of their id, in bounded memory."""
    old = page_marks(before, "mark", row_key="chunk_id") if before is not None else iter(())
    new = page_marks(after, "mark", row_key="chunk_id")
    left, right = next(old, _END), next(new, _END)
    while left is not _END or right is not _END:
        if left.key < right.key:
            yield PageChange(left.key, gone=True)
            left = next(old, _END)
        elif right.key < left.key:
            yield PageChange(right.key, gone=False)
            right = next(new, _END)
        else:
            if left.fingerprint != right.fingerprint:
                yield PageChange(right.key, gone=False)
            left, right = next(old, _END), next(new, _END)


def count_pages(table: Table) -> int:
    """Distinct pages of the table's version."""
    return sum(1 for _ in page_marks(table, "mark", row_key="chunk_id"))
