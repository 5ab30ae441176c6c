"""Tables on a PDF page: cells within ruled lines, and cells that only stand under one another."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.pdf_segments import Segment, glued

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kb_pipeline.core.pdf_runs import Rule

LABEL: Final = re.compile(
    r"^(?:[•▪◦‣●○■·*\uf0b7\u2013-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]|\d{1,2}(?:\.\d{1,2}){1,4}\.?)$"
)
"""A bullet or number that stands before the text of its item."""
_MOST_RULES: Final = 600
"""Ruled lines that are looked at; drawings have more."""
_NEAR: Final = 2.5
_MOST_CELLS: Final = 5_000
_ROW_GAP: Final = 3.0
"""Ems between base lines, from which on a row belongs to another table."""
_WRAPPED: Final = 1.35
"""Ems between base lines of a cell of several lines."""
_WIDE_CELL: Final = 16.0
"""Ems: columns whose cells are wider on average are columns of prose."""
_FEWEST_ROWS: Final = 3
_MOST_ROWS: Final = 300
"""Rows of one table; what follows is another, so that looking for tables takes time in proportion to a page."""


def ruled_tables(segments: Sequence[Segment], rules: Sequence[Rule]) -> list[Segment]:
    """The segments, with those inside ruled grids replaced by tables."""
    left = list(segments)
    for grid in _grids(rules):
        table, inside = _filled(grid, left)
        if table is not None:
            taken = set(map(id, inside))
            left = [segment for segment in left if id(segment) not in taken]
            left.append(table)
    return left


@dataclass(slots=True)
class _Grid:
    columns: list[float]
    rows: list[float]


def _grids(rules: Sequence[Rule]) -> list[_Grid]:
    """Lines that touch one another, as the edges of columns and rows."""
    if not rules or len(rules) > _MOST_RULES:
        return []
    waiting, grids = list(rules), []
    while waiting:
        group = [waiting.pop()]
        for rule in group:
            touching = [other for other in waiting if _touch(rule, other)]
            if touching:
                taken = set(map(id, touching))
                waiting = [other for other in waiting if id(other) not in taken]
                group += touching
        columns = _distinct((rule.left + rule.right) / 2 for rule in group if rule.is_vertical)
        rows = _distinct((rule.low + rule.high) / 2 for rule in group if not rule.is_vertical)
        if len(columns) > 2 and len(rows) > 2 and len(columns) * len(rows) <= _MOST_CELLS:  # noqa: PLR2004 - two cells
            grids.append(_Grid(columns, rows[::-1]))
    return grids


def _touch(first: Rule, second: Rule) -> bool:
    across = min(first.right, second.right) - max(first.left, second.left)
    return across >= -_NEAR and min(first.high, second.high) - max(first.low, second.low) >= -_NEAR


def _distinct(places: Iterable[float]) -> list[float]:
    found: list[float] = []
    for place in sorted(places):
        if not found or place - found[-1] > 2 * _NEAR:
            found.append(place)
    return found


def _filled(grid: _Grid, segments: Sequence[Segment]) -> tuple[Segment | None, list[Segment]]:
    """The table that a grid makes, unless it is a frame around something else."""
    cells = [["" for _ in grid.columns[1:]] for _ in grid.rows[1:]]
    inside: list[Segment] = []
    for segment in sorted(segments, key=lambda segment: (-segment.base, segment.left)):
        row = _place([-edge for edge in grid.rows], -(segment.top + segment.low) / 2)
        column = _place(grid.columns, min(segment.left + segment.size, (segment.left + segment.right) / 2))
        if row is not None and column is not None and not segment.table:
            cells[row][column] = glued(cells[row][column], segment.text)
            inside.append(segment)
    rows = [row for row in cells if any(row)]
    used = [place for place in range(len(grid.columns) - 1) if any(row[place] for row in rows)]
    if len(rows) < 2 or len(used) < 2:  # noqa: PLR2004 - one row or column is no table
        return None, []
    return _table([[row[place] for place in used] for row in rows], inside), inside


def _place(edges: Sequence[float], at: float) -> int | None:
    return next((place for place, (low, high) in enumerate(pairwise(edges)) if low - 1 <= at < high), None)


def _table(rows: Sequence[Sequence[str]], inside: Sequence[Segment]) -> Segment:
    low, top = min(segment.low for segment in inside), max(segment.top for segment in inside)
    sizes = sorted(segment.size for segment in inside)
    return Segment(
        "\n".join(" ".join(filter(None, row)) for row in rows),
        min(segment.left for segment in inside),
        max(segment.right for segment in inside),
        low,
        sizes[len(sizes) // 2],
        table=tuple(map(tuple, rows)),
        height=top - low,
    )


@dataclass(slots=True)
class _Aligned:
    """Rows whose segments stand under one another so far."""

    columns: list[tuple[float, float]] = field(default_factory=list)
    rows: list[list[Segment]] = field(default_factory=list)
    full: int = 0
    """Rows up to the last that has several cells or goes on in one."""

    def takes(self, row: Sequence[Segment]) -> bool:
        """Add a row if it fits."""
        before = self.rows[-1] if self.rows else None
        if any(segment.table or segment.is_code for segment in row):
            return False
        gap = before[0].base - row[0].base if before else 0.0
        size = max(segment.size for segment in row)
        if (before is None and len(row) == 1) or gap > _ROW_GAP * size:
            return False
        columns = self._widened(row)
        if columns is None or (len(row) == 1 and len(columns) > len(self.columns) and before is not None):
            return False
        is_first = len(row) == 1 and bool(self.columns) and _over(row[0], self.columns[0])
        if len(row) == 1 and (row[0].width >= _WIDE_CELL * size or (is_first and gap > _WRAPPED * size)):
            return False
        self.columns = columns
        self.rows.append(list(row))
        if len(row) > 1 or not _over(row[0], self.columns[0]):
            self.full = len(self.rows)
        return True

    def _widened(self, row: Sequence[Segment]) -> list[tuple[float, float]] | None:
        """The columns with one more row, unless its cells do not stand in one each."""
        columns = list(self.columns)
        taken: set[int] = set()
        for segment in row:
            hit = [place for place, column in enumerate(columns) if _over(segment, column)]
            if len(hit) > 1 or taken.intersection(hit):
                return None
            taken.add(hit[0] if hit else len(columns))
            if hit:
                low, high = columns[hit[0]]
                columns[hit[0]] = (min(low, segment.left), max(high, segment.right))
            else:
                columns.append((segment.left, segment.right))
        columns.sort()
        return None if any(second[0] <= first[1] for first, second in pairwise(columns)) else columns

    def table(self, widest: float | None) -> Segment | None:
        """The table, if the rows are one; `widest` is what a column may be at most, in ems."""
        rows = self.rows[: self.full]
        several = [row for row in rows if len(row) > 1]
        if len(several) < (_FEWEST_ROWS if len(self.columns) < 3 else 2):  # noqa: PLR2004 - three columns say more
            return None
        inside = [segment for row in rows for segment in row]
        if all(LABEL.match(row[0].text) for row in several) and len(self.columns) == 2:  # noqa: PLR2004 - a list
            return None
        if widest and any(high - low > widest * inside[0].size for low, high in self.columns):
            return None
        if sum(segment.width / max(1.0, segment.size) for segment in inside) > _WIDE_CELL * len(inside):
            return None
        return _table(self._cells(rows), inside)

    def _cells(self, rows: Sequence[Sequence[Segment]]) -> list[list[str]]:
        cells: list[list[str]] = []
        before: Sequence[Segment] = ()
        is_above = False
        for row in rows:
            texts = [""] * len(self.columns)
            for segment in row:
                place = next(place for place, column in enumerate(self.columns) if _over(segment, column))
                texts[place] = glued(texts[place], segment.text)
            is_near = bool(before) and before[0].base - row[0].base <= _WRAPPED * row[0].size
            # Names may stand at half the height of a cell of several lines: then its first line is above them.
            if is_near and (not texts[0] or is_above):
                cells[-1] = [glued(old, new) for old, new in zip(cells[-1], texts, strict=True)]
            else:
                cells.append(texts)
            is_above = not cells[-1][0]
            before = row
        return cells


def _over(segment: Segment, column: tuple[float, float]) -> bool:
    return segment.left <= column[1] and segment.right >= column[0]


def aligned_tables(rows: Sequence[Sequence[Segment]], widest: float | None = None) -> list[list[Segment]]:
    """Rows of a region, with stretches of them that are tables put together to one segment each."""
    found: list[list[Segment]] = []
    start = 0
    while start < len(rows):
        aligned = _Aligned()
        end = start
        while end < min(len(rows), start + _MOST_ROWS) and aligned.takes(rows[end]):
            end += 1
        table = aligned.table(widest)
        if table is not None:
            found.append([table])
            start += aligned.full
        else:
            found.append(list(rows[start]))
            start += 1
    return found
