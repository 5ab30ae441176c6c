"""Chunks to vectors, one for each of their pieces. A chunk whose hash was embedded before, on whatever page, keeps its
vectors; only when a hash is new is the model loaded."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from kb_pipeline.core.chunking import embedding_input
from kb_pipeline.core.fingerprints import Recipe
from kb_pipeline.core.sync import Derived
from kb_pipeline.embed import open_embedder
from kb_pipeline.errors import EmbeddingFailed
from kb_pipeline.stages.derivation import ToldSink, change_rows, run_sync, tally_counts
from kb_pipeline.stages.losses import accounted
from kb_pipeline.stages.report import Progress, StageReport, quiet
from kb_pipeline.store.indexing import Indexing
from kb_pipeline.store.lance import at_version, count_rows, read_rows, tags
from kb_pipeline.store.lance_indexes import update_indexes
from kb_pipeline.store.lance_sync import LanceSink, LanceSource
from kb_pipeline.store.multivectors import matrices, multivectors
from kb_pipeline.store.schemas import CHUNKS, vectors_table
from kb_pipeline.store.vectors import LIVE_TAG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from kb_pipeline.core.sync import Mark
    from kb_pipeline.embed import Embedder
    from kb_pipeline.settings import Settings
    from kb_pipeline.store.lance import Table
    from kb_pipeline.store.schemas import TableSpec
    from kb_pipeline.store.stores import Stores

    Vectors = NDArray[np.float32]
    """Of one chunk: [pieces, dimension]."""

STEP: Final = "embed"
EMBED_VERSION: Final = "2"
"""Raised with every change that gives other rows for the same chunks."""
BATCH_PAGES: Final = 32
BATCH_CHUNKS: Final = 128
"""A batch of pages has at most so many chunks, unless one page has more: what a run that is killed has to embed again,
about 16 seconds of two cores."""
SLICE_TEXTS: Final = 128
_OUTDATED: Final = "its chunks are those of an earlier version of this program: the step `chunks` makes them anew"


@dataclass(slots=True)
class EmbedReport(StageReport):
    """`counts`: pages by change; chunks embedded and reused, and the tokens and seconds of those embedded."""


def vectors_spec(embedder: Embedder) -> TableSpec:
    """The table of an embedder's vectors: another model, or another build of it, has another."""
    return vectors_table(embedder.slug, embedder.dimension)


def embed_chunks(
    stores: Stores,
    settings: Settings,
    site_id: str,
    *,
    progress: Progress = quiet,
    keep_going: Callable[[], bool] = lambda: True,
    run_id: str | None = None,
    embedder: Embedder | None = None,
) -> EmbedReport:
    """Bring the site's vectors in step with its `chunks`, and index them: what checks ask before they go live is
    answered as it will be then.

    Raises SiteBusy, SiteNotFound, StoreError, and ModelMissing or ConfigError for a model that cannot be used. A page
    that the model gives no vectors for is recorded as failed and keeps its old rows.
    """
    stores.sites.get(site_id)
    embedder = embedder or open_embedder(settings)
    spec = vectors_spec(embedder)
    with stores.site_lock(site_id, f"{STEP} {run_id or ''}".strip()) as lock:
        store = stores.site(site_id)
        source = LanceSource(store.table(CHUNKS), row_key="chunk_id", order=("page_id", "ordinal"))
        table = store.ensure(spec)
        lance = LanceSink(table, spec, stores.failures, site_id=site_id, step=STEP, assert_held=lock.assert_held)
        sink = ToldSink(lance, in_sight=lambda marks: _with_chunks(marks, stores, site_id, source))
        derive = _Derive(site_id, embedder, spec, earlier_versions(table), progress)
        tally = run_sync(
            stores,
            source,
            sink,
            derive,
            recipe=Recipe(STEP, EMBED_VERSION, {"model": embedder.identity}),
            what="embedding pages",
            progress=progress,
            keep_going=keep_going,
            batch_keys=BATCH_PAGES,
            batch_weight=BATCH_CHUNKS,
            pages=Indexing(stores.database).expected(site_id).pages,
        )
        if keep_going():
            progress("indexing vectors", 0, None)
            update_indexes(table)
        counts = {"embedded": 0, "reused": 0, **tally_counts(tally), "seconds": round(derive.seconds, 3)}
        return EmbedReport(counts, change_rows(stores, site_id, tally, STEP))


def earlier_versions(table: Table) -> list[Table]:
    """Where known vectors are looked up: the table as it is now, and as it is live. A page that moved is deleted
    under one id and added under another, and after a roll-back the live version has what the newest lacks."""
    versions = [at_version(table)]
    live = tags(table).get(LIVE_TAG)
    if live is not None and live != versions[0].version:
        versions.append(at_version(table, live))
    return [version for version in versions if count_rows(version)]


def _with_chunks(stored: Iterator[Mark], stores: Stores, site_id: str, chunks: LanceSource) -> Iterator[Mark]:
    """All but the pages whose chunks were lost: they keep their vectors."""
    return accounted(stored, Indexing(stores.database).expected_pages(site_id), chunks.marks())


