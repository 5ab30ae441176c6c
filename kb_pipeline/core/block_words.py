"""What tables say of the names around a block and of its first words: one row of numbers a block.

A table gives each name or word the log odds that what has it is content. `benchmarks/train_blocks.py` makes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Final

import numpy as np

from kb_pipeline.core.block_arrays import last_heading, shifted, window

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from kb_pipeline.core.page_blocks import Block, Context

LOOKED_AT: Final = 8
"""Words of a block that are looked up."""
_WORD_EDGES: Final = ".,:;!?()[]{}\"'`´“”„«»‹›…|/\\-–—•·→←↑>*#&+=_"  # noqa: RUF001 - punctuation as pages have it
_MOST_REMEMBERED: Final = 50_000
_LONGEST_REMEMBERED: Final = 40
_WORD_COLUMNS: Final = 4
_UNSAID: Final = (0.0,) * _WORD_COLUMNS

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
    def of(cls, blocks: Sequence[Block]) -> Outline:
        """Of a page's blocks."""
        places: dict[int, int] = {}
        contexts: list[Context] = []
        above: list[int] = []
        for block in blocks:
            new = []
            at: Context | None = block.context
            while at is not None and id(at) not in places:
                new.append(at)
                at = at.above
            up = 0 if at is None else places[id(at)]
            for context in reversed(new):
                above.append(up)
                up = places[id(context)] = len(contexts)
                contexts.append(context)
        of_blocks = [places[id(block.context)] for block in blocks]
        return cls(contexts, np.array(above, dtype=np.intp), np.array(of_blocks, dtype=np.intp))

    def names(self) -> Names:
        """The names alone, without the tree."""
        return Names([context.named for context in self.contexts], self.above, self.of_blocks)


class WordScores(dict[str, float | None]):
    """Scores of words as they stand in a text: 0 for one that the table lacks, None for mere punctuation.

    Remembers what it was asked: most words of a page are those of the pages before.
    """

    def __init__(self, table: Mapping[str, float]) -> None:
        super().__init__()
        self.table = table

    def __missing__(self, written: str) -> float | None:
        word = bare_word(written)
        score = self.table.get(word, 0.0) if word else None
        if len(written) <= _LONGEST_REMEMBERED:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[written] = score
        return score


def bare_word(written: str) -> str:
    """A word as the table has it."""
    return written.strip(_WORD_EDGES).lower()


def scored_features(
    names: Names,
    words: Sequence[Sequence[str]],
    heading: NDArray[np.bool_],
    name_scores: Mapping[str, float],
    word_scores: WordScores,
) -> NDArray[np.float32]:
    """Rows of what the tables say. `words` are the first LOOKED_AT of each block."""
    size = len(words)
    rows = chain.from_iterable(_word_row(said, word_scores) for said in words)
    said = np.fromiter(rows, dtype=np.float32, count=size * _WORD_COLUMNS).reshape(size, _WORD_COLUMNS)
    scored = np.concatenate([_name_rows(names, name_scores), said], axis=1)
    last = last_heading(heading)
    over = said[last] * (np.arange(size) > last)[:, None]
    mean = scored[:, -1]
    around = np.stack([window(scored[:, 2], 3), window(mean, 3), *shifted(mean)], axis=1, dtype=np.float32)
    whole = np.broadcast_to(scored.mean(axis=0), scored.shape)
    return np.concatenate([scored, over, around, whole], axis=1)


def _word_row(words: Sequence[str], scores: WordScores) -> tuple[float, ...]:
    said = [score for score in map(scores.__getitem__, words) if score is not None]
    found = list(filter(None, said))
    return (min(found), max(found), sum(found), sum(found) / len(said)) if found else _UNSAID


def _name_rows(names: Names, scores: Mapping[str, float]) -> NDArray[np.float32]:
    """For each block: lowest, highest, sum and mean of its names and all above; lowest, highest and sum of those of
    three levels; the sum of its own."""
    own, whole = _summaries(names, scores)
    at = names.of_blocks
    over = names.above[at]
    top = names.above[over]
    one, two, three = own[at], own[over], own[top]
    near = one[:, 2] + two[:, 2] * (over != at) + three[:, 2] * (top != over)
    found = whole[at]
    columns = [
        found[:, 0],
        found[:, 1],
        found[:, 2],
        found[:, 2] / np.maximum(found[:, 3], 1),
        np.minimum(np.minimum(one[:, 0], two[:, 0]), three[:, 0]),
        np.maximum(np.maximum(one[:, 1], two[:, 1]), three[:, 1]),
        near,
        one[:, 2],
    ]
    rows = np.stack(columns, axis=1)
    rows[np.isinf(rows)] = 0
    return rows.astype(np.float32)


def _summaries(names: Names, scores: Mapping[str, float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each element's names, and of these with all above."""
    known: dict[tuple[str, ...], Summary] = {}
    own: list[Summary] = []
    whole: list[Summary] = []
    for named, up in zip(names.named, names.above.tolist(), strict=True):
        summary = known.get(named)
        if summary is None:
            found = [scores[name] for name in named if name in scores]
            summary = known[named] = (min(found), max(found), sum(found), len(found)) if found else _NOTHING_SAID
        above = whole[up] if whole else _NOTHING_SAID
        own.append(summary)
        whole.append(_joined(summary, above) if summary[3] else above)
    return _table(own), _table(whole)


def _joined(one: Summary, other: Summary) -> Summary:
    return min(one[0], other[0]), max(one[1], other[1]), one[2] + other[2], one[3] + other[3]


def _table(rows: Sequence[Summary]) -> NDArray[np.float64]:
    return np.fromiter(chain.from_iterable(rows), dtype=np.float64, count=4 * len(rows)).reshape(len(rows), 4)
