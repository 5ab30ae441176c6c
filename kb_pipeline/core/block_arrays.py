"""Columns of numbers over a page's blocks, in order: what stands before, after and around each."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


def filled(columns: Sequence[ArrayLike], count: int) -> NDArray[np.float32]:
    """The columns one beneath the other, each with a number for each of `count` blocks, or one number for all."""
    found = np.empty((len(columns), count), dtype=np.float32)
    for place, column in enumerate(columns):
        found[place] = column
    return found


def columns_of(rows: Sequence[tuple[float, ...]]) -> NDArray[np.float32]:
    """A column for each place in the rows, of which there is at least one."""
    width = len(rows[0])
    return np.fromiter(chain.from_iterable(rows), dtype=np.float32, count=len(rows) * width).reshape(-1, width).T


def last_heading(heading: NDArray[np.bool_]) -> NDArray[np.intp]:
    """For each place, the last heading before it; itself does not count; the first block where there is none."""
    marked = np.where(heading, np.arange(len(heading)), 0)
    marked = np.maximum.accumulate(marked)
    return np.concatenate([[0], marked[:-1]])


def shifted(column: NDArray[Any]) -> list[NDArray[np.float64]]:
    """Values of the two blocks before and the two after; -1 where there is none."""
    count = len(column)
    padded = np.full(count + 4, -1.0)
    padded[2:-2] = column
    return [padded[start : start + count] for start in (0, 1, 3, 4)]


def window(column: NDArray[Any], reach: int) -> NDArray[np.float64]:
    """Means over the blocks within `reach`."""
    sums = np.concatenate([[0.0], np.cumsum(column, dtype=np.float64)])
    place = np.arange(len(column))
    low, high = np.maximum(place - reach, 0), np.minimum(place + reach + 1, len(column))
    return np.asarray((sums[high] - sums[low]) / (high - low))
