"""Texts to chunks: cuts the text of each page that is worth indexing, and tells the ledger into how many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urldefrag

import pyarrow as pa

from kb_pipeline.core.chunking import CHUNKER_VERSION, ChunkOptions, chunk, estimate_tokens
from kb_pipeline.core.fingerprints import Recipe, chunk_id, fingerprint
from kb_pipeline.core.sync import Derived
from kb_pipeline.embed.model_files import locate
from kb_pipeline.embed.tokens import token_counter
from kb_pipeline.errors import ModelMissing
from kb_pipeline.model import MIN_TEXT_CHARACTERS, Chunk, PageState, Piece, Text
from kb_pipeline.stages.derivation import ToldSink, change_rows, run_sync, tally_counts
from kb_pipeline.stages.losses import accounted
from kb_pipeline.stages.report import Progress, StageReport, quiet
from kb_pipeline.store.indexing import ChunkedPage, Indexing
from kb_pipeline.store.lance import count_rows
from kb_pipeline.store.lance_marks import page_marks
from kb_pipeline.store.lance_sync import LanceSink, LanceSource
from kb_pipeline.store.schemas import CHUNKS_TABLE, TEXTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kb_pipeline.core.sync import Batch, Mark
    from kb_pipeline.settings import Settings
    from kb_pipeline.store.lance import Table
    from kb_pipeline.store.stores import Stores

STEP: Final = "chunk"
BATCH_PAGES: Final = 64
INDEXABLE: Final = f"characters >= {MIN_TEXT_CHARACTERS} AND page_state = '{PageState.OK}'"
"""Texts that are cut at all, as a filter."""

_COLUMNS: Final = ("page_id", "output", "url", "title", "description", "markdown", "anchors", "characters")
_FRAGMENT_SAFE: Final = "!$&'()*+,;=:@/?-._~"


@dataclass(slots=True)
class ChunkReport(StageReport):
    """`counts`: pages by change, and chunks and tokens of those that were cut."""


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """How tokens are counted, and what to call it in a recipe."""

    count: Callable[[str], int]
    identity: str


def make_chunks(
    stores: Stores,
    settings: Settings,
    site_id: str,
    *,
    progress: Progress = quiet,
    keep_going: Callable[[], bool] = lambda: True,
    run_id: str | None = None,
) -> ChunkReport:
    """Bring the site's `chunks` in step with its `texts`. Raises SiteBusy, SiteNotFound, StoreError."""
    stores.sites.get(site_id)
    options = ChunkOptions()
    counter = token_counter_of(settings)
    recipe = Recipe(STEP, CHUNKER_VERSION, {**options.as_recipe(), "tokenizer": counter.identity})
    with stores.site_lock(site_id, f"{STEP} {run_id or ''}".strip()) as lock:
        store = stores.site(site_id)
        source = LanceSource(store.table(TEXTS), where=INDEXABLE, columns=_COLUMNS)
        table = store.ensure(CHUNKS_TABLE)
        sink = LanceSink(table, CHUNKS_TABLE, stores.failures, site_id=site_id, step=STEP, assert_held=lock.assert_held)
        ledger = Indexing(stores.database)
        tally = run_sync(
            stores,
            source,
            ToldSink(
                sink,
                tell=lambda batch: ledger.record_chunks(site_id, chunk_counts(batch)),
                in_sight=lambda marks: _with_text(marks, stores, site_id, source.table),
            ),
            lambda _marks, texts: cut(texts, counter.count, options),
            recipe=recipe,
            what="cutting pages into chunks",
            progress=progress,
            keep_going=keep_going,
            batch_keys=BATCH_PAGES,
            pages=count_rows(source.table, INDEXABLE),
        )
        return ChunkReport(tally_counts(tally), change_rows(stores, site_id, tally, STEP))


def token_counter_of(settings: Settings) -> TokenCounter:
    """The tokenizer of the model that KB_EMBEDDING_MODEL names, or the estimate while that model is not at hand."""
    try:
        files = locate(settings.embedding_model)
        return TokenCounter(token_counter(files), files.tokenizer_digest)
    except ModelMissing:
        return TokenCounter(estimate_tokens, "estimate")


def _with_text(stored: Iterator[Mark], stores: Stores, site_id: str, texts: Table) -> Iterator[Mark]:
    """All but the pages that have a copy and whose text was lost: they keep their chunks."""
    return accounted(stored, stores.pages.snapshot_marks(site_id), page_marks(texts, "output"))


def chunk_counts(batch: Batch[pa.Table]) -> list[ChunkedPage]:
    """What the ledger is told of a batch of chunks."""
    pages = [ChunkedPage(page_id, None, 0) for page_id in batch.deleted]
    if batch.rows is not None:
        counted = batch.rows.group_by("page_id").aggregate([("chunk_id", "count"), ("title", "min")])
        pages += [ChunkedPage(row["page_id"], row["title_min"], row["chunk_id_count"]) for row in counted.to_pylist()]
    return pages


def cut(texts: pa.Table, count_tokens: Callable[[str], int], options: ChunkOptions) -> Derived[pa.Table]:
    """Chunk rows of the texts. A text without a word in it is an error of its page."""
    rows: list[dict[str, Any]] = []
    errors: dict[str, str] = {}
    for row in texts.to_pylist():
        made = chunk(_text_of(row), count_tokens, options)
        if made:
            rows.extend(_rows_of(row, made))
        else:
            errors[row["page_id"]] = "the text holds nothing that can be cut into chunks"
    counts = {"chunks": len(rows), "tokens": sum(row["tokens"] for row in rows)}
    return Derived(pa.Table.from_pylist(rows, schema=_WITHOUT_MARK), errors, counts)


_WITHOUT_MARK: Final = CHUNKS_TABLE.schema.remove(CHUNKS_TABLE.schema.get_field_index("mark"))


def _text_of(row: Mapping[str, Any]) -> Text:
    return Text(
        title=row["title"],
        markdown=row["markdown"],
        characters=row["characters"],
        description=row["description"],
        anchors=tuple((anchor["heading"], anchor["fragment"]) for anchor in row["anchors"]),
    )


def _rows_of(text: Mapping[str, Any], chunks: Sequence[Chunk]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {
            "page_id": text["page_id"],
            "chunk_id": chunk_id(text["page_id"], made.ordinal),
            "ordinal": made.ordinal,
            "url": section_url(text["url"], made.anchor),
            "title": text["title"],
            "heading_path": list(made.heading_path),
            "context": made.context,
            "text": made.text,
            "hash": made.hash,
            "tokens": made.tokens,
            "kind": made.kind,
            "pieces": [_piece(text["url"], piece) for piece in made.pieces],
        }
        for made in chunks
    ]
    output = fingerprint(*(str(value) for row in rows for value in row.values()))
    return [{**row, "output": output} for row in rows]


def _piece(url: str, piece: Piece) -> dict[str, Any]:
    return {
        "start": piece.start,
        "end": piece.end,
        "tokens": piece.tokens,
        "url": section_url(url, piece.anchor),
        "heading_path": list(piece.heading_path),
        "reads": piece.reads,
    }


def section_url(url: str, anchor: str | None) -> str:
    """The page's address with the fragment of a section (RFC 3986 §3.5), or alone."""
    page = urldefrag(url).url
    return f"{page}#{quote(anchor, safe=_FRAGMENT_SAFE)}" if anchor else page
