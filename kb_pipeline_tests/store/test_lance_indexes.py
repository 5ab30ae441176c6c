from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from kb_pipeline.store.lance import SiteStore
from kb_pipeline.store.lance_indexes import MOST_FRAGMENTS, VECTOR_INDEX_ROWS, fragments, unindexed_rows, update_indexes
from kb_pipeline.store.lance_sync import replace_pages
from kb_pipeline.store.multivectors import multivectors
from kb_pipeline.store.schemas import vectors_table

DIMENSION = 8
VECTORS_A_ROW = 3
SPEC = vectors_table("tiny", DIMENSION)


def rows(first: int, count: int, seed: int = 0) -> pa.Table:
    """Pages of one row each; row n says `number n`."""
    numbers = range(first, first + count)
    drawn = np.random.default_rng([seed, first])
    vectors = drawn.normal(size=(VECTORS_A_ROW * count, DIMENSION)).astype(np.float32)
    columns = {
        "page_id": [f"{n:024x}" for n in numbers],
        "chunk_id": [f"{n:024x}-0" for n in numbers],
        "ordinal": [0] * count,
        "tokens": [2] * count,
        "heading_path": [[]] * count,
        "plain": [f"number n{n}" for n in numbers],
        "pieces": pa.array([[]] * count, SPEC.schema.field("pieces").type),
        "vectors": multivectors(np.split(vectors, count), DIMENSION),
    }
    return pa.table({field.name: columns.get(field.name, ["x"] * count) for field in SPEC.schema}).cast(SPEC.schema)


@pytest.fixture
def table(tmp_path):
    return SiteStore(str(tmp_path), "docs").ensure(SPEC)


def kinds(table) -> set[str]:
    return {index.columns[0] for index in table.list_indices()}


def test_an_empty_table_gets_no_index_that_would_find_nothing_for_ever(table):
    update_indexes(table)
    assert kinds(table) == set()
    table.add(rows(0, 3))
    update_indexes(table)
    assert kinds(table) == {"plain"}
    assert len(table.search("n2", query_type="fts").to_list()) == 1


def test_vectors_are_indexed_once_there_are_many_and_every_new_row_joins(table):
    table.add(rows(0, VECTOR_INDEX_ROWS))
    update_indexes(table)
    assert kinds(table) == {"plain", "vectors"}
    for n in range(MOST_FRAGMENTS + 1):
        replace_pages(table, SPEC, [f"{n:024x}"], rows(n, 1, seed=1))
        if n % 10 == 0:
            update_indexes(table)
            assert unindexed_rows(table) == 0
    assert fragments(table) > MOST_FRAGMENTS
    update_indexes(table)
    assert fragments(table) == 1
    assert kinds(table) == {"plain", "vectors"}
    assert unindexed_rows(table) == 0
    for newest in rows(7, 1, seed=1)["vectors"][0].as_py():
        (nearest,) = table.search(newest, vector_column_name="vectors").distance_type("cosine").limit(1).to_list()
        assert nearest["plain"] == "number n7"
