"""A Lance table as the source or the sink of `core.sync`: marks in key order, and one commit a batch."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from kb_pipeline.core.sync import Batch, Failure, Mark
from kb_pipeline.errors import StoreError
from kb_pipeline.store.lance import at_version, in_pages, read_pages, read_rows, readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kb_pipeline.store.failures import Failures
    from kb_pipeline.store.lance import Table
    from kb_pipeline.store.schemas import TableSpec

SLICE_ROWS: Final = 20_000
MOST_SLICES: Final = 256
COMMIT_ATTEMPTS: Final = 8
DAMAGED: Final = "damaged"
"""The mark of a page whose rows contradict each other, as two writers at once can leave them. No target is
equal to it, so that the page is derived again."""


def page_marks(
    table: Table, column: str, *, row_key: str = "page_id", where: str | None = None, slice_rows: int = SLICE_ROWS
) -> Iterator[Mark]:
    """(page_id, value of `column`) of every page once, in ascending order, from the version that `table` is at.

    Lance keeps no order. Page ids are hashes and so spread evenly: the table is read in ranges of their first
    digits, each small enough to be sorted in memory. Raises StoreError when any part cannot be read.
    """
    fixed = at_version(table)
    with readable(f"table {table.name!r}"):
        rows = fixed.count_rows()
    columns = list(dict.fromkeys(("page_id", column, row_key)))
    seen = 0
    for low, high in key_ranges(min(MOST_SLICES, -(-rows // slice_rows))):
        within = " AND ".join(
            part
            for part in (low and f"page_id >= '{low}'", high and f"page_id < '{high}'", where and f"({where})")
            if part
        )
        found = read_rows(fixed, where=within or None, columns=columns)
        seen += found.num_rows
        yield from _marks_of(found, column, row_key)
    if where is None and seen != rows:
        message = f"table {table.name!r} gave {seen} rows where it has {rows}"
        raise StoreError(message)


def key_ranges(parts: int) -> Iterator[tuple[str, str]]:
    """Cut the page ids into equal ranges [low, high) by their first four digits; "" is an open end."""
    parts = max(1, parts)
    edges = [f"{0x10000 * i // parts:04x}" for i in range(1, parts)]
    yield from zip(["", *edges], [*edges, ""], strict=True)


def _marks_of(rows: pa.Table, column: str, row_key: str) -> Iterator[Mark]:
    if rows.num_rows == 0:
        return
    several = row_key != "page_id"
    grouped = rows.group_by("page_id", use_threads=False).aggregate(
        [(column, "min"), (column, "max"), ("page_id", "count"), *([(row_key, "count_distinct")] if several else [])]
    )
    distinct = grouped[f"{row_key}_count_distinct"] if several else pa.chunked_array([pa.array([1] * len(grouped))])
    whole = pc.and_(
        pc.equal(grouped[f"{column}_min"], grouped[f"{column}_max"]), pc.equal(grouped["page_id_count"], distinct)
    )
    marks = pa.table({"key": grouped["page_id"], "mark": pc.if_else(whole, grouped[f"{column}_min"], DAMAGED)}).sort_by(
        "key"
    )
    for batch in marks.to_batches(max_chunksize=2000):
        for key, mark in zip(batch["key"].to_pylist(), batch["mark"].to_pylist(), strict=True):
            yield Mark(key, mark)


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
        """Every page's `output`."""
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

    def marks(self) -> Iterator[Mark]:
        """What each page was last derived from."""
        return page_marks(self._table, "mark", row_key=self._spec.row_key)

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
            replace_pages(self._table, self._spec, pages, rows)
        settled = [*pages, *batch.forgotten]
        if settled or batch.failures:
            self._failures.settle(
                self._site_id, self._step, failed=batch.failures, settled=settled, now=datetime.now(UTC)
            )


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
    """Make `rows` all that the table has of these pages, in one commit. Tries again when another one came first."""
    theirs = in_pages(page_ids)
    for attempt in range(1, COMMIT_ATTEMPTS + 1):
        try:
            _replace(table, spec, theirs, rows)
        except (RuntimeError, OSError) as error:
            if attempt == COMMIT_ATTEMPTS or "conflict" not in str(error).lower():
                with readable(f"table {table.name!r}"):
                    raise
            table.checkout_latest()
            time.sleep(random.uniform(0, 0.05 * 2**attempt))  # noqa: S311 - jitter
        else:
            return


def _replace(table: Table, spec: TableSpec, theirs: str, rows: pa.Table) -> None:
    if rows.num_rows == 0:
        table.delete(theirs)
        return
    (
        table.merge_insert(spec.row_key)
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .when_not_matched_by_source_delete(theirs)
        .execute(rows)
    )
