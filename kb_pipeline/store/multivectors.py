"""A column with several vectors a row, as Arrow has it and as numpy does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def matrices(column: pa.ChunkedArray | pa.Array) -> list[NDArray[np.float32]]:
    """For each row of a list<fixed_size_list<float32>> column its vectors, [vectors of the row, dimension]; of a
    fixed_size_list<float32> column its only one, [1, dimension]."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_fixed_size_list(column.type):
        return list(column.flatten().to_numpy(zero_copy_only=False).reshape(-1, 1, column.type.list_size))
    dimension = column.type.value_type.list_size
    flat = column.flatten().flatten().to_numpy(zero_copy_only=False).reshape(-1, dimension)
    return np.split(flat, np.cumsum(_lengths(column))[:-1]) if len(column) else []


def _lengths(column: pa.Array) -> NDArray[np.int64]:
    return np.asarray(column.value_lengths().to_numpy(zero_copy_only=False), np.int64)


def multivectors(rows: Sequence[NDArray[np.float32]], dimension: int) -> pa.ListArray:
    """The column of these rows, each [vectors of the row, dimension]."""
    stacked = np.concatenate(rows) if rows else np.empty((0, dimension), np.float32)
    flat = pa.array(stacked.astype(np.float32, copy=False).reshape(-1))
    ends = np.cumsum([0, *(len(row) for row in rows)])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.FixedSizeListArray.from_arrays(flat, dimension))
