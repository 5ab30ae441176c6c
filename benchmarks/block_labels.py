"""Which blocks of a page its known text has: an alignment of the page's words with the text's, in order.

A block that stands in the text word for word may stand there several times, and short ones do by chance. So of all
places where blocks might be, the chain that goes forward in both and covers most is taken; what is left over counts
only when it is long, and the text has words for it that no other block used.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

SHINGLE: Final = 3
"""Words in a row that tie a block to a place in the text."""
_MOST_PLACES: Final = 40
_LONG: Final = 4
_LONG_RUNS_COUNT_MORE: Final = 1.3
_MOSTLY: Final = 0.5
_UNUSED: Final = 0.6


def shares_in_text(blocks: Sequence[Sequence[str]], text: Sequence[str]) -> list[float]:
    """For each block, given by its words, the share of them that the text has: 0 to 1."""
    index = _Index(text)
    found = [index.share(words) for words in blocks]
    candidates = [
        (block, place, length)
        for block, words in enumerate(blocks)
        if words
        for place, length in index.places(words, found[block])
    ]
    chain = _heaviest_chain(candidates, len(text))
    unused = Counter(text)
    shares = [0.0] * len(blocks)
    for block in sorted(chain):
        shares[block] = _use(blocks[block], unused)
    for block, words in enumerate(blocks):
        if block not in chain and len(words) >= _LONG and found[block] > _MOSTLY:
            left = sum(min(count, unused[word]) for word, count in Counter(words).items()) / len(words)
            if left > _UNUSED:
                shares[block] = min(left, found[block])
                _use(words, unused)
    return shares


def _use(words: Sequence[str], unused: Counter[str]) -> float:
    used = 0
    for word in words:
        if unused[word] > 0:
            unused[word] -= 1
            used += 1
    return used / len(words)


class _Index:
    """Where words and shingles stand in a text."""

    def __init__(self, text: Sequence[str]) -> None:
        self._text = text
        self._shingles: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        self._words: defaultdict[str, list[int]] = defaultdict(list)
        for place, word in enumerate(text):
            self._words[word].append(place)
        for place in range(len(text) - SHINGLE + 1):
            self._shingles[tuple(text[place : place + SHINGLE])].append(place)

    def share(self, words: Sequence[str]) -> float:
        """The share of a block's words that are in a shingle of the text; 0 for a block shorter than one."""
        covered: set[int] = set()
        for place in self._known(words):
            covered.update(range(place, place + SHINGLE))
        return len(covered) / max(1, len(words))

    def places(self, words: Sequence[str], share: float) -> list[tuple[int, int]]:
        """Where in the text a block may stand, and with how many words."""
        size = len(words)
        starts = self._words.get(words[0], []) if size < SHINGLE else self._shingles.get(tuple(words[:SHINGLE]), [])
        whole = [place for place in starts if list(self._text[place : place + size]) == list(words)]
        if whole:
            return [(place, size) for place in whole[:_MOST_PLACES]]
        if share <= _MOSTLY:
            return []
        first = self._known(words)[0]
        starts = self._shingles[tuple(words[first : first + SHINGLE])]
        return [(max(0, place - first), int(share * size)) for place in starts[: _MOST_PLACES // 4]]

    def _known(self, words: Sequence[str]) -> list[int]:
        last = len(words) - SHINGLE + 1
        return [place for place in range(last) if tuple(words[place : place + SHINGLE]) in self._shingles]


def _heaviest_chain(candidates: Sequence[tuple[int, int, int]], length: int) -> set[int]:
    """The blocks of the chain of (block, place, words) that goes forward in both and weighs most."""
    best = _Prefixes(length + 2)
    before: list[int] = []
    waiting: list[tuple[int, float, int]] = []
    for number, (block, place, words) in enumerate(candidates):
        if number and candidates[number - 1][0] != block:
            best.put_all(waiting)
        weight, previous = best.most(place + 1)
        before.append(previous)
        waiting.append((place + words + 1, weight + words**_LONG_RUNS_COUNT_MORE, number))
    best.put_all(waiting)
    chain = set()
    number = best.most(length + 2)[1]
    while number >= 0:
        chain.add(candidates[number][0])
        number = before[number]
    return chain


class _Prefixes:
    """Largest value up to a place, as places get values (a Fenwick tree)."""

    def __init__(self, size: int) -> None:
        self._best: list[tuple[float, int]] = [(0.0, -1)] * (size + 1)

    def most(self, place: int) -> tuple[float, int]:
        found = (0.0, -1)
        while place > 0:
            found = max(found, self._best[place])
            place -= place & -place
        return found

    def put_all(self, values: list[tuple[int, float, int]]) -> None:
        for place, weight, number in values:
            at = min(place, len(self._best) - 1)
            while at < len(self._best):
                self._best[at] = max(self._best[at], (weight, number))
                at += at & -at
        values.clear()
