from __future__ import annotations

import numpy as np
import pyarrow as pa

from kb_pipeline.store.multivectors import matrices, multivectors

DIMENSION = 3
ROWS = [np.arange(DIMENSION * count, dtype=np.float32).reshape(count, DIMENSION) + count for count in (2, 1, 4, 3)]


def same(found, expected) -> bool:
    return len(found) == len(expected) and all(map(np.array_equal, found, expected))


def test_what_was_written_is_read_row_by_row():
    assert same(matrices(multivectors(ROWS, DIMENSION)), ROWS)


def test_a_part_of_a_column_and_one_in_several_parts_give_their_own_rows():
    column = multivectors(ROWS, DIMENSION)
    assert same(matrices(column.slice(1, 2)), ROWS[1:3])
    assert same(matrices(pa.chunked_array([column.slice(2), column.slice(0, 1)])), [*ROWS[2:], ROWS[0]])


def test_a_column_of_one_vector_a_row_gives_each_as_the_only_one():
    column = pa.FixedSizeListArray.from_arrays(pa.array(np.concatenate(ROWS).reshape(-1)), DIMENSION)
    alone = [vector.reshape(1, DIMENSION) for vector in np.concatenate(ROWS)]
    assert same(matrices(column), alone)
    assert same(matrices(pa.chunked_array([column.slice(2), column.slice(0, 1)])), [*alone[2:], alone[0]])
    assert matrices(pa.chunked_array([], column.type)) == []


def test_a_column_without_rows_gives_none():
    column = multivectors([], DIMENSION)
    assert matrices(column) == matrices(pa.chunked_array([], column.type)) == []
