"""Segments of a PDF page → lines in reading order: columns one after the other, what spans them between.

The page is cut at gutters, again and again (the recursive XY cut of Nagy and Seth, 1984, with the vertical cut first
and bands between what spans it).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.pdf_segments import Segment, glued, is_right_to_left
from kb_pipeline.core.pdf_tables import LABEL, aligned_tables, ruled_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kb_pipeline.core.pdf_runs import Rule

_DEEPEST: Final = 4
"""Cuts within cuts: more than a page of newspaper has."""
_MOST_GUTTERS: Final = 12
_FEWEST_LINES: Final = 3
"""Lines on either side of a gutter, within one band."""
_COLUMN_WIDTH: Final = 9.0
"""Ems: narrower ones are columns of a table, where their lines stand on common base lines."""
_ALIGNED: Final = 0.7
"""Share of lines on common base lines, from which on narrow columns are a table's."""
_SAME_LINE: Final = 0.3
_NARROW_CELL: Final = 11.0
"""Ems: all columns of a table that spans columns of text are narrower, or those would be taken for one."""


@dataclass(frozen=True, slots=True)
class PlacedSegment:
    """A line in reading order; `near` and `far` are the edges of its column."""

    segment: Segment
    near: float
    far: float
    column: int


def in_reading_order(segments: Sequence[Segment], rules: Sequence[Rule]) -> list[PlacedSegment]:
    """The lines of a page. In right-to-left scripts the right column comes first."""
    placed = ruled_tables(segments, rules)
    if is_right_to_left(placed):
        # Seen in a mirror, the page is one that is read from left to right.
        placed = [_mirrored(segment) for segment in placed]
    rows = aligned_tables(_rows(placed), _NARROW_CELL)
    regions = list(_regions([segment for row in rows for segment in row], 0))
    return [
        PlacedSegment(segment, min(part.left for part in region), max(part.right for part in region), number)
        for number, region in enumerate(regions)
        for segment in _lines(region)
    ]


def _mirrored(segment: Segment) -> Segment:
    table = tuple(tuple(reversed(row)) for row in segment.table)
    return replace(segment, left=-segment.right, right=-segment.left, table=table)


def _regions(segments: Sequence[Segment], depth: int) -> Iterator[list[Segment]]:
    """Parts of the page with one column each, in reading order."""
    cut = _best_cut(segments) if depth < _DEEPEST and len(segments) >= 2 * _FEWEST_LINES else None
    if cut is None:
        if segments:
            yield list(segments)
        return
    for band in _bands(segments, cut):
        for side in band.sides:
            # A band without columns is not cut here again, and has fewer segments than the page.
            yield from _regions(side, depth + 1)


@dataclass(frozen=True, slots=True)
class _Band:
    sides: tuple[list[Segment], ...]


def _best_cut(segments: Sequence[Segment]) -> float | None:
    """The gutter with most lines beside it."""
    edges = Counter(round(segment.left / 2) for segment in segments if not segment.table)
    leftmost = min(round(segment.left / 2) for segment in segments)
    candidates = [edge for edge, _ in edges.most_common(_MOST_GUTTERS + 1) if edge > leftmost + 2]
    scores = [(_beside(segments, 2 * edge - 1.5), edge) for edge in candidates[:_MOST_GUTTERS]]
    score, edge = max(scores, default=(0, 0))
    return 2 * edge - 1.5 if score else None


def _beside(segments: Sequence[Segment], cut: float) -> int:
    """Lines in columns on both sides of a gutter; 0 where it is none."""
    return sum(len(left) + len(right) for left, right in _pairs(_bands(segments, cut)) if _are_columns(left, right))


def _pairs(bands: Iterable[_Band]) -> Iterator[tuple[list[Segment], list[Segment]]]:
    for band in bands:
        if len(band.sides) > 1:
            yield band.sides[0], band.sides[1]


