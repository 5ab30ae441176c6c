"""Puts right what a question spells otherwise than its site: typing errors above all. Only words that neither the site
nor the model has are touched."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from kb_pipeline.store.damage import usable
from kb_pipeline.store.lance_indexes import FULL_TEXT_COLUMN

if TYPE_CHECKING:
    from collections.abc import Callable

    from kb_pipeline.store.layouts import Searchable

LEAST_LETTERS: Final = 5
"""Shorter words have too many neighbours."""
LONG: Final = 8
"""Letters from which two may be wrong, and not one."""
MOST_LOOKED_UP: Final = 4
"""Words of a question that are looked up: a pasted log is no misspelled question."""
LEAST_TEXTS: Final = 3
"""Passages that must have a word before others are taken for it: what stands once may be an error itself."""
_TEXTS: Final = 40
_ENDINGS: Final = (0, 1, 2, 3)
"""Letters left off a word that is looked up: the index holds stems, and stems no word that it looks for inexactly."""
_EXPANSIONS: Final = 1000
"""Words of the index that are tried: it takes the first ones, not the nearest."""
_WORD: Final = re.compile(r"[^\W\d_]+")
_ALONE: Final = re.compile(rf"(?<![\w./\\:@#$-])\w?[^\W\d_A-Z]{{{LEAST_LETTERS - 1},}}(?![\w/\\@(]|[.:-]\w)")
"""A word of prose: no part of a name, an address, an option or a path, and no capitals within it."""


def as_spelled(live: Searchable, question: str, count_tokens: Callable[[str], int]) -> str:
    """The question with its misspelled words as the site spells them.

    A word is taken for misspelled when no passage has it and the model's tokenizer does not know it as one word: a
    right word that this site does not use is mostly whole in there. It becomes the nearest word of the site, which
    begins with the same letter. Raises StoreError.
    """
    left = MOST_LOOKED_UP

    def right(match: re.Match[str]) -> str:
        nonlocal left
        word = match.group()
        if left == 0 or not word.isalpha() or count_tokens(word) <= 1:
            return word
        left -= 1
        return word if _texts(live, word, 0, 1) else _nearest(live, word.casefold()) or word

    return _ALONE.sub(right, question)


def _nearest(live: Searchable, word: str) -> str | None:
    """The word of the site that is fewest edits away, of such the most used one."""
    most = 1 if len(word) < LONG else 2
    for edits in (1, 2):  # two letters that changed places are two edits to the index
        texts = {text for ending in _ENDINGS for text in _texts(live, word[: len(word) - ending], edits, _TEXTS)}
        used = Counter(other for text in texts for other in set(_WORD.findall(text.casefold())))
        near = [
            (distance, -texts_with, other)
            for other, texts_with in used.items()
            if texts_with >= LEAST_TEXTS and other[0] == word[0]
            if (distance := edits_between(word, other, most)) <= most
        ]
        if near:
            return str(min(near)[2])
    return None


def _texts(live: Searchable, word: str, edits: int, wanted: int) -> list[str]:
    from lancedb.query import MatchQuery  # noqa: PLC0415 - heavy

    with usable(live.table.uri):
        words = MatchQuery(  # type: ignore[call-arg] # its defaults are hidden from mypy
            word, FULL_TEXT_COLUMN, fuzziness=edits, prefix_length=1, max_expansions=_EXPANSIONS
        )
        query = live.table.search(words, query_type="fts").select([FULL_TEXT_COLUMN, "_score"])
        return [str(text) for text in query.limit(wanted).to_arrow()[FULL_TEXT_COLUMN].to_pylist()]


def edits_between(one: str, other: str, most: int) -> int:
    """Letters to put in, take out, exchange, or swap with the next, to make `other` of `one`; `most + 1` for more."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        earlier, before, row = before, row, [at]
        for to, wanted in enumerate(other, 1):
            least = min(before[to] + 1, row[to - 1] + 1, before[to - 1] + (letter != wanted))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == wanted:
                least = min(least, earlier[to - 2] + 1)
            row.append(least)
    return min(row[-1], most + 1)
