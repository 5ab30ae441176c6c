"""Makes of a site's live version what the versions before pieces left: one vector a chunk, in a table of that name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kb_pipeline.core.chunking import embedding_input
from kb_pipeline.store.lance import read_rows
from kb_pipeline.store.lance_indexes import update_indexes
from kb_pipeline.store.schemas import TableSpec, earlier_vectors_table_name, vectors_table_name
from kb_pipeline.store.vectors import LIVE_TAG, count_pages

if TYPE_CHECKING:
    from kb_pipeline.model import Publication
    from kb_pipeline_tests.stages.written_site import WrittenSite


def as_before_pieces(written: WrittenSite) -> Publication:
    """The site as it is right after an upgrade; what was live and its table are gone."""
    made = written.embedder.slug, written.embedder.dimension
    rows = read_rows(written.store.table(vectors_table_name(*made)))
    vectors = written.embedder.embed([embedding_input(row["context"], row["text"]) for row in rows.to_pylist()])
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.astype(np.float32).reshape(-1)), made[1])
    rows = rows.drop_columns(["kind", "pieces", "vectors"])
    rows = rows.append_column(pa.field("vector", column.type, nullable=False), column)
    table = written.store.ensure(TableSpec(earlier_vectors_table_name(*made), rows.schema, "chunk_id"))
    table.add(rows)
    update_indexes(table)
    table.tags.create(LIVE_TAG, table.version)
    before = written.stores.publications.recent("docs")
    live = written.stores.publications.publish(
        "docs",
        table_name=table.name,
        lance_version=table.version,
        generation=1,
        rows=len(rows),
        pages=count_pages(table),
        reason="refresh 1",
        now=written.stores.now(),
    )
    table.tags.create(f"v-{live.publication_id}", table.version)
    written.stores.publications.forget("docs", [earlier.publication_id for earlier in before])
    written.store.drop_table(vectors_table_name(*made))
    return live
