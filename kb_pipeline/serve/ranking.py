"""Orders the passages that may answer a question. Pure: numbers in, an order out. What each step buys is measured in
docs/retrieval.md."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.passage_kinds import PassageKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kb_pipeline.serve.candidates import Passage

Scored = tuple[float, "Passage"]

WORDS_WEIGHT: Final = 0.12
"""What the best match of words adds to a cosine; others add their share of it. Cosines of good answers lie between 0.4
and 0.8."""
NEIGHBOUR_WEIGHT: Final = 0.2
"""How much the better one of the passages before and after counts beside the passage itself,"""
PAGE_WEIGHT: Final = 0.3
"""and how much the page's best passages do."""
PAGE_PASSAGES: Final = 3
LEAD_WEIGHT: Final = 0.15
"""How much the beginning of its page counts, which says what the page is about."""
ONE_PIECE: Final = 0.1
"""Of what its nearest piece is nearer than its second one: how much is taken, since one piece may be near by chance."""
REPEATED: Final = 0.02
"""Taken from the second passage of a page, and twice that from the third: it says less that is new."""
LISTING_PENALTY: Final = 0.05
"""Taken from the cosine of lists of changes, of links and of code, unless the question asks for such a thing."""
_ASKED_FOR: Final = {
    PassageKind.CHANGES: re.compile(
        r"\b(?:release|change|new in|what.?s new|version|upgrade|v?\d+\.\d)", re.IGNORECASE
    ),
    PassageKind.LINKS: re.compile(r"\b(?:index|contents|links?|list of|overview|where)\b", re.IGNORECASE),
    PassageKind.SOURCE: re.compile(r"\b(?:source|code|implement|function|class)", re.IGNORECASE),
}


def fused(
    question: str, near: Sequence[Passage], worded: Sequence[Passage], leads: Mapping[str, float] | None = None
) -> list[Scored]:
    """One order of two: passages by meaning and by words, each best first. `leads` has the cosine of the beginning of
    each page, by its id. The score is a cosine, raised by shared words and by what stands around: about 0 to 1. Of
    passages that neither list has, and of beginnings that are not known, it is assumed that they are as near as the
    last one of `near`."""
    if not near:
        return in_order((passage.words, passage) for passage in worded)
    found = {passage.chunk_id: passage for passage in near}
    found.update((passage.chunk_id, passage) for passage in worded)
    known = {chunk_id: _nearness(question, passage) for chunk_id, passage in found.items()}
    places = {(passage.page_id, passage.ordinal): known[chunk_id] for chunk_id, passage in found.items()}
    least = min(known[passage.chunk_id] for passage in near)
    most_words = max((passage.words for passage in worded), default=0.0) or 1.0
    alone = {
        chunk_id: _with_neighbours(passage, known[chunk_id], places, least) + WORDS_WEIGHT * passage.words / most_words
        for chunk_id, passage in found.items()
    }
    return _repeats_set_back(in_order(_with_pages(found, alone, leads or {}, least)))


def in_order(scored: Iterable[Scored]) -> list[Scored]:
    """Best first; equal scores by chunk id, so that answers repeat."""
    return sorted(scored, key=lambda pair: (-pair[0], pair[1].chunk_id))


def _nearness(question: str, passage: Passage) -> float:
    asked = _ASKED_FOR.get(passage.kind)
    penalty = LISTING_PENALTY if asked is not None and not asked.search(question) else 0.0
    best, *others = sorted(passage.likeness, reverse=True)
    return best - ONE_PIECE * (best - others[0] if others else 0.0) - penalty


def _with_neighbours(passage: Passage, nearness: float, places: dict[tuple[str, int], float], least: float) -> float:
    page, ordinal = passage.page_id, passage.ordinal
    beside = max(places.get((page, ordinal - 1), least), places.get((page, ordinal + 1), least))
    return (nearness + NEIGHBOUR_WEIGHT * beside) / (1 + NEIGHBOUR_WEIGHT)


def _with_pages(
    found: dict[str, Passage], alone: dict[str, float], leads: Mapping[str, float], least: float
) -> list[Scored]:
    pages: defaultdict[str, list[float]] = defaultdict(list)
    for chunk_id, passage in found.items():
        pages[passage.page_id].append(alone[chunk_id])
    around = {}
    for page_id, scores in pages.items():
        best = sorted(scores, reverse=True)[:PAGE_PASSAGES]
        of_page = (sum(best) + least * (PAGE_PASSAGES - len(best))) / PAGE_PASSAGES
        around[page_id] = PAGE_WEIGHT * of_page + LEAD_WEIGHT * leads.get(page_id, least)
    return [
        ((alone[chunk_id] + around[passage.page_id]) / (1 + PAGE_WEIGHT + LEAD_WEIGHT), passage)
        for chunk_id, passage in found.items()
    ]


def _repeats_set_back(ranked: Sequence[Scored]) -> list[Scored]:
    before: defaultdict[str, int] = defaultdict(int)
    set_back = []
    for score, passage in ranked:
        set_back.append((score - REPEATED * before[passage.page_id], passage))
        before[passage.page_id] += 1
    return in_order(set_back)
