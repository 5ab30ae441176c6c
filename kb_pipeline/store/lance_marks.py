"""The marks of a Lance table in key order, although Lance keeps no order, in memory that does not grow with it:
one scan, cut into runs that are sorted and set aside on disk, then merged."""

from __future__ import annotations

import heapq
import tempfile
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, Final

import pyarrow as pa

from kb_pipeline.core.sync import Mark
from kb_pipeline.errors import StoreError
from kb_pipeline.store.damage import usable
from kb_pipeline.store.lance import at_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kb_pipeline.store.lance import Table

SCAN_ROWS: Final = 2048
RUN_ROWS: Final = 8192
MOST_RUNS: Final = 128
MERGE_ROWS: Final = 128
DAMAGED: Final = "damaged"
"""The mark of a page whose rows contradict each other, as two writers at once can leave them. No target is equal
to it, so the page is derived again."""

Row = tuple[str, str, str]
"""Page id, row key, mark."""


def page_marks(
    table: Table, column: str, *, row_key: str = "page_id", where: str | None = None, run_rows: int | None = None
) -> Iterator[Mark]:
    """(page_id, value of `column`) of every page once, its rows for a weight, in ascending order, from the version
    `table` is at when the first one is asked for. Raises StoreError when any part cannot be read: short is never
    complete.
    """
    fixed = at_version(table)
    with ExitStack() as files, usable(table.uri):
        expected = fixed.count_rows(where)
        longest = run_rows or max(RUN_ROWS, expected // MOST_RUNS)
        rows = _sorted(_scan(fixed, column, row_key, where, expected), longest, files)
        yield from _by_page(rows)


def _scan(table: Table, column: str, row_key: str, where: str | None, expected: int) -> Iterator[pa.RecordBatch]:
    query = table.search()
    query = query.where(where) if where else query
    seen = 0
    for batch in query.select(list(dict.fromkeys(("page_id", row_key, column)))).to_batches(batch_size=SCAN_ROWS):
        seen += batch.num_rows
        yield pa.record_batch([batch["page_id"], batch[row_key], batch[column]], names=["page_id", "row_key", "mark"])
    if seen != expected:
        message = f"table {table.name!r} gave {seen} rows where it has {expected}"
        raise StoreError(message)


def _sorted(batches: Iterable[pa.RecordBatch], run_rows: int, files: ExitStack) -> Iterator[Row]:
    """All rows in ascending order. At most `run_rows` of them, and a little of each run, are in memory."""
    runs: list[IO[bytes]] = []
    pending: list[pa.RecordBatch] = []
    for batch in batches:
        pending.append(batch)
        if sum(part.num_rows for part in pending) >= run_rows:
            runs.append(_set_aside(_sort(pending), files))
            pending = []
    last = _rows_of(_sort(pending).to_batches(max_chunksize=SCAN_ROWS)) if pending else iter(())
    yield from heapq.merge(*(_rows_of(pa.ipc.open_stream(run)) for run in runs), last)


def _sort(batches: list[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(batches).sort_by([("page_id", "ascending"), ("row_key", "ascending")])


def _set_aside(rows: pa.Table, files: ExitStack) -> IO[bytes]:
    file = files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - open until the merge ends
    with pa.ipc.new_stream(file, rows.schema) as stream:
        stream.write_table(rows, max_chunksize=MERGE_ROWS)
    file.seek(0)
    return file


def _rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _by_page(rows: Iterator[Row]) -> Iterator[Mark]:
    """One mark a page; DAMAGED where its rows have several marks, or one row twice."""
    page, last_key, mark, count = "", "", "", 0
    for page_id, row_key, value in rows:
        if page_id != page:
            if page:
                yield Mark(page, mark, count)
            page, mark, count = page_id, value, 0
        elif row_key == last_key or value != mark:
            mark = DAMAGED
        last_key = row_key
        count += 1
    if page:
        yield Mark(page, mark, count)