class _Derive:
    """The derive of this stage's sync."""

    def __init__(
        self, site_id: str, embedder: Embedder, spec: TableSpec, earlier: Sequence[Table], progress: Progress
    ) -> None:
        self._site_id = site_id
        self._embedder = embedder
        self._schema = spec.schema.remove(spec.schema.get_field_index("mark"))
        self._earlier = earlier
        self._progress = progress
        self._pieces = 0
        self.seconds = 0.0
        """Spent in the model."""

    def __call__(self, _marks: Sequence[Mark], chunks: pa.Table) -> Derived[pa.Table]:
        rows = chunks.to_pylist()
        outdated = {row["page_id"]: _OUTDATED for row in rows if not row.get("pieces")}
        rows = [row for row in rows if row["page_id"] not in outdated]
        for row in rows:
            row["site_id"] = self._site_id
            row["plain"] = embedding_input(row["context"], row["text"])
        vectors = self._known({row["hash"] for row in rows})
        reused = len(vectors)
        errors = outdated | self._embed_missing(rows, vectors)
        kept = [row for row in rows if row["page_id"] not in errors]
        embedded = len(vectors) - reused
        counts = {"embedded": embedded, "reused": len(kept) - embedded, "tokens": self._tokens(kept, vectors, reused)}
        return Derived(self._table(kept, vectors), errors, counts)

    def _known(self, hashes: set[str]) -> dict[str, Vectors]:
        known: dict[str, Vectors] = {}
        for version in self._earlier:
            missing = sorted(hashes - known.keys())
            if missing:
                listed = ", ".join(f"'{value}'" for value in missing)
                found = read_rows(version, where=f"hash IN ({listed})", columns=("hash", "vectors"))
                known.update(zip(found["hash"].to_pylist(), matrices(found["vectors"]), strict=True))
        return known

    def _embed_missing(self, rows: Sequence[dict[str, Any]], vectors: dict[str, Vectors]) -> dict[str, str]:
        """Add the vectors of unknown hashes; what the model refuses together is tried page by page."""
        try:
            vectors.update(self._embed(rows, vectors))
        except EmbeddingFailed:
            pass
        else:
            return {}
        errors: dict[str, str] = {}
        for page_id in dict.fromkeys(row["page_id"] for row in rows):
            try:
                vectors.update(self._embed([row for row in rows if row["page_id"] == page_id], vectors))
            except EmbeddingFailed as error:
                errors[page_id] = str(error)
        return errors

    def _embed(self, rows: Iterable[dict[str, Any]], known: dict[str, Vectors]) -> dict[str, Vectors]:
        unknown = {row["hash"]: _reads(row) for row in rows if row["hash"] not in known}
        if not unknown:
            return {}
        if not self._embedder.loaded:
            self._progress("loading the embedding model", 0, None)
        found = self._vectors_of(dict.fromkeys(text for texts in unknown.values() for text in texts))
        return {value: np.stack([found[text] for text in texts]) for value, texts in unknown.items()}

    def _vectors_of(self, texts: Iterable[str]) -> dict[str, Vectors]:
        """Texts of one length go together: little padding, and a progress bar that moves."""
        by_length = sorted(texts, key=len)
        found: dict[str, Vectors] = {}
        for start in range(0, len(by_length), SLICE_TEXTS):
            some = by_length[start : start + SLICE_TEXTS]
            found.update(zip(some, self._vectors(some), strict=True))
            self._pieces += len(some)
            self._progress("pieces of text embedded", self._pieces, None)
        return found

    def _vectors(self, texts: Sequence[str]) -> Vectors:
        started = time.perf_counter()
        vectors = self._embedder.embed(texts)
        self.seconds += time.perf_counter() - started
        if vectors.shape != (len(texts), self._embedder.dimension):
            message = f"the embedder gave vectors of shape {vectors.shape} for {len(texts)} texts"
            raise EmbeddingFailed(message)
        return vectors

    def _tokens(self, rows: Sequence[dict[str, Any]], vectors: dict[str, Vectors], reused: int) -> int:
        new = set(list(vectors)[reused:])
        return sum({row["hash"]: row["tokens"] for row in rows if row["hash"] in new}.values())

    def _table(self, rows: Sequence[dict[str, Any]], vectors: dict[str, Vectors]) -> pa.Table:
        if not rows:
            return self._schema.empty_table()
        field = self._schema.field("vectors")
        column = multivectors([vectors[row["hash"]] for row in rows], self._embedder.dimension)
        others = self._schema.remove(self._schema.get_field_index("vectors"))
        return pa.Table.from_pylist(list(rows), schema=others).append_column(field, column)


def _reads(chunk: dict[str, Any]) -> list[str]:
    """What the model reads for a chunk, a text for each vector."""
    return [piece["reads"] for piece in chunk["pieces"]]
