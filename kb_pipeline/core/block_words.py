"""What tables say of the names around a block and of its first words: one row of numbers a block.

A table gives each name or word the log odds that what has it is content. `benchmarks/train_blocks.py` makes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from math import inf, nan
from typing import TYPE_CHECKING, Final

import numpy as np

from kb_pipeline.core.block_arrays import filled, last_heading, shifted, window

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from kb_pipeline.core.page_blocks import Context, PageBlocks

LOOKED_AT: Final = 8
"""Words of a block that are looked up."""
_WORD_EDGES: Final = ".,:;!?()[]{}\"'`´“”„«»‹›…|/\\-–—•·→←↑>*#&+=_"  # noqa: RUF001 - punctuation as pages have it
_MOST_REMEMBERED: Final = 50_000
_LONGEST_REMEMBERED: Final = 40
_LONGEST_NAMES: Final = 400

Summary = tuple[float, float, float, int]
"""Lowest and highest score, their sum, and how many."""
_NOTHING_SAID: Final[Summary] = (inf, -inf, 0.0, 0)


@dataclass(frozen=True, slots=True)
class Names:
    """The names of the elements that hold blocks."""

    named: list[tuple[str, ...]]
    """Of each element, after those of the one above it."""
    above: NDArray[np.intp]
    """Which is above each; the topmost is above itself."""
    of_blocks: NDArray[np.intp]
    """Which holds each block."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The elements that hold blocks, each after the one above it; as `Names` has them."""

    contexts: list[Context]
    above: NDArray[np.intp]
    of_blocks: NDArray[np.intp]

    @classmethod
    def of(cls, page: PageBlocks) -> Outline:
        """Of a page's blocks."""
        above = [0 if context.above is None else context.above.number for context in page.contexts]
        of_blocks = [block.context.number for block in page.blocks]
        return cls(page.contexts, np.array(above, dtype=np.intp), np.array(of_blocks, dtype=np.intp))

    def names(self) -> Names:
        """The names alone, without the tree."""
        return Names([context.named for context in self.contexts], self.above, self.of_blocks)


class WordScores(dict[str, float]):
    """Scores of words as they stand in a text: 0 for one that the table lacks, NaN for mere punctuation.

    Remembers what it was asked: most words of a page are those of the pages before.
    """

    def __init__(self, table: Mapping[str, float]) -> None:
        super().__init__()
        self.table = table

    def __missing__(self, written: str) -> float:
        word = bare_word(written)
        score = self.table.get(word, 0.0) if word else nan
        if len(written) <= _LONGEST_REMEMBERED:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[written] = score
        return score


class NameScores(dict[tuple[str, ...], Summary]):
    """What a table says of an element's names. Remembers what it was asked, as WordScores does."""

    def __init__(self, table: Mapping[str, float]) -> None:
        super().__init__()
        self.table = table

    def __missing__(self, named: tuple[str, ...]) -> Summary:
        found = list(filter(None, map(self.table.get, named)))
        summary = (min(found), max(found), sum(found), len(found)) if found else _NOTHING_SAID
        if sum(map(len, named)) <= _LONGEST_NAMES:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[named] = summary
        return summary


def bare_word(written: str) -> str:
    """A word as the table has it."""
    return written.strip(_WORD_EDGES).lower()


def scored_features(
    names: Names,
    words: Sequence[Sequence[str]],
    heading: NDArray[np.bool_],
    name_scores: NameScores,
    word_scores: WordScores,
) -> NDArray[np.float32]:
    """Rows of what the tables say. `words` are the first LOOKED_AT of each block. Stored column by column, as trees ask
    for them."""
    size = len(words)
    said = _word_columns(words, word_scores)
    scored = np.concatenate([_name_columns(names, name_scores), said])
    last = last_heading(heading)
    over = said.take(last, axis=1) * (np.arange(size) > last)
    mean = scored[-1]
    around = filled([window(scored[2], 3), window(mean, 3), *shifted(mean)], size)
    # Added up block by block: the order changes the last bit.
    whole = np.ascontiguousarray(scored.T).mean(axis=0)
    return np.concatenate([scored, over, around, np.broadcast_to(whole[:, None], scored.shape)]).T


def _word_columns(words: Sequence[Sequence[str]], scores: WordScores) -> NDArray[np.float32]:
    """For each block: lowest, highest, sum and mean of its words, of which each block has some."""
    counts = np.fromiter(map(len, words), dtype=np.intp, count=len(words))
    starts = np.cumsum(counts) - counts
    scored = map(scores.__getitem__, chain.from_iterable(words))
    found = np.fromiter(scored, dtype=np.float64, count=int(counts.sum()))
    meant = ~np.isnan(found)
    known = (found != 0) & meant
    total = np.add.reduceat(np.where(known, found, 0), starts)
    said = np.add.reduceat(meant, starts, dtype=np.intp)
    low = np.minimum.reduceat(np.where(known, found, inf), starts)
    high = np.maximum.reduceat(np.where(known, found, -inf), starts)
    return _finite([low, high, total, total / np.maximum(said, 1)], len(words))


def _finite(columns: Sequence[NDArray[np.float64]], count: int) -> NDArray[np.float32]:
    """The columns, with 0 for the lowest and highest of nothing."""
    found = filled(columns, count)
    found[np.isinf(found)] = 0
    return found


def _name_columns(names: Names, scores: NameScores) -> NDArray[np.float32]:
    """For each block: lowest, highest, sum and mean of its names and all above; lowest, highest and sum of those of
    three levels; the sum of its own."""
    own, whole = _summaries(names, scores)
    at = names.of_blocks
    over = names.above[at]
    top = names.above[over]
    one, two, three = own[at], own[over], own[top]
    near = one[:, 2] + two[:, 2] * (over != at) + three[:, 2] * (top != over)
    columns = [
        whole[:, 0],
        whole[:, 1],
        whole[:, 2],
        whole[:, 2] / np.maximum(whole[:, 3], 1),
        np.minimum(np.minimum(one[:, 0], two[:, 0]), three[:, 0]),
        np.maximum(np.maximum(one[:, 1], two[:, 1]), three[:, 1]),
        near,
        one[:, 2],
    ]
    return _finite(columns, len(at))


def _summaries(names: Names, scores: NameScores) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each element's names, and for each block of these with all above."""
    own = list(map(scores.__getitem__, names.named))
    whole: list[Summary] = []
    for (low, high, total, count), up in zip(own, names.above.tolist(), strict=True):
        if not whole:
            whole.append((low, high, total, count))
        elif count:
            least, most, others, before = whole[up]
            # `min` and `max` take three times as long.
            whole.append(
                (
                    low if low < least else least,  # noqa: FURB136
                    high if high > most else most,  # noqa: FURB136
                    total + others,
                    count + before,
                )
            )
        else:
            whole.append(whole[up])
    return _table(own), _table([whole[place] for place in names.of_blocks.tolist()])


def _table(rows: Sequence[Summary]) -> NDArray[np.float64]:
    return np.fromiter(chain.from_iterable(rows), dtype=np.float64, count=4 * len(rows)).reshape(len(rows), 4)
