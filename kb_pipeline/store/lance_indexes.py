"""Indexes of a vectors table, and the tidying of any table: small files joined, old versions dropped, tagged ones
never."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from kb_pipeline.store.damage import usable
from kb_pipeline.store.lance_sync import compact

if TYPE_CHECKING:
    from collections.abc import Collection

    from kb_pipeline.store.lance import SiteStore, Table

FULL_TEXT_COLUMN: Final = "plain"
VECTOR_COLUMN: Final = "vectors"
VECTOR_INDEX_ROWS: Final = 20_000
"""Below, a scan of all vectors is exact, and takes a fifth of a second at most (four vectors a row, two busy cores)."""
MOST_FRAGMENTS: Final = 32
"""Files of a table above which they are joined. Joining rewrites rows that kept versions hold as well, so it is not
done at each refresh."""
KEPT_UNTAGGED: Final = timedelta(hours=1)
"""Untagged versions younger than this stay: a search that has just opened one must be able to finish."""


def update_indexes(table: Table) -> None:
    """Make every row of a vectors table found by its indexes, and leave `table` at the version where that is so.

    A table without rows has none: a full-text index built on an empty table finds nothing for ever.
    """
    with usable(table.uri):
        table.checkout_latest()
        rows = table.count_rows()
        if fragments(table) > MOST_FRAGMENTS:
            _join_files(table)
        names = {index.columns[0] for index in table.list_indices()}
        if rows and FULL_TEXT_COLUMN not in names:
            _index_text(table)
        if rows >= VECTOR_INDEX_ROWS and VECTOR_COLUMN not in names:
            _index_vectors(table)
        _cover_all_rows(table)


def _cover_all_rows(table: Table) -> None:
    if unindexed_rows(table):
        table.to_lance().optimize.optimize_indices()
        table.checkout_latest()


def unindexed_rows(table: Table) -> int:
    """Rows that some index of the table does not cover."""
    return max((index.num_unindexed_rows or 0 for index in table.list_indices()), default=0)


def fragments(table: Table) -> int:
    """Data files of the table's version."""
    return len(table.to_lance().get_fragments())


def tidy(store: SiteStore, names: Collection[str], *, keep_untagged: timedelta = KEPT_UNTAGGED) -> None:
    """Join the small files of these tables where there are many, and drop versions that no tag holds."""
    for name in names:
        table = store.table(name)
        with usable(table.uri):
            if VECTOR_COLUMN not in table.schema.names and fragments(table) > MOST_FRAGMENTS:
                compact(table)
            table.to_lance().cleanup_old_versions(older_than=keep_untagged, error_if_tagged_old_versions=False)


def _join_files(table: Table) -> None:
    """Lance joins only files that the same parts of an index cover: the full-text index is brought up to date first,
    and a vector index, which grows by parts, is built again afterwards."""
    for index in list(table.list_indices()):
        if index.columns == [VECTOR_COLUMN]:
            table.drop_index(index.name)
    _cover_all_rows(table)
    compact(table)
    table.checkout_latest()


def _index_text(table: Table) -> None:
    from lancedb.index import FTS  # noqa: PLC0415 - heavy

    # Words of the unspaced scripts are found by ICU's dictionaries; identifiers are cut at underscores and dots.
    table.create_index(FULL_TEXT_COLUMN, config=FTS(base_tokenizer="icu/split"))


def _index_vectors(table: Table) -> None:
    from lancedb.index import IvfFlat  # noqa: PLC0415 - heavy

    table.create_index(VECTOR_COLUMN, config=IvfFlat(distance_type="cosine"))
