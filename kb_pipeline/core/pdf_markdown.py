"""The parts of a PDF as Markdown, pages marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kb_pipeline.core.markdown import MAX_CHARACTERS, Markdown
from kb_pipeline.core.markdown_inline import clean, escape
from kb_pipeline.core.markdown_writer import Blocks, Container
from kb_pipeline.core.pdf_parts import MAX_HEADING_LENGTH, Kind, PartReader

if TYPE_CHECKING:
    from kb_pipeline.core.pdf import PdfDocument, PdfLine
    from kb_pipeline.core.pdf_parts import Part

PAGE_LEVEL: Final = 6
"""Pages are headings below all others: they are where a citation points to (`#page=3`, RFC 8118 §3)."""
_NESTED: Final = 0.5
"""Ems that an item stands further in than the one it belongs to."""


def write_pdf(document: PdfDocument, limit: int = MAX_CHARACTERS) -> Markdown:
    """Write a document. Every heading's anchor is its page; pages that do not open with one get a mark."""
    reader = PartReader(document)
    writer = _Writer(limit)
    for number, lines in enumerate(document.pages):
        parts = list(reader.parts(number, lines))
        anchor = f"page={number + 1}"
        if parts and document.page_count > 1 and parts[0].kind is not Kind.HEADING:
            # The mark is not of the document, so it does not count as its text.
            writer.close_items()
            writer.blocks.heading(PAGE_LEVEL, f"Page {number + 1}", 0, anchor)
        for part in parts:
            writer.write(part, anchor)
    blocks = writer.blocks
    return Markdown(blocks.markdown(), blocks.characters, tuple(blocks.anchors), document.truncated or blocks.full)


def first_heading(document: PdfDocument) -> str:
    """The largest line of the first page: a title for documents that name none."""
    lines = document.pages[0] if document.pages else ()
    candidates = [line for line in lines if not line.table and any(map(str.isalpha, line.text))]
    best = max(candidates, key=lambda line: line.size, default=None)
    return best.text[:MAX_HEADING_LENGTH] if best is not None else ""


class _Writer:
    def __init__(self, limit: int) -> None:
        self.blocks = Blocks(limit)
        self._items: list[float] = []

    def write(self, part: Part, anchor: str) -> None:
        if part.kind is Kind.ITEM:
            self._item(part)
            return
        self.close_items()
        text = escape(clean(part.text))
        if part.kind is Kind.HEADING:
            self.blocks.heading(part.level, text, len(part.text), anchor)
        elif part.kind is Kind.CODE:
            self.blocks.fence(part.text, "")
        elif part.kind is Kind.TABLE:
            self._table(part.lines[0])
        else:
            self.blocks.paragraph(text, len(part.text))

    def _item(self, part: Part) -> None:
        """An item that stands further in belongs to the one before it."""
        self.close_items(part.indent - _NESTED * part.lines[0].size)
        self.blocks.open(Container("item", f"{part.marker} ", " " * (len(part.marker) + 1)))
        self._items.append(part.indent)
        self.blocks.paragraph(escape(clean(part.text)), len(part.text))

    def close_items(self, indent: float | None = None) -> None:
        """Leave the items that stand further in than this, or all."""
        while self._items and (indent is None or self._items[-1] > indent):
            self._items.pop()
            self.blocks.close()

    def _table(self, line: PdfLine) -> None:
        first, *others = ([_cell(text) for text in row] for row in line.table)
        rows = [first, ["---"] * len(first), *others]
        visible = sum(len(text) for row in line.table for text in row)
        self.blocks.table([f"| {' | '.join(row)} |" for row in rows], visible)


def _cell(text: str) -> str:
    return escape(clean(" ".join(text.split()))).replace("|", "\\|")
