"""The layouts that a live version may have: this program's, and that of the versions before it, which gave each chunk
one vector. What is kept is never rewritten, so search reads both, and rows of the earlier one as those of today."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from kb_pipeline.core.passage_kinds import PassageKind
from kb_pipeline.store.damage import usable
from kb_pipeline.store.lance_indexes import VECTOR_COLUMN
from kb_pipeline.store.multivectors import matrices, multivectors
from kb_pipeline.store.schemas import PIECE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kb_pipeline.store.lance import Table

WHOLE_CHUNK: Final = "vector"
"""The column of the earlier layout: of the whole chunk, by the same model."""
_PASSAGE: Final = ("chunk_id", "page_id", "url", "title", "heading_path", "text", "ordinal", "tokens")


class Layout(NamedTuple):
    """What search reads of a version."""

    vector_column: str
    columns: tuple[str, ...]
    """With the vectors."""


PIECES: Final = Layout(VECTOR_COLUMN, (*_PASSAGE, "kind", "pieces", VECTOR_COLUMN))
WHOLE_CHUNKS: Final = Layout(WHOLE_CHUNK, (*_PASSAGE, WHOLE_CHUNK))


class Searchable(NamedTuple):
    """A version of a vectors table that search can read."""

    table: Table
    layout: Layout

    @property
    def dimension(self) -> int:
        """Of its vectors."""
        kind = self.table.schema.field(self.layout.vector_column).type
        return int((kind if self.layout is WHOLE_CHUNKS else kind.value_type).list_size)


def searchable(table: Table) -> Searchable | None:
    """The version that the handle is at; None when this program cannot search it. Raises TableUnusable."""
    with usable(table.uri):
        names = set(table.schema.names)
    return next(
        (Searchable(table, layout) for layout in (PIECES, WHOLE_CHUNKS) if names.issuperset(layout.columns)), None
    )


def as_pieces(rows: pa.Table) -> pa.Table:
    """Rows of either layout as those of today's: a chunk with one vector is one piece, and of no kind that is set
    back."""
    if WHOLE_CHUNK not in rows.column_names:
        return rows
    vectors = matrices(rows[WHOLE_CHUNK])
    dimension = rows.schema.field(WHOLE_CHUNK).type.list_size
    pieces = [[_whole(row)] for row in rows.select(["text", "tokens", "url", "heading_path"]).to_pylist()]
    return (
        rows.drop_columns([WHOLE_CHUNK])
        .append_column("kind", pa.array([PassageKind.TEXT.value] * len(rows), pa.string()))
        .append_column("pieces", pa.array(pieces, pa.list_(PIECE)))
        .append_column(VECTOR_COLUMN, multivectors(vectors, dimension))
    )


def _whole(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "start": 0,
        "end": len(row["text"]),
        "tokens": row["tokens"],
        "url": row["url"],
        "heading_path": row["heading_path"],
    }
