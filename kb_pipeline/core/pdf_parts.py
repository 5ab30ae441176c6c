"""Lines of a PDF → headings, list items, code, tables and paragraphs. How they are written is `core.pdf_markdown`'s."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.pdf_words import Words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kb_pipeline.core.pdf import PdfDocument, PdfLine

HEADING_RATIO: Final = 1.15
"""A line this much larger than the body text is a heading."""
MAX_HEADING_LENGTH: Final = 120
SIZE_LEVELS: Final = 3
_LOWEST_LEVEL: Final = 5
_BULLET: Final = re.compile(r"^[•▪◦‣●○■\uf0b7\x7f\u2013*-]\s+(?=\S)")
_NUMBERED: Final = re.compile(r"^\(?(\d{1,3}|[a-z]|[ivx]{2,5})[.)]\s+(?=\S)")
_ROMAN: Final = {
    name: number for number, name in enumerate(["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"], start=1)
}
_SECTION: Final = re.compile(r"^(?:(\d{1,2}(?:\.\d{1,2}){0,4})\.?|[A-Z]\.(?:\d{1,2}\.?)*)\s+\S")
_LEADERS: Final = re.compile(r"(?:\s?[.·…]){4,}\s*")
_SENTENCE_END: Final = re.compile("[.!?:;\u3002\uff01\uff1f][\"'\u201d\u2019)\\]]?$")
_SHORT_LINE: Final = 0.3
"""A line that ends a sentence this share of its column before the margin ends its paragraph."""
_PARAGRAPH_GAP: Final = 1.7
"""Distance of two lines, in font sizes, that parts paragraphs."""
_HEADING_GAP: Final = 1.45
_CODE_GAP: Final = 4.0
_BLANK_LINE: Final = 1.5
_INDENT: Final = 0.8
_OTHER_SIZE: Final = 1.09
_MOSTLY_BOLD: Final = 0.4
_GLYPH: Final = 0.6
"""Ems: what a letter of a typewriter face takes."""


class Kind(StrEnum):
    """What a part is."""

    HEADING = "heading"
    ITEM = "item"
    CODE = "code"
    TABLE = "table"
    PARAGRAPH = "paragraph"


@dataclass(slots=True)
class Part:
    """A part, and the lines it was put together of."""

    kind: Kind
    text: str
    level: int = 0
    marker: str = "-"
    """Of a list item."""
    lines: list[PdfLine] = field(default_factory=list)

    @property
    def indent(self) -> float:
        """Of its first line, in points."""
        return self.lines[0].indent


class PartReader:
    """Puts the lines of a document's pages together to parts."""

    def __init__(self, document: PdfDocument) -> None:
        lines = [line for page in document.pages for line in page]
        self._words = Words(line.text for line in lines)
        self._body = _body_size(lines)
        bold = sum(len(line.text) for line in lines if line.is_bold)
        self._tells_by_weight = bold < _MOSTLY_BOLD * sum(len(line.text) for line in lines)
        self._levels = _size_levels(lines, self._body)
        self._outline: defaultdict[int, dict[str, int]] = defaultdict(dict)
        for entry in document.outline:
            self._outline[entry.page].setdefault(_letters(entry.title), entry.depth)
        self._shift = self._title_above(document)
        self._number = 0

    def _title_above(self, document: PdfDocument) -> int:
        """1 where a heading is larger than all that the bookmarks name: then those are a level below it."""
        named = [
            line.size
            for number, page in enumerate(document.pages)
            for line in page
            if self._depth(line, number) is not None
        ]
        return int(bool(named) and max(self._levels, default=0.0) > max(named))

    def parts(self, number: int, lines: Sequence[PdfLine]) -> Iterator[Part]:
        """The parts of a page, in reading order; pages count from 0."""
        part: Part | None = None
        for line in lines:
            begun = self._begin(line, number, part)
            if part is not None and _goes_on(part, begun, line):
                if part.kind is not Kind.CODE:
                    part.text = self._words.joined(part.text, begun.text)
                part.lines.append(line)
                continue
            if part is not None:
                yield _finished(part)
            part = begun
            if part.kind is Kind.ITEM and part.marker != "-":
                self._number = int(part.marker[:-1])
        if part is not None:
            yield _finished(part)

    def _begin(self, line: PdfLine, number: int, part: Part | None) -> Part:
        """The part that a line would begin."""
        if line.table:
            return Part(Kind.TABLE, line.text, lines=[line])
        if line.is_code:
            return Part(Kind.CODE, line.text, lines=[line])
        if level := self._level(line, number, part):
            return Part(Kind.HEADING, line.text, level, lines=[line])
        if _LEADERS.search(line.text):
            return Part(Kind.ITEM, _LEADERS.sub(" … ", line.text), lines=[line])
        if bullet := _BULLET.match(line.text):
            return Part(Kind.ITEM, line.text[bullet.end() :], lines=[line])
        return self._numbered(line) or Part(Kind.PARAGRAPH, line.text, lines=[line])

    def _numbered(self, line: PdfLine) -> Part | None:
        """An item with a number that counts on: other lines begin with one by chance."""
        label = _NUMBERED.match(line.text)
        if label is None:
            return None
        name = label[1]
        number = int(name) if name.isdigit() else _ROMAN.get(name, 0)
        if not name.isdigit():
            return Part(Kind.ITEM, line.text, lines=[line]) if len(name) == 1 or number else None
        if number not in {1, self._number + 1}:
            return None
        return Part(Kind.ITEM, line.text[label.end() :], marker=f"{number}.", lines=[line])

    def _level(self, line: PdfLine, number: int, part: Part | None) -> int:
        """Of a heading, by the bookmarks, by its size, or by its weight; 0 for other lines."""
        if not _may_head(line):
            return 0
        depth = self._depth(line, number)
        if depth is not None and (line.is_bold or line.size >= self._body):
            return min(_LOWEST_LEVEL, depth + 1 + self._shift)
        if level := self._levels.get(line.size, 0):
            return level
        return self._level_by_weight(line, part)

    def _depth(self, line: PdfLine, number: int) -> int | None:
        named = self._outline.get(number)
        if not named:
            return None
        letters = _letters(line.text)
        depth = named.get(letters)
        return depth if depth is not None else named.get(letters.lstrip("0123456789"))

    def _level_by_weight(self, line: PdfLine, part: Part | None) -> int:
        if not (self._tells_by_weight and line.is_bold and line.size >= self._body) or _BULLET.match(line.text):
            return 0
        section = _SECTION.match(line.text)
        if _SENTENCE_END.search(line.text) or (part is not None and not _stands_apart(part, line)):
            return 0
        depth = section[1].count(".") + 1 if section and section[1] else 1
        return min(_LOWEST_LEVEL, min(len(self._levels), SIZE_LEVELS) + depth)


