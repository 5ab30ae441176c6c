"""The Lance tables of a site and their columns. Every derived row carries `mark` (the target fingerprint its page
was derived to) and `output` (the fingerprint of what it holds, the source fingerprint of the table after it)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

SNAPSHOTS: Final = "snapshots"
TEXTS: Final = "texts"
CHUNKS: Final = "chunks"


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A table's name, its Arrow schema, and the column whose values are unique.

    A column that an earlier version did not have is nullable: tables that are there get it without values, until their
    rows are derived anew.
    """

    name: str
    schema: pa.Schema
    row_key: str
    irreplaceable: bool = False
    """Whether its rows cannot be derived again. Such a table never loses a column."""


# Lance checks no keys, but commits that insert the same one conflict when it knows that the column is one: two
# writers at once then leave each row once.
_ROW_KEY: Final = {"lance-schema:unenforced-primary-key": "true"}
_PAGE_ID: Final = pa.field("page_id", pa.string(), nullable=False)
ANCHOR: Final = pa.struct([pa.field("heading", pa.int32()), pa.field("fragment", pa.string())])
"""The n-th heading of a text's Markdown, from 0, and the fragment id of its section."""

_PIECE: Final = (
    pa.field("start", pa.int32()),
    pa.field("end", pa.int32()),
    pa.field("tokens", pa.int32()),
    pa.field("url", pa.string()),
    pa.field("heading_path", pa.list_(pa.string())),
)
PIECE: Final = pa.struct(_PIECE)
"""A part of a chunk's text with a vector of its own (model.Piece). `url` has the fragment of its section."""
PIECE_TO_EMBED: Final = pa.struct([*_PIECE, pa.field("reads", pa.string())])
"""The same with what the model reads for it."""

_MARKS: Final = (
    pa.field("mark", pa.string(), nullable=False),
    pa.field("output", pa.string(), nullable=False),
)

SNAPSHOTS_TABLE: Final = TableSpec(
    SNAPSHOTS,
    pa.schema(
        [
            _PAGE_ID.with_metadata(_ROW_KEY),
            pa.field("url", pa.string(), nullable=False),
            pa.field("content_type", pa.string(), nullable=False),
            pa.field("body", pa.large_binary(), nullable=False),
            pa.field("content_hash", pa.string(), nullable=False),
            pa.field("tier", pa.string(), nullable=False),
            pa.field("status_code", pa.int32(), nullable=False),
            pa.field("fetched_at", pa.timestamp("us", tz="UTC"), nullable=False),
            pa.field("degraded", pa.bool_()),
        ]
    ),
    "page_id",
    irreplaceable=True,
)

TEXTS_TABLE: Final = TableSpec(
    TEXTS,
    pa.schema(
        [
            _PAGE_ID.with_metadata(_ROW_KEY),
            *_MARKS,
            pa.field("url", pa.string(), nullable=False),
            pa.field("title", pa.string(), nullable=False),
            pa.field("description", pa.string(), nullable=False),
            pa.field("language", pa.string()),
            pa.field("canonical", pa.string()),
            pa.field("author", pa.string()),
            pa.field("published", pa.string()),
            pa.field("modified", pa.string()),
            pa.field("markdown", pa.large_string(), nullable=False),
            pa.field("anchors", pa.list_(ANCHOR), nullable=False),
            pa.field("characters", pa.int32(), nullable=False),
            pa.field("page_state", pa.string(), nullable=False),
            pa.field("quality", pa.float32(), nullable=False),
            pa.field("degraded", pa.bool_(), nullable=False),
            pa.field("truncated", pa.bool_(), nullable=False),
            pa.field("noindex", pa.bool_(), nullable=False),
        ]
    ),
    "page_id",
)

_PASSAGE: Final = (
    _PAGE_ID,
    *_MARKS,
    pa.field("chunk_id", pa.string(), nullable=False, metadata=_ROW_KEY),
    pa.field("ordinal", pa.int32(), nullable=False),
    pa.field("url", pa.string(), nullable=False),
    pa.field("title", pa.string(), nullable=False),
    pa.field("heading_path", pa.list_(pa.string()), nullable=False),
    pa.field("context", pa.string(), nullable=False),
    pa.field("text", pa.string(), nullable=False),
    pa.field("hash", pa.string(), nullable=False),
    pa.field("tokens", pa.int32(), nullable=False),
    pa.field("kind", pa.string()),
)

CHUNKS_TABLE: Final = TableSpec(
    CHUNKS, pa.schema([*_PASSAGE, pa.field("pieces", pa.list_(PIECE_TO_EMBED))]), "chunk_id"
)


_OF_PIECES: Final = "-pieces"


def vectors_table_name(model: str, dimension: int) -> str:
    """`vectors-<model slug>-<dimension>-pieces`: another model, or another way to cut what it embeds, builds beside,
    and never over, what is live."""
    return earlier_vectors_table_name(model, dimension) + _OF_PIECES


def earlier_vectors_table_name(model: str, dimension: int) -> str:
    """How the versions before pieces called it (store.layouts)."""
    slug = re.sub(r"[^a-z0-9]+", "-", model.rsplit("/", 1)[-1].lower()).strip("-") or "model"
    return f"vectors-{slug[:60]}-{dimension}"


def is_of_earlier_version(table_name: str) -> bool:
    """Whether a vectors table is from before pieces."""
    return not table_name.endswith(_OF_PIECES)


def vectors_table(model: str, dimension: int) -> TableSpec:
    """Chunks with their site, their text without Markdown syntax for full-text search (`plain`), and for each of their
    pieces its embedding, a float32 vector of unit length."""
    fields = [
        pa.field("site_id", pa.string(), nullable=False),
        *_PASSAGE,
        pa.field("plain", pa.string(), nullable=False),
        pa.field("pieces", pa.list_(PIECE), nullable=False),
        pa.field("vectors", pa.list_(pa.list_(pa.float32(), dimension)), nullable=False),
    ]
    return TableSpec(vectors_table_name(model, dimension), pa.schema(fields), "chunk_id")
