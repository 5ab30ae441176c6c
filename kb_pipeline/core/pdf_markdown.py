"""The lines of a PDF as Markdown: headings by font size, paragraphs put together again, pages marked."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.markdown import MAX_CHARACTERS, Markdown
from kb_pipeline.core.markdown_inline import clean, escape
from kb_pipeline.core.markdown_writer import Blocks, Container

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kb_pipeline.core.pdf import PdfDocument, PdfLine

HEADING_RATIO: Final = 1.15
"""A line this much larger than the body text is a heading."""
MAX_HEADING_LENGTH: Final = 120
HEADING_LEVELS: Final = 3
PAGE_LEVEL: Final = 6
"""Pages are headings below all others: they are where a citation points to (`#page=3`, RFC 8118 §3)."""
RUNNING_SHARE: Final = 0.6
_RUNNING_PAGES: Final = 3
_LINES_OF_A_FULL_PAGE: Final = 4
_EDGE: Final = 2
"""Lines at the top and at the foot of a page, as it is drawn, that may be a running head or a page number."""
_BULLET: Final = re.compile(r"^[•▪◦‣●○■\uf0b7\x7f\u2013*-]\s+(?=\S)")
_SENTENCE_END: Final = re.compile("[.!?:;\u3002\uff01\uff1f][\"'\u201d\u2019)\\]]?$")
_SHORT_LINE: Final = 0.7
"""A line that ends a sentence this far before the margin ends its paragraph."""
_PARAGRAPH_GAP: Final = 1.7
"""Distance of two lines, in font sizes, that parts paragraphs."""
_HEADING_GAP: Final = 1.45


@dataclass(frozen=True, slots=True)
class _Part:
    kind: str
    text: str
    level: int = 0


def write_pdf(document: PdfDocument, limit: int = MAX_CHARACTERS) -> Markdown:
    """Write a document. Every heading's anchor is its page; pages that do not open with one get a mark."""
    pages = _without_running_lines(document.pages)
    levels = _heading_levels(pages)
    body_size = _body_size(pages)
    blocks = Blocks(limit)
    for number, lines in enumerate(pages, start=1):
        parts = list(_parts(lines, levels, body_size))
        anchor = f"page={number}"
        if parts and document.page_count > 1 and parts[0].kind != "heading":
            # The mark is not of the document, so it does not count as its text.
            blocks.heading(PAGE_LEVEL, f"Page {number}", 0, anchor)
        for part in parts:
            _write(blocks, part, anchor)
    return Markdown(blocks.markdown(), blocks.characters, tuple(blocks.anchors), document.truncated or blocks.full)


def first_heading(document: PdfDocument) -> str:
    """The largest line of the first page: a title for documents that name none."""
    lines = document.pages[0] if document.pages else ()
    candidates = [line for line in lines if any(map(str.isalpha, line.text))]
    best = max(candidates, key=lambda line: line.size, default=None)
    return best.text[:MAX_HEADING_LENGTH] if best is not None else ""


def _write(blocks: Blocks, part: _Part, anchor: str) -> None:
    text = escape(clean(part.text))
    if part.kind == "heading":
        blocks.heading(part.level, text, len(part.text), anchor)
    elif part.kind == "code":
        blocks.fence(part.text, "")
    elif part.kind == "item":
        blocks.open(Container("item", "- ", "  "))
        blocks.paragraph(text, len(part.text))
        blocks.close()
    else:
        blocks.paragraph(text, len(part.text))


def _body_size(pages: Sequence[Sequence[PdfLine]]) -> float:
    letters: Counter[float] = Counter()
    for lines in pages:
        for line in lines:
            letters[line.size] += len(line.text)
    return letters.most_common(1)[0][0] if letters else 0.0


def _heading_levels(pages: Sequence[Sequence[PdfLine]]) -> dict[float, int]:
    """Font sizes that stand out, largest first, as levels."""
    body = _body_size(pages)
    sizes = {
        line.size
        for lines in pages
        for line in lines
        if line.size >= body * HEADING_RATIO and _may_head(line) and not line.is_code
    }
    return {size: min(rank, HEADING_LEVELS) for rank, size in enumerate(sorted(sizes, reverse=True), start=1)}


def _may_head(line: PdfLine) -> bool:
    return len(line.text) <= MAX_HEADING_LENGTH and any(map(str.isalpha, line.text))


def _parts(lines: Sequence[PdfLine], levels: dict[float, int], body_size: float) -> Iterator[_Part]:
    """Lines put together to headings, items, code and paragraphs, in reading order."""
    width = max((len(line.text) for line in lines if line.size <= body_size), default=0)
    part: _Part | None = None
    before: PdfLine | None = None
    for line in lines:
        begun = _begin(line, levels)
        if part is not None and before is not None and _goes_on(part, before, begun, line, width):
            part = _Part(part.kind, _joined(part, line.text), part.level)
        else:
            if part is not None:
                yield part
            part = begun
        before = line
    if part is not None:
        yield part


def _begin(line: PdfLine, levels: dict[float, int]) -> _Part:
    """The part that a line would begin."""
    if line.is_code:
        return _Part("code", line.text)
    if _may_head(line) and (level := levels.get(line.size)):
        return _Part("heading", line.text, level)
    bullet = _BULLET.match(line.text)
    return _Part("item", line.text[bullet.end() :]) if bullet else _Part("paragraph", line.text)


def _goes_on(part: _Part, before: PdfLine, begun: _Part, line: PdfLine, width: int) -> bool:
    """Whether a line belongs to the part that the line before it is in."""
    if "code" in {part.kind, begun.kind}:
        return part.kind == begun.kind
    gap = before.height - line.height
    if begun.kind == "item" or gap > (_HEADING_GAP if begun.kind == "heading" else _PARAGRAPH_GAP) * line.size:
        return False
    if "heading" in {part.kind, begun.kind}:
        return part.level == begun.level and len(part.text) + len(line.text) < MAX_HEADING_LENGTH
    return not (len(before.text) < width * _SHORT_LINE and _SENTENCE_END.search(before.text))


def _joined(part: _Part, line: str) -> str:
    """A part with one more line. A divided word is put together when it goes on in lower case."""
    before = part.text
    if part.kind == "code":
        return f"{before}\n{line}"
    if before.endswith("-") and len(before) > 1 and before[-2].isalpha() and line[:1].islower():
        return before[:-1] + line
    return f"{before} {line}"


def _without_running_lines(pages: Sequence[Sequence[PdfLine]]) -> list[list[PdfLine]]:
    """Drop what stands first or last on most pages, numbers aside: running heads and page numbers."""
    edges: Counter[str] = Counter()
    for lines in pages:
        if len(lines) >= _LINES_OF_A_FULL_PAGE:
            edges.update({_pattern(line) for line in (*lines[:_EDGE], *lines[-_EDGE:])})
    running = {pattern for pattern, count in edges.items() if count >= max(_RUNNING_PAGES, len(pages) * RUNNING_SHARE)}
    return [
        [line for place, line in enumerate(lines) if not (_is_edge(place, lines) and _pattern(line) in running)]
        for lines in pages
    ]


def _is_edge(place: int, lines: Sequence[PdfLine]) -> bool:
    return place < _EDGE or place >= len(lines) - _EDGE


def _pattern(line: PdfLine) -> str:
    return re.sub(r"\d+", "#", line.text.lower())