def _stands_apart(part: Part, line: PdfLine) -> bool:
    """Whether a bold line is not one of a paragraph."""
    before = part.lines[-1]
    if before.column != line.column or part.kind in {Kind.HEADING, Kind.TABLE, Kind.CODE}:
        return True
    return before.height - line.height > _HEADING_GAP * line.size or _ends_early(before)


def _may_head(line: PdfLine) -> bool:
    is_title = len(line.text) <= MAX_HEADING_LENGTH and any(map(str.isalpha, line.text))
    return is_title and not line.is_code and not line.table and not _LEADERS.search(line.text)


def _body_size(lines: Sequence[PdfLine]) -> float:
    letters: Counter[float] = Counter()
    for line in lines:
        letters[line.size] += len(line.text)
    return letters.most_common(1)[0][0] if letters else 0.0


def _size_levels(lines: Sequence[PdfLine], body: float) -> dict[float, int]:
    """Font sizes that stand out, largest first, as levels."""
    sizes = {line.size for line in lines if line.size >= body * HEADING_RATIO and _may_head(line)}
    return {size: min(rank, SIZE_LEVELS) for rank, size in enumerate(sorted(sizes, reverse=True), start=1)}


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _goes_on(part: Part, begun: Part, line: PdfLine) -> bool:
    """Whether a line belongs to the part that the line before it is in."""
    if Kind.TABLE in {part.kind, begun.kind} or begun.kind is Kind.ITEM:
        return False
    before = part.lines[-1]
    same_column = before.column == line.column
    gap = before.height - line.height if same_column else 0.0
    if Kind.CODE in {part.kind, begun.kind}:
        return part.kind == begun.kind and gap <= _CODE_GAP * line.size
    if gap > (_HEADING_GAP if begun.kind is Kind.HEADING else _PARAGRAPH_GAP) * line.size:
        return False
    if Kind.HEADING in {part.kind, begun.kind}:
        return same_column and _is_one_heading(part, begun)
    if same_column:
        return _goes_on_in_column(part, before, line)
    return _same_size(before, line) and not _SENTENCE_END.search(before.text) and not line.text[:1].isupper()


def _is_one_heading(part: Part, begun: Part) -> bool:
    is_one = part.kind is begun.kind and part.level == begun.level and not _SECTION.match(begun.text)
    return is_one and len(part.text) + len(begun.text) < MAX_HEADING_LENGTH


def _same_size(before: PdfLine, line: PdfLine) -> bool:
    return max(before.size, line.size) <= _OTHER_SIZE * min(before.size, line.size)


def _goes_on_in_column(part: Part, before: PdfLine, line: PdfLine) -> bool:
    if not _same_size(before, line):
        return False
    step, em = line.indent - before.indent, _INDENT * line.size
    if part.kind is Kind.ITEM and line.indent > part.indent + em / 2:
        return True
    if _ends_early(before):
        return False
    # A first line stands in or out; only from the second on it is known which.
    return abs(step) <= em or len(part.lines) == 1


def _ends_early(line: PdfLine) -> bool:
    """Whether a line ends a sentence well before its margin."""
    return bool(line.short > _SHORT_LINE * _column_width(line) and _SENTENCE_END.search(line.text))


def _column_width(line: PdfLine) -> float:
    return max(1.0, line.indent + line.short + line.width)


def _finished(part: Part) -> Part:
    if part.kind is Kind.CODE:
        part.text = "\n".join(_code(part.lines))
    return part


def _code(lines: Sequence[PdfLine]) -> Iterator[str]:
    """Code as it stands: indented, and with its blank lines."""
    left = min(line.indent for line in lines)
    gaps = [before.height - line.height for before, line in pairwise(lines)]
    leading = min((gap for gap in gaps if gap > 0), default=0.0)
    for place, line in enumerate(lines):
        gap = gaps[place - 1] if place else 0.0
        if leading and gap > _BLANK_LINE * leading:
            yield ""
        yield " " * round((line.indent - left) / (_GLYPH * max(1.0, line.size))) + line.text
