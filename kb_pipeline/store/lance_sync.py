"""A Lance table as the source or the sink of `core.sync`: marks in key order, and one commit a batch."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from kb_pipeline.core.sync import Mark
from kb_pipeline.store.damage import usable
from kb_pipeline.store.lance import at_version, in_pages, read_pages
from kb_pipeline.store.lance_commits import commit, is_conflict
from kb_pipeline.store.lance_marks import DAMAGED, page_marks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kb_pipeline.core.sync import Batch, Failure
    from kb_pipeline.store.failures import Failures
    from kb_pipeline.store.lance import Table
    from kb_pipeline.store.schemas import TableSpec

COMPACT_COMMITS: Final = 128
"""A table whose every commit is a file gets slow to read and to merge into."""
KEEP_VERSIONS: Final = timedelta(days=36_500)


@dataclass(frozen=True, slots=True)
class LanceSource:
    """The `output` fingerprints of a table, and its rows by page, both from one version of it."""

    table: Table
    row_key: str = "page_id"
    where: str | None = None
    """A filter on rows that belong to the source, such as `characters >= 200`."""
    columns: Sequence[str] | None = None
    order: Sequence[str] = ("page_id",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", at_version(self.table))

    def marks(self) -> Iterator[Mark]:
        """Every page's `output`, with the number of its rows."""
        return page_marks(self.table, "output", row_key=self.row_key, where=self.where)

    def read(self, keys: Sequence[str]) -> pa.Table:
        """All rows of the pages that `where` admits, in `order`."""
        return read_pages(self.table, keys, columns=self.columns, order=self.order)


class LanceSink:
    """A derived table. `derive` gives its rows without the column `mark`, which is filled in here."""

    def __init__(
        self,
        table: Table,
        spec: TableSpec,
        failures: Failures,
        *,
        site_id: str,
        step: str,
        assert_held: Callable[[], None] = lambda: None,
    ) -> None:
        self._table = table
        self._spec = spec
        self._failures = failures
        self._site_id = site_id
        self._step = step
        self._assert_held = assert_held
        self._damaged: set[str] = set()
        self._commits = 0

    def marks(self) -> Iterator[Mark]:
        """What each page was last derived from."""
        for mark in page_marks(self._table, "mark", row_key=self._spec.row_key):
            if mark.fingerprint == DAMAGED:
                self._damaged.add(mark.key)
            yield Mark(mark.key, mark.fingerprint)  # to delete rows costs the same however many they are

    def failures(self) -> Iterator[Failure]:
        """Recorded failures of this step."""
        return self._failures.stream(self._site_id, self._step)

    def commit(self, batch: Batch[pa.Table]) -> None:
        """Replace all rows of the batch's pages in one version of the table, then settle failures.

        A writer killed between the two leaves a failure of a page that is done, which the next sync drops.
        Raises StoreUnavailable when the site lock was lost, ValueError when a page has no rows.
        """
        self._assert_held()
        rows = marked_rows(batch, self._spec)
        pages = [mark.key for mark in batch.marks] + list(batch.deleted)
        if pages:
            self._heal(pages)
            replace_pages(self._table, self._spec, pages, rows)
            self._commits += 1
            if self._commits % COMPACT_COMMITS == 0:
                compact(self._table)
        settled = [*pages, *batch.forgotten]
        if settled or batch.failures:
            self._failures.settle(
                self._site_id, self._step, failed=batch.failures, settled=settled, now=datetime.now(UTC)
            )

    def _heal(self, pages: Sequence[str]) -> None:
        """A merge would update each copy of a row that is there twice; these pages are emptied first."""
        damaged = sorted(self._damaged.intersection(pages))
        if damaged:
            replace_pages(self._table, self._spec, damaged, self._spec.schema.empty_table())
            self._damaged.difference_update(damaged)


def marked_rows(batch: Batch[pa.Table], spec: TableSpec) -> pa.Table:
    """The batch's rows in the table's columns, `mark` filled in. Raises ValueError when rows and marks disagree."""
    targets = {mark.key: mark.fingerprint for mark in batch.marks}
    rows = batch.rows if batch.rows is not None else spec.schema.empty_table()
    keys = rows["page_id"].to_pylist()
    if set(keys) != targets.keys():
        odd = sorted(set(keys) ^ targets.keys())[:3]
        message = f"rows and marks are not of the same pages: {', '.join(odd)}"
        raise ValueError(message)
    marks = pa.array([targets[key] for key in keys], pa.string())
    columns = [marks if field.name == "mark" else rows[field.name] for field in spec.schema]
    return pa.table(columns, names=spec.schema.names).cast(spec.schema)


def replace_pages(table: Table, spec: TableSpec, page_ids: Sequence[str], rows: pa.Table) -> None:
    """Make `rows` all that the table has of these pages, in one commit. Raises what `commit` raises."""
    commit(table, lambda: _replace(table, spec, page_ids, rows))


def _replace(table: Table, spec: TableSpec, page_ids: Sequence[str], rows: pa.Table) -> None:
    if rows.num_rows == 0:
        table.delete(in_pages(page_ids))
        return
    merge = table.merge_insert(spec.row_key).when_matched_update_all().when_not_matched_insert_all()
    shrunk = _pages_with_other_rows(table, spec, page_ids, rows)
    if shrunk:
        # Only where it is needed: it makes the merge hold the keys of the whole table in memory.
        merge = merge.when_not_matched_by_source_delete(in_pages(shrunk))
    merge.execute(rows)


def _pages_with_other_rows(table: Table, spec: TableSpec, page_ids: Sequence[str], rows: pa.Table) -> list[str]:
    """Pages that now have rows which are not among the new ones."""
    stored = read_pages(table, page_ids, columns=list({"page_id", spec.row_key}), order=())
    kept = set(rows[spec.row_key].to_pylist())
    pairs = zip(stored["page_id"].to_pylist(), stored[spec.row_key].to_pylist(), strict=True)
    return sorted({page_id for page_id, key in pairs if key not in kept})


def compact(table: Table) -> None:
    """Join the small files that commits leave, and bring indexes up to date; no version is cleaned away.

    Another writer's commit may come first: then the next call does it.
    """
    with usable(table.uri):
        try:
            table.optimize(cleanup_older_than=KEEP_VERSIONS)
        except (RuntimeError, OSError) as error:
            if not is_conflict(error):
                raise
            table.checkout_latest()