def _bands(segments: Sequence[Segment], cut: float) -> list[_Band]:
    """From top to bottom: what spans the gutter, and the columns between."""
    bands: list[_Band] = []
    spanning: list[Segment] = []
    sides: tuple[list[Segment], list[Segment]] = ([], [])

    def close() -> None:
        nonlocal spanning, sides
        if spanning:
            bands.append(_Band((spanning,)))
        if sides[0] or sides[1]:
            bands.append(_Band(sides if _are_columns(*sides) else ([*sides[0], *sides[1]],)))
        spanning, sides = [], ([], [])

    for segment in sorted(segments, key=lambda segment: -segment.top):
        if segment.left < cut < segment.right:
            if sides[0] or sides[1]:
                close()
            spanning.append(segment)
            continue
        sides[segment.left > cut].append(segment)
    close()
    return _merged(bands)


def _merged(bands: Sequence[_Band]) -> list[_Band]:
    """Bands without columns that follow one another are one region: a table may have rows of either kind."""
    merged: list[_Band] = []
    for band in bands:
        if merged and len(band.sides) == len(merged[-1].sides) == 1:
            merged[-1] = _Band(([*merged[-1].sides[0], *band.sides[0]],))
        else:
            merged.append(band)
    return merged


def _are_columns(left: Sequence[Segment], right: Sequence[Segment]) -> bool:
    """Whether two sides of a gutter are columns of text, and not cells or labels with what belongs to them."""
    if len(left) < _FEWEST_LINES or len(right) < _FEWEST_LINES:
        return False
    if any(side.table for side in (*left, *right)):
        return True
    aligned = _aligned(left, right)
    narrow = min(_usual_width(left), _usual_width(right))
    if aligned < _ALIGNED:
        return narrow > _COLUMN_WIDTH / 2
    return narrow > _COLUMN_WIDTH


def _usual_width(side: Sequence[Segment]) -> float:
    widths = sorted(segment.width / max(1.0, segment.size) for segment in side)
    return widths[len(widths) // 2]


def _aligned(left: Sequence[Segment], right: Sequence[Segment]) -> float:
    """Share of the lines of the shorter side that stand beside a line of the other."""
    fewer, more = sorted((left, right), key=len)
    bases = {round(segment.base) for segment in more}
    on_line = sum(1 for segment in fewer if any(round(segment.base) + step in bases for step in (-1, 0, 1)))
    return on_line / len(fewer)


def _lines(region: Sequence[Segment]) -> list[Segment]:
    """The lines of a region without columns; tables of blanks are found, pieces of a line put together."""
    rows = [_with_labels(row) for row in _rows(region)]
    return [_one_line(row) for row in aligned_tables(rows)]


def _rows(region: Sequence[Segment]) -> list[list[Segment]]:
    rows: list[list[Segment]] = []
    for segment in sorted(
        region, key=lambda segment: (-(segment.top if segment.table else segment.base), segment.left)
    ):
        first = rows[-1][0] if rows else None
        same = first is not None and not (first.table or segment.table)
        if same and first is not None and abs(first.base - segment.base) <= _SAME_LINE * max(first.size, segment.size):
            rows[-1].append(segment)
        else:
            rows.append([segment])
    return [sorted(row, key=lambda segment: segment.left) for row in rows]


def _with_labels(row: Sequence[Segment]) -> list[Segment]:
    """A bullet and the text of its item are one segment."""
    if len(row) > 1 and LABEL.match(row[0].text) and row[1].left - row[0].right < 5 * row[0].size:
        return [_one_line(row[:2]), *row[2:]]
    return list(row)


def _one_line(row: Sequence[Segment]) -> Segment:
    line = row[0]
    for segment in row[1:]:
        main = segment if len(segment.text) > len(line.text) else line
        is_bold = line.is_bold and segment.is_bold
        line = replace(
            main, text=glued(line.text, segment.text), left=min(line.left, segment.left),
            right=max(line.right, segment.right), is_bold=is_bold, is_code=line.is_code and segment.is_code,
        )  # fmt: skip
    return line
