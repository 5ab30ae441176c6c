"""Cuts a chunk into pieces: each is embedded by itself, so that one sentence of a passage is found by what it says and
not by what the passage says on average. A row of a table and an entry of a definition list is a piece, with what it
stands under before it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kb_pipeline.core.markdown_blocks import Block, BlockKind
from kb_pipeline.core.plain import plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb_pipeline.core.chunk_units import Unit

_INDENT: Final = re.compile(r"[ \t>]*+")
_DEFINES: Final = re.compile(r"[ \t>]*+: ")


@dataclass(frozen=True, slots=True)
class PieceSizes:
    """Sizes in tokens."""

    most: int
    """That a piece holds, unless one unit is larger."""
    least: int
    """From this size on, the next paragraph, row or entry starts a new piece."""


def cut_into_pieces(units: Sequence[Unit], sizes: PieceSizes) -> list[tuple[Unit, ...]]:
    """Group a chunk's own units, in order. A heading goes with what follows it."""
    pieces: list[list[Unit]] = []
    held = 0
    for unit in units:
        if not pieces or _starts_piece(pieces[-1], unit, held, sizes):
            pieces.append([])
            held = 0
        pieces[-1].append(unit)
        held += unit.tokens
    return [tuple(piece) for piece in pieces]


def _starts_piece(piece: Sequence[Unit], unit: Unit, held: int, sizes: PieceSizes) -> bool:
    if all(before.kind is BlockKind.HEADING for before in piece):
        return False
    if unit.kind is BlockKind.HEADING or held + unit.tokens > sizes.most:
        return True
    starts_anew = unit.block != piece[-1].block or unit.kind is BlockKind.TABLE
    return starts_anew and held >= sizes.least


def open_entries(blocks: Sequence[Block]) -> list[tuple[str, ...]]:
    """For each block of a page the terms of the definitions that it continues, the outermost first: what stands in
    the third paragraph of an option's description says nothing of which option it is."""
    found: list[tuple[str, ...]] = []
    entries: list[tuple[int, str]] = []
    for block in blocks:
        if block.kind is BlockKind.HEADING:
            entries.clear()
        indent = _indent(block.lead or block.lines[0])
        while entries and entries[-1][0] >= indent:
            entries.pop()
        found.append(tuple(term for _, term in entries))
        if block.kind is BlockKind.TEXT and (term := _term(block)):
            entries.append((indent, term))
    return found


def _indent(line: str) -> int:
    start = _INDENT.match(line)
    return start.end() if start else 0


def _term(block: Block) -> str:
    """What a definition list's entry is called, where the block begins one."""
    for number, line in enumerate(block.lines):
        if _DEFINES.match(line):
            return plain_text(" ".join(block.lines[:number])).strip()
    return ""
