"""Makes results of ranked passages: one for one text, few of a page, and with each what else its page says of the
question."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from kb_pipeline.model import Excerpt, Hit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kb_pipeline.serve.candidates import Passage
    from kb_pipeline.serve.ranking import Scored

PASSAGES_A_PAGE: Final = 3
QUOTED_TOKENS: Final = 490
"""Most that a result quotes, unless its passage alone is longer. Five results are then within 2,500 tokens."""
READ_TOGETHER: Final = 5
"""Results that are mostly read together: none of these quotes another one's passage. What a later one says may be
quoted by an earlier one, so that the first results are the same however many are asked for."""
LEFT_OUT: Final = "[…]"
"""Stands between parts of a page that do not follow each other."""
_LEFT_OUT_TOKENS: Final = 4
_GAP: Final = "\n\n"
RELEVANT: Final = 0.6
"""Of another piece of the page: how near it must be to the question, as a share of the best one's nearness."""
MOST_PIECES: Final = 10

Place = tuple[int, int]
"""Ordinal of a passage on its page, and number of a piece in it."""


class Chosen:
    """The results so far, in order: at most PASSAGES_A_PAGE of a page, and each text once."""

    def __init__(self, ranked: Iterable[Scored], limit: int) -> None:
        self.scored: list[Scored] = []
        self.addresses: dict[str, list[str]] = {}
        """Of each text, by its words: where else it stands."""
        pages: dict[str, int] = {}
        for score, passage in ranked:
            words = _words(passage)
            if words in self.addresses:
                self.addresses[words].append(passage.url)
            elif len(self.scored) < limit and pages.get(passage.page_id, 0) < PASSAGES_A_PAGE:
                self.addresses[words] = []
                pages[passage.page_id] = pages.get(passage.page_id, 0) + 1
                self.scored.append((score, passage))

    def hits(self, site_id: str, pages: Mapping[str, Sequence[Passage]]) -> list[Hit]:
        """The results. `pages` has all passages of their pages, in reading order; a page that it lacks is quoted no
        further than its passage."""
        taken: defaultdict[str, set[Place]] = defaultdict(set)
        for _, passage in self.scored[:READ_TOGETHER]:
            taken[passage.page_id].update(_places(passage))
        hits = []
        for score, passage in self.scored:
            page = pages.get(passage.page_id, ())
            taken[passage.page_id].update(_places(passage))
            more = _more_of_page(passage, page, taken[passage.page_id])
            taken[passage.page_id].update(more)
            hits.append(_hit(site_id, score, passage, _parts(passage, page, more), self.addresses[_words(passage)]))
        return hits


def _words(passage: Passage) -> str:
    return " ".join(passage.text.split()).casefold()


def _places(passage: Passage) -> list[Place]:
    return [(passage.ordinal, number) for number in range(len(passage.pieces))]


def _more_of_page(passage: Passage, page: Sequence[Passage], taken: set[Place]) -> list[Place]:
    """The pieces elsewhere on the page that are nearest to the question, as many as may be quoted with the passage."""
    least = max(passage.nearness * RELEVANT, 1e-6)
    found = [
        (likeness, (other.ordinal, number), other.pieces[number]["tokens"])
        for other in page
        for number, likeness in enumerate(other.likeness)
        if likeness >= least and (other.ordinal, number) not in taken
    ]
    found.sort(key=lambda piece: (-piece[0], piece[1]))
    room = QUOTED_TOKENS - passage.tokens
    more = []
    for _, place, tokens in found[:MOST_PIECES]:
        if tokens + _LEFT_OUT_TOKENS <= room:
            more.append(place)
            room -= tokens + _LEFT_OUT_TOKENS
    return more


def _parts(passage: Passage, page: Sequence[Passage], more: Sequence[Place]) -> list[tuple[bool, Excerpt]]:
    """The quoted parts in the page's order, each with whether it follows the one before without a gap."""
    by_ordinal = {other.ordinal: other for other in page}
    quoted = [(passage.ordinal, 0, len(passage.pieces) - 1), *((place[0], place[1], place[1]) for place in more)]
    parts: list[tuple[bool, Excerpt]] = []
    end: Place | None = None
    for ordinal, first, last in sorted(quoted):
        other = by_ordinal.get(ordinal, passage)
        whole = ordinal == passage.ordinal
        follows = end is None or _next(end, by_ordinal) == (ordinal, first)
        parts.append((follows, _whole(passage) if whole else _piece(other, first)))
        end = ordinal, last
    return parts


def _next(place: Place, page: Mapping[int, Passage]) -> Place:
    ordinal, number = place
    last = ordinal in page and number == len(page[ordinal].pieces) - 1
    return (ordinal + 1, 0) if last else (ordinal, number + 1)


def _whole(passage: Passage) -> Excerpt:
    return Excerpt(passage.url, passage.heading_path, passage.text)


def _piece(passage: Passage, number: int) -> Excerpt:
    piece = passage.pieces[number]
    return Excerpt(piece["url"], tuple(piece["heading_path"]), passage.text[piece["start"] : piece["end"]])


def _hit(
    site_id: str, score: float, passage: Passage, parts: Sequence[tuple[bool, Excerpt]], also_at: Sequence[str]
) -> Hit:
    best = _piece(passage, passage.best)
    texts = [part.text if follows else f"{LEFT_OUT}{_GAP}{part.text}" for follows, part in parts]
    return Hit(
        site_id=site_id,
        page_id=passage.page_id,
        chunk_id=passage.chunk_id,
        url=best.url,
        title=passage.title,
        heading_path=best.heading_path,
        text=_GAP.join(texts),
        score=score,
        best=best.text,
        parts=tuple(part for _, part in parts),
        also_at=tuple(also_at),
    )
