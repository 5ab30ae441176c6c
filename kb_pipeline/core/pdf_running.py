"""Running heads and page numbers of a PDF: what stands at one place at the edge of page after page."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kb_pipeline.core.pdf_segments import Segment

_EDGE: Final = 3
"""Rows at the top and at the foot that may be running ones."""
_GAP: Final = 1.6
"""Ems between base lines, more than within text."""
_SHARE: Final = 0.6
_FEW_SHARE: Final = 0.1
"""Enough for what is set no larger than the text: heads differ between left and right pages, and chapters."""
_FEWEST: Final = 3
_LINES_OF_A_FULL_PAGE: Final = 4
_SAME_PLACE: Final = 4.0
"""Points that heads may stand higher or lower on another page."""
_NUMBER: Final = re.compile(
    r"^\W*(?:page|p\.|seite|página|стр\.?)?\W*(\d{1,4})\W*(?:(?:of|/|von|de|из)\W*\d{1,4})?\W*$", re.IGNORECASE
)
_DIGITS: Final = re.compile(r"\d+|\b[ivxlc]+\b")
_LONG: Final = 60
"""Characters: what is longer is no title but a notice, which stays where it stands first."""
_MOST_LETTERS: Final = 200

Key = tuple[str, str]


def without_running(pages: Sequence[Sequence[Segment]]) -> list[list[Segment]]:
    """The pages without what runs through them; numbers count as equal."""
    edges = [list(_edges(page)) for page in pages]
    running = _running(pages, edges)
    numbers = _page_numbers(pages, edges)
    kept = []
    told: set[Key] = set()
    for number, page in enumerate(pages):
        runs = [(key, id(segment)) for key, segment in edges[number] if _near(segment, running.get(key, []))]
        dropped = {name for key, name in runs if len(key[1]) <= _LONG or key in told} | numbers.get(number, set())
        told.update(key for key, _ in runs)
        kept.append([segment for segment in page if id(segment) not in dropped])
    return kept


def _edges(page: Sequence[Segment]) -> Iterator[tuple[Key, Segment]]:
    """Segments of the outermost rows, with what they say and at which edge."""
    rows: list[list[Segment]] = []
    for segment in sorted(page, key=lambda segment: -segment.base):
        if rows and rows[-1][0].base - segment.base <= segment.size / 2:
            rows[-1].append(segment)
        else:
            rows.append([segment])
    for side, part in (("top", _set_apart(rows)), ("foot", _set_apart(rows[::-1]))):
        for row in part:
            for segment in row:
                if len(segment.text) <= _MOST_LETTERS and not segment.table:
                    yield (side, _said(segment.text)), segment


def _said(text: str) -> str:
    """Text with its numbers as equal; in long lines they are the text's own."""
    return text if len(text) > _LONG else _DIGITS.sub("#", text.lower())


def _set_apart(rows: Sequence[Sequence[Segment]]) -> Sequence[Sequence[Segment]]:
    """The rows before the last wide gap near an edge: text has none there."""
    most = min(_EDGE, len(rows) // 2)
    gaps = [abs(rows[place][0].base - rows[place + 1][0].base) for place in range(most)]
    wide = [place + 1 for place in range(most) if gaps[place] > _GAP * max(part.size for part in rows[place])]
    return rows[: wide[-1]] if wide else []


def _running(
    pages: Sequence[Sequence[Segment]], edges: Sequence[Sequence[tuple[Key, Segment]]]
) -> dict[Key, list[float]]:
    """What runs, and the heights at which it does."""
    places: defaultdict[tuple[Key, float], Counter[float]] = defaultdict(Counter)
    sizes: Counter[float] = Counter()
    for page, edge in zip(pages, edges, strict=True):
        for segment in page:
            sizes[segment.size] += len(segment.text)
        if len(page) >= _LINES_OF_A_FULL_PAGE:
            for key, base, size in {(key, round(segment.base), segment.size) for key, segment in edge}:
                places[key, size][float(base)] += 1
    usual = sizes.most_common(1)[0][0] if sizes else 0.0
    # Where most pages have a line, the lines of a chapter that has two pages run too.
    lone = Counter(float(base) for edge in edges for base in {round(segment.base) for _, segment in edge[:1]})
    found: dict[Key, list[float]] = {}
    for (key, size), bases in places.items():
        share = _FEW_SHARE if size <= usual else _SHARE
        enough = [
            base
            for base in bases
            if _count(bases, base) >= max(_FEWEST, len(pages) * share)
            or (size <= usual and _count(bases, base) > 1 and _count(lone, base) >= len(pages) * _SHARE)
        ]
        if enough:
            found.setdefault(key, []).extend(enough)
    return found


def _count(bases: Counter[float], base: float) -> int:
    return sum(count for other, count in bases.items() if abs(other - base) <= _SAME_PLACE)


def _near(segment: Segment, bases: Sequence[float]) -> bool:
    return any(abs(segment.base - base) <= _SAME_PLACE + 1 for base in bases)


def _page_numbers(
    pages: Sequence[Sequence[Segment]], edges: Sequence[Sequence[tuple[Key, Segment]]]
) -> dict[int, set[int]]:
    """Lone numbers at an edge that count the pages, in documents too short for anything to be repeated."""
    offsets: Counter[int] = Counter()
    found: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, edge in enumerate(edges):
        for _, segment in edge:
            counted = _NUMBER.match(segment.text)
            if counted and len(pages[number]) >= _LINES_OF_A_FULL_PAGE:
                found[number].append((int(counted[1]) - number, id(segment)))
        offsets.update({offset for offset, _ in found[number]})
    offset, count = offsets.most_common(1)[0] if offsets else (0, 0)
    if count < 2 or count < len(pages) * _SHARE:  # noqa: PLR2004 - one number counts nothing
        return {}
    names_of = {number: {name for at, name in places if at == offset} for number, places in found.items()}
    return {number: names | _beside(names, edges[number]) for number, names in names_of.items()}


def _beside(numbers: set[int], edge: Sequence[tuple[Key, Segment]]) -> set[int]:
    """What stands on one line with a page number: the name of a chapter of two pages, say."""
    rows = [segment for _, segment in edge if id(segment) in numbers]
    return {
        id(segment)
        for _, segment in edge
        if any(abs(segment.base - row.base) < row.size / 2 and segment.size <= row.size + 1 for row in rows)
    }
