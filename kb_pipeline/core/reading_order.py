"""Lines of text with their places on a page → paragraphs in reading order. Columns stay apart. Pure geometry."""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_SAME_ROW: Final = 0.6
"""Share of the lower line's height that two pieces of one row have in common."""
_WORD_GAP: Final = 1.0
"""Widest gap within a line, in heights: beyond it another column begins."""
_PARAGRAPH_GAP: Final = 0.9
"""Gap between two lines, in heights, from which on they are two paragraphs."""
_SAME_SIZE: Final = 1.35
_SAME_COLUMN: Final = 0.5
"""Share of the narrower line's width that lines of one paragraph have in common."""
_MOST_BLOCKS: Final = 120
"""Blocks that are put in order together; more are taken in slices from top to bottom."""
_BROKEN_WORD: Final = re.compile(r"\w[-\u2010]$")
_ITEM: Final = re.compile("[\u2022\u25aa\u25e6\u2023\u25cf\u25cb\u25a0\u00b7]")
"""Each item of a list is a paragraph."""
_NO_SPACES: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uff60]")


@dataclass(frozen=True, slots=True)
class PlacedLine:
    """A line and its box in pixels, the origin at the top left."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    @property
    def height(self) -> float:
        """Of the box, at least a pixel."""
        return max(1.0, self.bottom - self.top)

    @property
    def middle(self) -> float:
        """Of the box, from above."""
        return (self.top + self.bottom) / 2

    def across(self, other: PlacedLine) -> float:
        """How much of the two lies above one another, in pixels."""
        return min(self.right, other.right) - max(self.left, other.left)

    def beside(self, other: PlacedLine) -> float:
        """How much of the two lies on one height, in pixels."""
        return min(self.bottom, other.bottom) - max(self.top, other.top)


def paragraphs(lines: Sequence[PlacedLine]) -> tuple[str, ...]:
    """The texts of the paragraphs that the lines form."""
    blocks = _blocks(_rows(lines))
    return tuple(_joined(block) for block in _in_order(blocks))


def without_doubles(lines: Sequence[PlacedLine]) -> list[PlacedLine]:
    """Lines that were found twice, in pictures that overlap, are one: the longer text stays."""
    kept: list[PlacedLine] = []
    for line in sorted(lines, key=lambda line: (-len(line.text), line.top)):
        if not any(_is_the_same(line, other) for other in kept):
            kept.append(line)
    return sorted(kept, key=lambda line: (line.top, line.left))


def _is_the_same(line: PlacedLine, other: PlacedLine) -> bool:
    lower = min(line.height, other.height)
    narrower = max(1.0, min(line.right - line.left, other.right - other.left))
    return line.beside(other) > lower / 2 and line.across(other) > narrower / 2


def _rows(lines: Sequence[PlacedLine]) -> list[PlacedLine]:
    """Pieces of one row that stand as close as words do, put together."""
    rows: list[PlacedLine] = []
    for line in sorted(lines, key=lambda line: (line.middle, line.left)):
        near = (place for place in range(len(rows) - 1, max(-1, len(rows) - 12), -1) if _continues(rows[place], line))
        place = next(near, None)
        if place is None:
            rows.append(line)
        else:
            rows[place] = _side_by_side(rows[place], line)
    return sorted(rows, key=lambda line: (line.top, line.left))


def _continues(row: PlacedLine, line: PlacedLine) -> bool:
    lower = min(row.height, line.height)
    gap = max(line.left - row.right, row.left - line.right)
    return row.beside(line) >= _SAME_ROW * lower and -lower <= gap <= _WORD_GAP * lower


def _side_by_side(row: PlacedLine, line: PlacedLine) -> PlacedLine:
    first, second = sorted((row, line), key=lambda piece: piece.left)
    return PlacedLine(
        f"{first.text} {second.text}",
        first.left,
        min(row.top, line.top),
        max(row.right, line.right),
        max(row.bottom, line.bottom),
    )


def _blocks(rows: Sequence[PlacedLine]) -> list[list[PlacedLine]]:
    """Rows from top to bottom, each put under the block whose last line it follows."""
    blocks: list[list[PlacedLine]] = []
    open_blocks: list[list[PlacedLine]] = []
    for row in rows:
        open_blocks = [block for block in open_blocks if row.top - block[-1].bottom <= 2 * block[-1].height]
        is_item = _ITEM.match(row.text)
        above = [] if is_item else [block for block in open_blocks if _follows(block[-1], row)]
        if above:
            max(above, key=lambda block: block[-1].bottom).append(row)
        else:
            blocks.append([row])
            open_blocks.append(blocks[-1])
    return blocks


def _follows(above: PlacedLine, line: PlacedLine) -> bool:
    lower, higher = sorted((above.height, line.height))
    gap = line.top - above.bottom
    narrower = max(1.0, min(above.right - above.left, line.right - line.left))
    return (
        -lower / 2 <= gap <= _PARAGRAPH_GAP * lower
        and higher <= _SAME_SIZE * lower
        and above.across(line) >= _SAME_COLUMN * narrower
    )


def _in_order(blocks: Sequence[list[PlacedLine]]) -> list[list[PlacedLine]]:
    boxed = sorted(((_box(block), block) for block in blocks), key=lambda pair: (pair[0].top, pair[0].left))
    ordered: list[list[PlacedLine]] = []
    for start in range(0, len(boxed), _MOST_BLOCKS):
        ordered += _sorted_slice(boxed[start : start + _MOST_BLOCKS])
    return ordered


def _sorted_slice(boxed: Sequence[tuple[PlacedLine, list[PlacedLine]]]) -> list[list[PlacedLine]]:
    """Breuel's order ("High Performance Document Layout Analysis", 2003, §5): what stands above something comes
    before it; what stands left of something does too, unless a block between the two spans both."""
    boxes = [box for box, _ in boxed]
    before = [
        {a for a in range(len(boxes)) if a != b and _precedes(boxes[a], boxes[b], boxes)} for b in range(len(boxes))
    ]
    left = list(range(len(boxes)))
    ordered: list[list[PlacedLine]] = []
    while left:
        # Boxes that overlap may claim each other: then the one with the least before it goes first.
        following = min(left, key=lambda place: (len(before[place] & set(left)), place))
        left.remove(following)
        ordered.append(boxed[following][1])
    return ordered


def _precedes(a: PlacedLine, b: PlacedLine, boxes: Sequence[PlacedLine]) -> bool:
    if a.across(b) > 0:
        return a.middle < b.middle
    if a.right > b.left:
        return False
    upper, lower = sorted((a, b), key=lambda box: box.top)
    between = (c for c in boxes if upper.bottom <= c.top and c.bottom <= lower.top)
    return not any(c.across(a) > 0 and c.across(b) > 0 for c in between)


def _box(block: Sequence[PlacedLine]) -> PlacedLine:
    return PlacedLine(
        "",
        min(line.left for line in block),
        min(line.top for line in block),
        max(line.right for line in block),
        max(line.bottom for line in block),
    )


def _joined(block: Sequence[PlacedLine]) -> str:
    text = ""
    for line in block:
        following = " ".join(line.text.split())
        if _BROKEN_WORD.search(text) and following[:1].islower():
            text = text[:-1] + following
        elif text and following and _NO_SPACES.match(text[-1]) and _NO_SPACES.match(following):
            text += following
        else:
            text = f"{text} {following}".strip()
    return text


def usual_height(lines: Sequence[PlacedLine]) -> float:
    """Of the lines, in pixels; 0 without any."""
    return statistics.median(line.height for line in lines) if lines else 0.0
